"""Finds the CUDA releases that contain a library with a given name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case


def window(case: Case, names: list[str]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The first and the last CUDA release whose toolkit contains all libraries with these names; None if the
    tables contain none of the names. The last release is (99,) if the newest toolkit contains them."""
    rows = [row for row in map(case.tables.library, names) if row and row.data.get("product") == "CUDA"]
    ranges = [(dotted(row.first), dotted(row.last or "99")) for row in rows if row.first]
    return (max(low for low, _ in ranges), min(high for _, high in ranges)) if ranges else None


def contains(case: Case, version: str, name: str) -> bool | None:
    """Whether a CUDA release contains a library of this name; None if the tables do not contain the name."""
    row = case.tables.library(name)
    asked = _minor(version)
    if row is None:  # up to CUDA 10, the file name contains the full release
        old = re.fullmatch(
            r"lib(?:cudart|cublas|cufft|curand|cusolver|cusparse)(?:\.so)?\.([678]\.\d)(?:\.dylib)?", name
        )
        return _minor(old[1]) == asked if old and "." in version else None
    if row.data.get("product") != "CUDA" or not row.first:
        return None
    if "." not in version:  # only the major version is known
        return _minor(row.first)[0] <= asked[0] and (row.last is None or asked[0] <= _minor(row.last)[0])
    return _minor(row.first) <= asked and (row.last is None or asked <= _minor(row.last))


def _minor(version: str) -> tuple[int, int]:
    """The major and minor version as numbers; a missing minor version is 0."""
    major, minor = (*dotted(version), 0, 0)[:2]
    return major, minor
