"""Finds the TensorFlow releases with which an add-on works (addons.json)."""

from __future__ import annotations

import re

from doctor.tables.ordering import order
from doctor.tables.ranges import satisfies, within
from doctor.tables.rows import Row, made
from doctor.tables.store import Store, remembered
from doctor.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Addon(Row):
    """The requirement of some releases of an add-on. versions: their range, "" for all. tensorflow: the range
    of TensorFlow releases with which they work ("{minor}" stands for the add-on's own minor version). loads:
    "partly" if they import with other releases too, and only their compiled ops fail. distribution: the
    distribution of TensorFlow that they need."""

    package: str
    tensorflow: str
    versions: str = ""
    loads: str = ""
    distribution: str = "tensorflow"


@remembered
def _rows(store: Store) -> tuple[Addon, ...]:
    """Return every row of the table."""
    raws = store.all("addons") if store.has("addons") else ()
    return tuple(
        made(Addon, raw, f"{raw['package']} {raw.get('versions', '')}: TensorFlow {raw['tensorflow']}")
        for raw in raws
    )


@remembered
def packages(store: Store) -> frozenset[str]:
    """Return the names of the add-ons."""
    return frozenset(row.package for row in _rows(store))


def release(store: Store, package: str, version: str) -> Addon | None:
    """Return the row for a release of an add-on, with its range of TensorFlow releases; None if the table
    does not have the release."""
    minor = re.match(r"\d+\.\d+", version)
    if minor is None:
        return None
    for row in _rows(store):
        if row.package == package and (not row.versions or within(version, row.versions, order)):
            return replace(row, tensorflow=row.tensorflow.replace("{minor}", minor[0]))
    return None


def fitting(store: Store, package: str, tensorflow: str) -> str | None:
    """Return pip's specifier for the newest releases of an add-on that work with a TensorFlow release
    (">=0.37.0,<0.38"); None if the table has none."""
    minor = ".".join(tensorflow.split(".")[:2])
    for row in reversed(_rows(store)):
        if row.package == package and satisfies(tensorflow, row.tensorflow.replace("{minor}", minor)):
            return row.versions or (f"=={minor}.*" if "{minor}" in row.tensorflow else "")
    return None
