"""Finds the candidate for the first plan in a case. Remedies use it, so that `check` and `plan` recommend the
same release. This takes less time than making all plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.plan.candidate import COSTS, Candidate
from doctor.plan.context import PlanContext
from doctor.plan.version_request import VersionRequest

if TYPE_CHECKING:
    from doctor.case import Case

BY_PIP = ("pip-and-cuda", "pip-system-cuda", "wsl2")
"""The routes to try first. If a candidate on one of them costs less than conda or a container, the other
routes are not tried."""


def context_of(case: Case) -> PlanContext:
    """Make the context for a plan from a case, with an empty request."""
    return PlanContext(case.facts, case.tables, VersionRequest())


def recommended(case: Case) -> Candidate | None:
    """Return the candidate that `plan` recommends for an empty request, or None if no release is
    available."""
    context = context_of(case)
    answers, key = case.tables.answers, (recommended, context.decisive)
    if key not in answers:
        answers[key] = _foremost(context)
    known: Candidate | None = answers[key]
    return known


def _foremost(context: PlanContext) -> Candidate | None:
    """Return the candidate for the first plan, or None if no release is available."""
    if context.for_cpu:
        from doctor.plan.cpu import cpu_candidate

        return cpu_candidate(context)
    if context.platform == "linux-aarch64":
        from doctor.plan.arm import arm_candidates

        return next(iter(arm_candidates(context)), None)
    from doctor.plan.candidates import foremost, weigh

    found = foremost(weigh(context, BY_PIP))
    if found is not None and found.cost < min(COSTS["conda"], COSTS["container"]):
        return found
    return foremost(weigh(context))
