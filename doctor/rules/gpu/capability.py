"""Compares a GPU's compute capability with the code in the build, and finds a release that has code for
it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.case import Case
from doctor.remedies.fitness import situation

if TYPE_CHECKING:
    from doctor import compat


def minor(capability: str) -> tuple[int, int]:
    """ "8.6" as (8, 6)."""
    first, _, second = capability.partition(".")
    return int(first), int(second.rstrip("af") or 0)


def code_answer(case: Case, capability: str) -> compat.Answer | None:
    """Whether the build in use has code for a GPU of this compute capability; None if the build is
    unknown."""
    build = case.build
    if build is None or not build.gpu or not build.compute_capabilities:
        return None
    from doctor import compat

    return compat.runs_on_gpu(build, situation(case, capabilities=(capability,)), case.tables)
