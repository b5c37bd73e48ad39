"""Chooses among several facts that answer the same question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from doctor import lazy
from doctor.facts import (
    OF_WORKING_RUN,
    PROSE,
    CudaVersion,
    CudnnVersion,
    DriverVersion,
    Fact,
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


_SENTENCE = lazy.compile(r"[.!?。！？](?:\s|(?=[^\s\d.]))|\n")
"""Matches the end of a sentence."""


def in_company(facts: Sequence[R], others: Sequence[Fact]) -> Sequence[R]:
    """Return the versions in sentences that also state versions of other parts, if several different versions
    of one rank compete and only some of them are in such a sentence: people state the versions of their
    environment together."""
    lowest = min((fact.rank for fact in facts), default=0)
    rivals = [fact for fact in facts if fact.rank == lowest]
    if lowest != PROSE or len({_number(fact) for fact in rivals}) < 2:
        return facts
    beside = [fact for fact in rivals if any(_together(fact, other) for other in others)]
    less = [fact for fact in facts if fact.rank > lowest]
    return beside + less if beside else facts


def _number(fact: Fact) -> str:
    return str(getattr(fact, "version", ""))


def _together(fact: Fact, other: Fact) -> bool:
    """Whether two versions are in one sentence."""
    if fact.source.line is None or fact.source.line != other.source.line:
        return False
    return any(
        _number(fact) in sentence and _number(other) in sentence
        for sentence in _SENTENCE.split(fact.source.text)
    )


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
