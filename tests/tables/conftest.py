from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.tables import Tables
from tests.conftest import BUNDLED


@pytest.fixture(scope="session")
def tables() -> Tables:
    """The tables that ship with the tool, without refreshed tables of the person who runs the tests."""
    return Tables(BUNDLED)


@pytest.fixture(scope="session")
def raw() -> Callable[[str], list[dict[str, Any]]]:
    """The rows of one bundled table as they are in the file."""

    def read(table: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads((BUNDLED / f"{table}.json").read_text(encoding="utf-8"))[
            "rows"
        ]
        return rows

    return read


@pytest.fixture
def small(tmp_path: Path) -> Callable[..., Path]:
    """Write a table of a few rows, one row per line, into a separate folder."""

    def write(
        table: str, rows: list[dict[str, Any]], date: str = "2026-01-02", folder: Path = tmp_path
    ) -> Path:
        folder.mkdir(exist_ok=True)
        lines = ",\n".join(json.dumps(row) for row in rows)
        path = folder / f"{table}.json"
        path.write_text(f'{{"schema": 1, "generated": "{date}", "rows": [\n{lines}\n]}}\n', encoding="utf-8")
        return path

    return write
