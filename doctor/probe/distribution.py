"""One installed Python distribution."""

from __future__ import annotations

from doctor.values import dataclass


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed distribution: normalised name, version, its info folder and the folder that it was found
    in."""

    name: str
    version: str | None
    info: str
    folder: str
