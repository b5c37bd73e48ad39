"""Decides the platform of a case from facts that may disagree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.facts import Platform

if TYPE_CHECKING:
    from doctor.facts import PythonVersion, TensorFlowVersion
    from doctor.tables import Tables


def decisive(found: Sequence[Platform]) -> Platform | None:
    """Return the fact that decides the platform, or None if there are no facts. WSL takes precedence over the
    Linux inside it and the Windows around it."""
    if not found:
        return None
    kinds: dict[str, int] = {}
    for fact in found:
        kinds[fact.kind] = min(fact.rank, kinds.get(fact.kind, fact.rank))
    if ("wsl" in kinds and kinds["wsl"] <= kinds.get("windows", 9)) or (
        "wsl" in kinds and "linux" in kinds and kinds["linux"] <= kinds.get("windows", 9)
    ):
        kind = "wsl"
    else:
        order = ("windows", "macos", "linux", "wsl")
        kind = min(kinds, key=lambda k: (kinds[k], order.index(k) if k in order else 9))
    return next(p for p in found if p.kind == kind and p.rank == kinds[kind])


def before_apple_silicon(
    python: PythonVersion | None, tensorflow: TensorFlowVersion | None, tables: Tables
) -> bool:
    """Whether there are TensorFlow wheels for Intel Macs but none for Apple silicon for this Python version
    or this TensorFlow release."""
    arm, intel = (tables.releases(f"macos-{kind}", "tensorflow") for kind in ("arm64", "x86_64"))
    if python is not None:
        minor = ".".join(python.version.split(".")[:2])
        if not any(minor in row.pythons for row in arm) and any(minor in row.pythons for row in intel):
            return True
    version = tensorflow.version if tensorflow is not None else ""
    return all(row.version != version for row in arm) and any(row.version == version for row in intel)
