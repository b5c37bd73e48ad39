"""Reads the compatibility tables and returns their rows as values. Only this package reads `compat_tables`.

A file is read only when it is needed, and a look-up in the largest table parses only the rows that it
returns. A copy of a table that `tfgpu-doctor tables refresh` wrote into the user's data folder is used if it
is intact and not older than the bundled table.
"""

from __future__ import annotations

from doctor.tables.rows import (
    PLATFORMS as PLATFORMS,
    Architecture as Architecture,
    Cudnn as Cudnn,
    DriverFloor as DriverFloor,
    Framework as Framework,
    Library as Library,
    NvidiaWheel as NvidiaWheel,
    PipLibrary as PipLibrary,
    Row as Row,
    TensorFlowRelease as TensorFlowRelease,
    Toolkit as Toolkit,
    Trap as Trap,
)
from doctor.tables.tables import Tables as Tables
from doctor.tables.versions import at_least as at_least, dotted as dotted
