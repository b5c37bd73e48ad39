"""Plans an installation: finds, from the tables alone, which versions of TensorFlow, Python, CUDA, cuDNN and
the driver work together.

    facts, VersionRequest -> PlanContext -> weigh (doctor.compat judges every release for every route) ->
    plans, findings

Making a plan needs no network and changes nothing: the facts come from doctor.probe or from a description
(doctor.plan.described). The best plan is the one for the newest TensorFlow release that needs the fewest
changes; doctor.plan.candidate.COSTS contains the cost of each change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor import lazy

if TYPE_CHECKING:
    from doctor.plan.context import PlanContext as PlanContext
    from doctor.plan.plans import Outcome as Outcome, Plan as Plan, make_plans as make_plans
    from doctor.plan.version_request import VersionRequest as VersionRequest

__getattr__ = lazy.names(
    __name__,
    {
        "Outcome": "plans",
        "Plan": "plans",
        "PlanContext": "context",
        "VersionRequest": "version_request",
        "make_plans": "plans",
    },
)
