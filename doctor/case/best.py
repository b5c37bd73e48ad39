"""Chooses among several facts that answer the same question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from doctor.facts import (
    OF_WORKING_RUN,
    CudaVersion,
    CudnnVersion,
    DriverVersion,
    OperatingSystem,
    Platform,
    PythonVersion,
    TensorFlowVersion,
)

R = TypeVar(
    "R",
    TensorFlowVersion,
    PythonVersion,
    CudaVersion,
    CudnnVersion,
    DriverVersion,
    OperatingSystem,
    Platform,
    covariant=False,
)


def of_this_run(facts: Sequence[R], build: TensorFlowVersion | None) -> Sequence[R]:
    """Return the facts without those about a run that works, if `build` is that of another run: its CUDA is
    not the one of the run that fails."""
    if build is None or build.rank >= OF_WORKING_RUN:
        return facts
    return [fact for fact in facts if fact.rank < OF_WORKING_RUN]


def best(facts: Sequence[R]) -> R | None:
    """Return the most reliable of several facts, and the first in the report if several are equally reliable.
    If another fact has a longer version that begins with the chosen one, that fact is returned instead.
    Returns None if there are no facts."""
    if not facts:
        return None
    lowest = min(f.rank for f in facts)
    chosen = min((f for f in facts if f.rank == lowest), key=_place)
    version = getattr(chosen, "version", None)
    if version is not None:
        for other in facts:
            longer = getattr(other, "version", "")
            if longer.startswith(version + ".") and other.rank <= lowest + 1:
                return other
    return chosen


def _place(fact: R) -> tuple[int, int]:
    """Return the line and column of a version in a report; (0, 0) for a fact from a machine."""
    line = fact.source.line
    return (0, 0) if line is None else (line, fact.source.text.find(getattr(fact, "version", "")))
