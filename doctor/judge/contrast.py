"""Compares two machines or environments in one report: the value that does not fit explains the difference.

People show two lists of packages, two nodes with their drivers, or two releases, because one works and the
other fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doctor.case.libraries import TENSORFLOW_PACKAGES, of_cudnn
from doctor.facts import (
    OF_WORKING_RUN,
    PROSE,
    CudnnVersion,
    DriverVersion,
    Fact,
    Package,
    PythonVersion,
    TensorFlowVersion,
)
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.findings import Part

COMPARED: tuple[tuple[str, type[Fact]], ...] = (
    ("driver", DriverVersion),
    ("cudnn", CudnnVersion),
    ("python", PythonVersion),
    ("tensorflow", TensorFlowVersion),
)
"""What two environments may have in different versions."""
MOST = 3
"""At most this many other versions of a part are tried: a report with more of them is a list."""
OF_MACHINE = ("platform", "gpu", "driver")
"""The parts that two releases on one machine share. Each release may have its own Python, CUDA and cuDNN."""


def contrasted(case: Case, found: Sequence[Part], judged: Callable[[Case], Sequence[Part]]) -> list[Part]:
    """Return the parts of the other environment in a report if those of the case fit, and a part of the other
    one does not. found: the parts of the case. judged: makes the parts of a case."""
    if case.facts.kind != "report" or not all(part.fits is not False for part in found):
        return list(found)
    for name, kind in COMPARED:
        stated = _stated(case, kind)
        mine = _mine(case, name)
        if mine is None or mine not in stated or len({line for _, line in stated.values()}) < 2:
            continue
        for version in [other for other in stated if other != mine][:MOST]:
            kept = tuple(fact for fact in case.facts if _version(fact, kind) in ("", version))
            other = judged(replace(case, facts=replace(case.facts, items=kept)))
            checked = OF_MACHINE if kind is TensorFlowVersion else (name,)
            if any(part.fits is False and part.part in checked for part in other):
                return [part for part in other if part.fits is not False or part.part in checked]
    return list(found)


def _mine(case: Case, name: str) -> str | None:
    chosen = getattr(case, name)
    return None if chosen is None else str(chosen.version)


def _stated(case: Case, kind: type[Fact]) -> dict[str, tuple[int, int | None]]:
    """Return the versions of a part that are stated most reliably, each with its rank and line."""
    stated: dict[str, tuple[int, int | None]] = {}
    for fact in case.facts:
        version, rank = _version(fact, kind), getattr(fact, "rank", 0)
        if version and rank < OF_WORKING_RUN and rank <= PROSE:
            stated.setdefault(version, (rank, fact.source.line))
    best = min((rank for rank, _ in stated.values()), default=0)
    kept = {version: place for version, place in stated.items() if place[0] == best}
    return {v: place for v, place in kept.items() if not any(o != v and o.startswith(v) for o in kept)}


def _version(fact: Fact, kind: type[Fact]) -> str:
    """Return the version of a part that a fact states, otherwise ""."""
    if isinstance(fact, Package):
        of_kind = (kind is CudnnVersion and of_cudnn(fact)) or (
            kind is TensorFlowVersion and fact.name in TENSORFLOW_PACKAGES
        )
        return (fact.version or "") if of_kind else ""
    return str(getattr(fact, "version", "")) if isinstance(fact, kind) else ""
