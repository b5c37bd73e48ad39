"""Compares a GPU's compute capability with the code in the build, and finds a release that has code for
it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import Gpu
from doctor.remedies.fitness import situation

if TYPE_CHECKING:
    from doctor import compat
    from doctor.case import Case


def minor(capability: str) -> tuple[int, int]:
    """ "8.6" as (8, 6)."""
    first, _, second = capability.partition(".")
    return int(first), int(second.rstrip("af") or 0)


def highest_possible(gpu: Gpu, case: Case) -> str | None:
    """The compute capability of a GPU; the highest of the cards that share its name, if they are several.
    None if the tables do not contain the name."""
    if gpu.compute_capability:
        return gpu.compute_capability
    shared = (row.capability for row in case.tables.gpu(gpu.name or "") if row.capability)
    return max(shared, key=minor, default=None)


def code_answer(case: Case, capability: str) -> compat.Answer | None:
    """Whether the build in use has code for a GPU of this compute capability; None if the build is
    unknown."""
    build = case.build
    if build is None or not build.gpu or not build.compute_capabilities:
        return None
    from doctor import compat

    return compat.runs_on_gpu(build, situation(case, capabilities=(capability,)), case.tables)


def left_out(case: Case) -> list[tuple[Gpu, str]]:
    """The GPUs of a machine that TensorFlow ignores because they are too old for the build, each with the
    reason, where it uses another one; [] if a variable chooses among them."""
    if case.facts.kind != "machine" or "CUDA_VISIBLE_DEVICES" in case.env or len(case.capabilities) < 2:
        return []
    answers = {c: answer for c in case.capabilities if (answer := code_answer(case, c)) is not None}
    used = [c for c, answer in answers.items() if answer.verdict != "no"]
    old = [
        c
        for c, answer in answers.items()
        if answer.verdict == "no" and any(minor(c) < minor(u) for u in used)
    ]
    return [
        (gpu, answers[gpu.compute_capability].reason) for gpu in case.gpus if gpu.compute_capability in old
    ]
