"""Finds the table rows that a product name in a report can refer to: bindings, programs and hosted
notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import Facts, Symptom
from doctor.tables.ordering import order
from doctor.tables.ranges import within
from doctor.values import dataclass

if TYPE_CHECKING:
    from doctor.tables import Tables, TensorFlowRelease, named
    from doctor.tables.named import Named
else:
    named = lazy.module("doctor.tables.named")  # few reports name such a product


@dataclass(frozen=True, slots=True)
class Meant:
    """A product name in a report, and the table rows that it can mean. selected: whether the version, the
    date or the TensorFlow installed in a hosted notebook narrowed the rows down."""

    fact: Symptom
    rows: tuple[Named, ...]
    selected: bool

    def one(self, field: str) -> str:
        """Return the value of a field that all rows share, or "" if their values differ, or if the name can
        mean a release that is not in the tables."""
        values = {str(getattr(row, field)) for row in self.rows}
        return (
            values.pop()
            if len(values) == 1 and (self.selected or any(row.computes for row in self.rows))
            else ""
        )

    def about(self, tables: Tables) -> Named | None:
        """Return the first row for the name, with the data that all its releases share, or None if there is
        no row."""
        return named.about(tables.store, self.fact.get("name"))

    @property
    def title(self) -> str:
        """The name, followed by the version in the report, if any."""
        return f"{self.fact.get('name')} {self.fact.get('version')}".strip()


def meant(facts: Facts, tables: Tables, release: str, python: str) -> tuple[Meant, ...]:
    """Return each product name in a report once, with its table rows for the stated version and the date of
    the log. release, python: the TensorFlow and Python versions that the report mentions, "" if none; they
    select the rows of a hosted notebook if no date does."""
    if facts.kind != "report":
        return ()
    day = next((said.get("day") for said in facts.symptoms("log-day")), "")
    names: dict[str, Symptom] = {}
    for said in facts.symptoms("named"):
        known = names.get(said.get("name"))
        if known is None or (said.get("version") and not known.get("version")):
            names[said.get("name")] = said
    found = []
    for name, said in names.items():
        version = said.get("version")
        several = named.rows(tables.store, name)
        rows = tuple(
            row.of(version) if "{" in row.tensorflow else row for row in several if row.applies(version, day)
        )
        own = tuple(row for row in rows if row.table == "hosted" and row.exactly and row.exactly == release)
        if own:
            rows = (
                tuple(row for row in own if not python or not row.python or python.startswith(row.python))
                or own
            )
        selected = bool(own) or all((version or not row.versions) and (day or not row.since) for row in rows)
        if rows:
            found.append(Meant(said, rows, selected))
    return tuple(found)


def taking(several: Sequence[Meant], tables: Tables, platform: str) -> list[Sequence[TensorFlowRelease]]:
    """Return the builds for a platform that the named products may contain or require: one entry for each
    name whose release is known, or whose rows cover all its releases."""
    found: list[Sequence[TensorFlowRelease]] = []
    for one in several:
        about = one.about(tables)
        if (one.selected or (about is not None and about.complete)) and all(
            row.tensorflow for row in one.rows
        ):
            found.append(_builds(one.rows, tables, platform))
    return found


def _builds(rows: Sequence[Named], tables: Tables, platform: str) -> list[TensorFlowRelease]:
    """Return the builds for a platform that the rows may refer to; for a binding's library, the build with
    CUDA if there is one."""
    versions = dict.fromkeys(build.version for build in tables.releases(platform))
    meant = ((v, next((row for row in rows if within(v, row.tensorflow, order)), None)) for v in versions)
    several = (
        tables.tensorflow(version, row.package if row.table == "programs" else None, platform)
        for version, row in meant
        if row is not None
    )
    return [build for build in several if build is not None]
