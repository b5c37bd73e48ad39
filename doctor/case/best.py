"""Chooses among several facts that answer the same question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from doctor.facts import (
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


def best(facts: Sequence[R]) -> R | None:
    """The most reliable of several facts; a longer version that agrees with it wins."""
    if not facts:
        return None
    lowest = min(f.rank for f in facts)
    chosen = next(f for f in facts if f.rank == lowest)
    version = getattr(chosen, "version", None)
    if version is not None:
        for other in facts:
            longer = getattr(other, "version", "")
            if longer.startswith(version + ".") and other.rank <= lowest + 1:
                return other
    return chosen
