"""Finds the TensorFlow release in products that a report may mention: bindings for other languages, programs
that contain TensorFlow, hosted notebooks.

There are three files with the same form (compat_tables/bindings.json, programs.json, hosted.json). Each has a
row for each range of releases or days.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor.tables.ordering import order
from doctor.tables.ranges import within
from doctor.tables.rows import Row, made
from doctor.tables.store import Store, remembered
from doctor.values import dataclass, replace

TABLES = ("bindings", "programs", "hosted")


@dataclass(frozen=True, slots=True)
class Named(Row):
    """The contents of one product, in some of its releases or on some days.

    table: the file. versions: a range of the product's releases. since, until: days ("2023-02-08"), or "" for
    any; on the day `until`, the product changed. tensorflow: the range of TensorFlow releases that the
    product contains or accepts ("=={version}": the product has the version number of its TensorFlow).
    package: the distribution of these releases. computes: the framework that does the computing, if it is not
    TensorFlow. own_build: a build that a distribution compiled. complete: the rows of this name cover all
    releases of the product. cuda, cudnn, python: the versions in a hosted runtime.
    """

    name: str
    table: str
    versions: str = ""
    since: str = ""
    until: str = ""
    tensorflow: str = ""
    package: str = "tensorflow"
    computes: str = ""
    own_build: bool = False
    complete: bool = False
    language: str = ""
    cuda: str = ""
    cudnn: str = ""
    python: str = ""

    def of(self, version: str) -> Named:
        """Return the row for one release. If the product has the same version number as its TensorFlow
        release, the row contains that number."""
        return replace(self, tensorflow=self.tensorflow.replace("{version}", version) if version else "")

    def applies(self, version: str, day: str) -> bool:
        """Whether the row applies to this release on this day; "" means that a release or day is unknown and
        does not exclude the row."""
        if version and self.versions and not within(version, self.versions, order):
            return False
        return not day or ((not self.since or self.since <= day) and (not self.until or day < self.until))

    @property
    def exactly(self) -> str:
        """The TensorFlow release that the product contains, if there is only one; otherwise ""."""
        return self.tensorflow[2:] if re.fullmatch(r"==[\w.]+", self.tensorflow) else ""

    @property
    def holds(self) -> str:
        """What the product contains, in words."""
        if self.computes:
            return self.computes
        return f"TensorFlow {self.exactly or self.tensorflow}".rstrip()


@remembered
def rows(store: Store, name: str) -> tuple[Named, ...]:
    """The rows of the product with this name, oldest first."""
    every = (row for table in TABLES for row in _rows(store, table))
    return tuple(row for row in every if row.name == name and (row.tensorflow or row.computes))


@remembered
def written(store: Store) -> dict[str, str]:
    """Return a mapping from spellings, in lower case, to the product names that they mean. A name whose rows
    list no spellings is its own only spelling."""
    found: dict[str, list[str]] = {}
    for table in TABLES:
        for raw in store.all(table) if store.has(table) else ():
            found.setdefault(raw["name"], []).extend(raw.get("written", ()))
    return {word: name for name, several in found.items() for word in several or (name.lower(),)}


@remembered
def about(store: Store, name: str) -> Named | None:
    """Return the first row for a name. It has the fields that apply to all releases: complete, language,
    own_build."""
    return next((row for table in TABLES for row in _rows(store, table) if row.name == name), None)


@remembered
def own_builds(store: Store) -> frozenset[str]:
    """The names of builds that a distribution compiled."""
    every = (raw for table in TABLES if store.has(table) for raw in store.all(table))
    return frozenset(raw["name"] for raw in every if raw.get("own_build"))


def _rows(store: Store, table: str) -> tuple[Named, ...]:
    return store.made(table, lambda raw: _named(table, raw)) if store.has(table) else ()


def _named(table: str, raw: Mapping[str, Any]) -> Named:
    since, until = raw.get("from", ""), raw.get("to", "")
    days = f"from {since}" + (f" to {until}" if until else "") if since else ""
    about = " ".join(part for part in (raw["name"], raw.get("versions", ""), days) if part)
    build = f"TensorFlow {raw['tensorflow']}" if "tensorflow" in raw else "its own TensorFlow build"
    holds = raw.get("computes") or build
    return made(Named, raw, f"{about}: {holds}", table=table, since=since, until=until)
