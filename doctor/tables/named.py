"""Finds the TensorFlow release in products that a report may mention: bindings for other languages, programs
that contain TensorFlow, hosted notebooks.

Three files have the same form (compat_tables/bindings.json, programs.json, hosted.json): a row for each range
of releases or days of a product.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
    TensorFlow. complete: the rows of this name cover all releases of the product. language: the language of a
    binding. cuda, cudnn, python: the versions in a hosted runtime.
    """

    name: str
    table: str
    versions: str = ""
    since: str = ""
    until: str = ""
    tensorflow: str = ""
    package: str = "tensorflow"
    computes: str = ""
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
        """The TensorFlow release that the product contains, if the row states a single one; otherwise ""."""
        return self.tensorflow[2:] if re.fullmatch(r"==[\w.]+", self.tensorflow) else ""

    @property
    def holds(self) -> str:
        """What the product contains, in words."""
        if self.computes:
            return self.computes
        return f"TensorFlow {self.exactly or self.tensorflow}".rstrip()


@remembered
def rows(store: Store, name: str) -> tuple[Named, ...]:
    """Return the rows of the product with this name that state its contents, oldest first."""
    return tuple(row for row in _every(store) if row.name == name and (row.tensorflow or row.computes))


@remembered
def written(store: Store) -> dict[str, str]:
    """Return a mapping from spellings, in lower case, to the product names that they mean. A name whose rows
    list no spellings is its own only spelling."""
    found: dict[str, list[str]] = {}
    for _, raw in _raw(store):
        found.setdefault(raw["name"], []).extend(raw.get("written", ()))
    return {word: name for name, several in found.items() for word in several or (name.lower(),)}


@remembered
def about(store: Store, name: str) -> Named | None:
    """Return the first row for a name, or None. It has the fields that apply to all releases: complete and
    language."""
    return next((row for row in _every(store) if row.name == name), None)


@remembered
def own_builds(store: Store) -> frozenset[str]:
    """Return the names of TensorFlow builds that a distribution compiled."""
    return frozenset(raw["name"] for _, raw in _raw(store) if raw.get("own_build"))


def _raw(store: Store) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (table, row as it is in the file) for every row."""
    return ((table, raw) for table in TABLES if store.has(table) for raw in store.all(table))


@remembered
def _every(store: Store) -> tuple[Named, ...]:
    return tuple(_named(table, raw) for table, raw in _raw(store))


def _named(table: str, raw: Mapping[str, Any]) -> Named:
    since, until = raw.get("from", ""), raw.get("to", "")
    days = f"from {since}" + (f" to {until}" if until else "") if since else ""
    about = " ".join(part for part in (raw["name"], raw.get("versions", ""), days) if part)
    build = f"TensorFlow {raw['tensorflow']}" if "tensorflow" in raw else "its own TensorFlow build"
    holds = raw.get("computes") or build
    return made(Named, raw, f"{about}: {holds}", table=table, since=since, until=until)
