"""The candidate of the first plan for a case, for prescriptions: one answer everywhere, without the cost of all plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.plan.arm import arm_candidates
from doctor.plan.candidate import COSTS, Candidate
from doctor.plan.candidates import weigh
from doctor.plan.cpu import cpu_candidate
from doctor.plan.ground import Ground
from doctor.plan.plans import foremost
from doctor.plan.wish import Wish

if TYPE_CHECKING:
    from doctor.picture import Picture

BY_PIP = ("pip-and-cuda", "pip-system-cuda", "wsl2")
"""The routes that are weighed first: what costs less than conda or a container cannot be behind one of these."""


def ground_of(picture: Picture) -> Ground:
    """The machine of a case as a plan for it sees it, nothing wished."""
    return Ground(picture.facts, picture.tables, Wish())


def recommended(picture: Picture) -> Candidate | None:
    """What `plan` recommends where nothing is wished; None where no release with CUDA can be had at all."""
    ground = ground_of(picture)
    answers, key = picture.tables.answers, (recommended, ground.decisive)
    if key not in answers:
        answers[key] = _foremost(ground)
    known: Candidate | None = answers[key]
    return known


def _foremost(ground: Ground) -> Candidate | None:
    if ground.for_cpu:
        return cpu_candidate(ground)
    if ground.platform == "linux-aarch64":
        return next(iter(arm_candidates(ground)), None)
    found = foremost(weigh(ground, BY_PIP))
    if found is not None and found.cost < min(COSTS["conda"], COSTS["container"]):
        return found
    return foremost(weigh(ground))
