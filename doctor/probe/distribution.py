"""Defines the value that describes an installed Python distribution."""

from __future__ import annotations

from doctor.values import dataclass


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed distribution: its normalised name, version and info folder, and the folder in which it was
    found."""

    name: str
    version: str | None
    info: str
    folder: str
