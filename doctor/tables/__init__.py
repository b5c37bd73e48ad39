"""The compatibility tables as values: the only reader of `compat_tables`.

Nothing is read before it is needed, and a look-up in the largest table parses only the rows it returns. A
copy that `tfgpu-doctor tables refresh` wrote into the user's data folder is used if it is intact and not
older.
"""

from __future__ import annotations

from doctor.tables.rows import (
    PLATFORMS,
    Architecture,
    ComputeCapabilities,
    Cudnn,
    DriverBranch,
    DriverFloor,
    ForwardCompatibility,
    Framework,
    GpuRow,
    Library,
    NvidiaWheel,
    PipLibrary,
    PtxIsa,
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
    "ComputeCapabilities",
    "Cudnn",
    "DriverBranch",
    "DriverFloor",
    "ForwardCompatibility",
    "Framework",
    "GpuRow",
    "Library",
    "NvidiaWheel",
    "PipLibrary",
    "PtxIsa",
    "Row",
    "Tables",
    "TensorFlowRelease",
    "Toolkit",
    "Trap",
    "at_least",
    "dotted",
]
