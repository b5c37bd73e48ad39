"""Finds the CUDA releases that contain a library with a given name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case


def window(case: Case, names: list[str]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The first and the last CUDA release whose toolkit contains all libraries with these names; None if the
    tables contain none of the names."""
    low: tuple[int, ...] = (0,)
    high: tuple[int, ...] = (99,)
    known = False
    for name in names:
        row = case.tables.library(name)
        if row is None or row.data.get("product") != "CUDA" or not row.first:
            continue
        known = True
        low = max(low, dotted(row.first))
        high = min(high, dotted(row.last) if row.last else (99,))
    return (low, high) if known else None


def contains(case: Case, version: str, name: str) -> bool | None:
    """Whether a CUDA release contains a library of this name; None if the tables do not contain the name."""
    row = case.tables.library(name)
    asked = _minor(version)
    old = (
        re.fullmatch(
            r"lib(?:cudart|cublas|cufft|curand|cusolver|cusparse)(?:\.so)?\.([678]\.\d)(?:\.dylib)?", name
        )
        if row is None
        else None
    )
    if old and "." in version:  # up to CUDA 10, the file name contains the full release
        return _minor(old[1]) == asked
    if row is None or row.data.get("product") != "CUDA" or not row.first:
        return None
    if "." not in version:  # only the major version is known
        return _minor(row.first)[0] <= asked[0] and (row.last is None or asked[0] <= _minor(row.last)[0])
    return _minor(row.first) <= asked and (row.last is None or asked <= _minor(row.last))


def _minor(version: str) -> tuple[int, int]:
    """The major and minor version as numbers; a missing minor version is 0."""
    major, minor = (*dotted(version), 0, 0)[:2]
    return major, minor
