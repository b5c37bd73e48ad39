"""Reads the compatibility tables and returns their rows as values. Only this package reads `compat_tables`.

A file is read only when it is needed, and a look-up in the largest table parses only the rows that it
returns. A copy of a table that `tfgpu-doctor tables refresh` wrote into the user's data folder is used if it
is intact and not older than the bundled table.
"""

from __future__ import annotations

from doctor.tables.rows import (
    PLATFORMS,
    Architecture,
    Cudnn,
    DriverFloor,
    Framework,
    Library,
    NvidiaWheel,
    PipLibrary,
    Row,
    TensorFlowRelease,
    Toolkit,
    Trap,
)
from doctor.tables.tables import Tables
from doctor.tables.versions import at_least, dotted

__all__ = [
    "PLATFORMS",
    "Architecture",
    "Cudnn",
    "DriverFloor",
    "Framework",
    "Library",
    "NvidiaWheel",
    "PipLibrary",
    "Row",
    "Tables",
    "TensorFlowRelease",
    "Toolkit",
    "Trap",
    "at_least",
    "dotted",
]
