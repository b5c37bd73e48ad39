"""Compares a GPU's compute capability with the code in the build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import Gpu
from doctor.remedies.fitness import situation

if TYPE_CHECKING:
    from doctor import compat
    from doctor.case import Case


def minor(capability: str) -> tuple[int, int]:
    """A compute capability as a pair that can be compared: "8.6" becomes (8, 6)."""
    first, _, second = capability.partition(".")
    return int(first), int(second.rstrip("af") or 0)


def highest_possible(gpu: Gpu, case: Case) -> str | None:
    """The compute capability of a GPU. If several cards share its name, the highest among them; None if the
    tables do not contain the name."""
    if gpu.compute_capability:
        return gpu.compute_capability
    shared = (row.capability for row in case.tables.gpu(gpu.name or "") if row.capability)
    return max(shared, key=minor, default=None)


def code_answer(case: Case, capability: str) -> compat.Answer | None:
    """Return the tables' answer to the question whether the build in use has code for a GPU of this compute
    capability; None if the build or its list of compute capabilities is unknown, or if it is not a GPU
    build."""
    build = case.build
    if build is None or not build.gpu or not build.compute_capabilities:
        return None
    from doctor import compat

    return compat.runs_on_gpu(build, situation(case, capabilities=(capability,)), case.tables)


def left_out(case: Case) -> list[tuple[Gpu, str]]:
    """The GPUs that TensorFlow ignores because they are too old for the build, each with the reason, on a
    machine with a newer GPU that it uses. [] for a report, or if CUDA_VISIBLE_DEVICES is set."""
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
