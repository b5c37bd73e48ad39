"""The TensorFlow in products that a report names: bindings of other languages, programs with TensorFlow,
hosted notebooks.

There are three files of one form (compat_tables/bindings.json, programs.json, hosted.json), with a row for
each range of releases or days.
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

    table: the file. versions: a range of its own releases; since, until: days ("2023-02-08"); until is the
    day it changed; "" for any. tensorflow: the range of releases that it contains or accepts ("=={version}":
    its own number is TensorFlow's); package: their distribution. computes: the framework that computes, if
    that is not TensorFlow. own_build: compiled by a distribution. complete: the name's rows cover all of its
    releases. cuda, cudnn, python: of a hosted runtime.
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
        """The row for one release: with that release's number if it is also TensorFlow's."""
        return replace(self, tensorflow=self.tensorflow.replace("{version}", version) if version else "")

    def applies(self, version: str, day: str) -> bool:
        """Whether the row applies to this release on this day; "" means that a release or day is unknown and
        does not exclude the row."""
        if version and self.versions and not within(version, self.versions, order):
            return False
        return not day or ((not self.since or self.since <= day) and (not self.until or day < self.until))

    @property
    def exactly(self) -> str:
        """The one TensorFlow release that it contains; "" if there are several."""
        return self.tensorflow[2:] if re.fullmatch(r"==[\w.]+", self.tensorflow) else ""

    @property
    def holds(self) -> str:
        """Its contents, in words."""
        if self.computes:
            return self.computes
        return f"TensorFlow {self.exactly or self.tensorflow}".rstrip()


@remembered
def rows(store: Store, name: str) -> tuple[Named, ...]:
    """The rows of a name, oldest first."""
    every = (row for table in TABLES for row in _rows(store, table))
    return tuple(row for row in every if row.name == name and (row.tensorflow or row.computes))


@remembered
def written(store: Store) -> dict[str, str]:
    """Spellings of the names in lower case, each with the name that it means; only the name itself if no row
    states others."""
    found: dict[str, list[str]] = {}
    for table in TABLES:
        for raw in store.all(table) if store.has(table) else ():
            found.setdefault(raw["name"], []).extend(raw.get("written", ()))
    return {word: name for name, several in found.items() for word in several or (name.lower(),)}


@remembered
def about(store: Store, name: str) -> Named | None:
    """The first row of a name, which has the fields for all of its releases: complete, language,
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
    holds = raw.get("computes") or f"TensorFlow {raw.get('tensorflow', 'of its own build')}"
    return made(Named, raw, f"{about}: {holds}", table=table, since=since, until=until)
