"""Tests that every row in the tables of bindings, programs and hosted notebooks can be read and has one
meaning."""

from __future__ import annotations

import re

from doctor.logs.signatures.named import SIGNATURES
from doctor.tables import Tables
from doctor.tables.named import TABLES, Named, about, rows, written
from doctor.tables.ordering import order
from doctor.tables.ranges import within
from doctor.tables.store import Store
from tests.sampling import each

STORE = Store()
NAMES = sorted(set(written(STORE).values()))
EVERY = [(table, raw) for table in TABLES for raw in STORE.all(table)]


def test_every_row_has_a_name_that_reports_can_contain() -> None:
    assert {raw["name"] for _, raw in EVERY} == set(NAMES)
    assert sum(len(rows(STORE, name)) for name in NAMES) + len(_only_spellings()) == len(EVERY)


def _only_spellings() -> list[str]:
    """Return the names in rows that only state the spellings of a name."""
    return [raw["name"] for _, raw in EVERY if not raw.get("tensorflow") and not raw.get("computes")]


@each("name", NAMES)
def test_every_row_states_one_content_in_a_known_form(name: str) -> None:
    assert rows(STORE, name)
    for row in rows(STORE, name):
        assert row.source
        assert bool(row.tensorflow) != bool(row.computes)
        within("2.10.0", row.versions or ">=0", order)
        within("2.10.0", row.of("2.10.0").tensorflow or ">=0", order)
        assert all(re.fullmatch(r"20\d\d-\d\d-\d\d|", day) for day in (row.since, row.until))
        assert not row.until or row.since < row.until


@each("name", NAMES)
def test_no_two_rows_apply_to_the_same_release_on_the_same_day(name: str) -> None:
    several = rows(STORE, name)
    for version, day in _beginnings(several):
        serving = [row for row in several if row.applies(version, day)]
        assert len({(row.tensorflow, row.computes) for row in serving}) <= 1, (version, day)


def _beginnings(several: tuple[Named, ...]) -> list[tuple[str, str]]:
    """Return the first release and the first day of each row."""
    return [(re.sub(r"^>=|,.*", "", row.versions), row.since) for row in several]


def test_every_exact_tensorflow_release_in_a_row_exists() -> None:
    tables = Tables.bundled()
    known = {row.version for row in tables.releases(None)}
    named = {
        row.exactly
        for name in NAMES
        for row in rows(STORE, name)
        if row.exactly and "{" not in row.tensorflow
    }
    old = {
        version for version in named if order(version) < order("0.12.0")
    }  # from before the table of releases
    assert {
        version
        for version in named - old
        if not any(k == version or k.startswith(f"{version}.") for k in known)
    } == set()


@each("word", sorted(written(STORE)))
def test_a_name_is_found_as_people_write_it_and_not_inside_another_word(word: str) -> None:
    pattern = re.compile(SIGNATURES[0].pattern, re.IGNORECASE)
    found = pattern.search(f"I use {word} 1.2.3 here")
    assert found is not None
    assert (found["name"].lower(), found["version"]) == (word, "1.2.3")
    assert pattern.search(f"x{word}x 1.2.3") is None


def test_a_binding_names_its_language() -> None:
    bindings = {raw["name"] for table, raw in EVERY if table == "bindings"}
    assert all((first := about(STORE, name)) is not None and first.language for name in bindings)
