"""Compares two machines or environments in one report: the value that does not fit explains the difference.

People show two lists of packages, or two nodes with their drivers, because one works and the other fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doctor.facts import OF_WORKING_RUN, CudnnVersion, DriverVersion, Fact, Package
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.findings import Part


def contrasted(case: Case, found: Sequence[Part], judged: Callable[[Case], Sequence[Part]]) -> list[Part]:
    """Return the parts, with the driver and cuDNN of the other environment in a report in place of those that
    fit, if that environment's do not fit. found: the parts of the case. judged: makes the parts of a case."""
    if case.facts.kind != "report" or not all(part.fits is not False for part in found):
        return list(found)
    for name, stated in (("driver", _drivers(case)), ("cudnn", _cudnns(case))):
        mine = next((part for part in found if part.part == name and part.fits), None)
        if mine is None or len(stated) < 2 or len({line for _, line in stated.values()}) < 2:
            continue
        for version in stated:
            if version == mine.have:
                continue
            facts = tuple(fact for fact in case.facts if _version(fact, name) in ("", version))
            other = replace(case, facts=replace(case.facts, items=facts))
            misfit = next((p for p in judged(other) if p.part == name and p.fits is False), None)
            if misfit is not None:
                return [misfit if part is mine else part for part in found]
    return list(found)


def _drivers(case: Case) -> dict[str, tuple[int, int | None]]:
    return _apart(case.facts.of(DriverVersion), "driver")


def _cudnns(case: Case) -> dict[str, tuple[int, int | None]]:
    return _apart([*case.facts.of(CudnnVersion), *case.facts.of(Package)], "cudnn")


def _apart(facts: Sequence[Fact], name: str) -> dict[str, tuple[int, int | None]]:
    """Return the versions of a part that are stated most reliably, each with its rank and line."""
    stated: dict[str, tuple[int, int | None]] = {}
    for fact in facts:
        version, rank = _version(fact, name), getattr(fact, "rank", 0)
        if version and rank < OF_WORKING_RUN:
            stated.setdefault(version, (rank, fact.source.line))
    best = min((rank for rank, _ in stated.values()), default=0)
    kept = {version: place for version, place in stated.items() if place[0] == best}
    return {v: place for v, place in kept.items() if not any(o != v and o.startswith(v) for o in kept)}


def _version(fact: Fact, name: str) -> str:
    """Return the version of the driver or cuDNN that a fact states, otherwise ""."""
    if name == "driver":
        return fact.version if isinstance(fact, DriverVersion) else ""
    if isinstance(fact, Package):
        of_cudnn = fact.name == "cudnn" or fact.name.startswith("nvidia-cudnn-cu")
        return fact.version or "" if of_cudnn else ""
    return fact.version if isinstance(fact, CudnnVersion) else ""
