"""Reads and writes the file of a table. It has one row per line, so that a diff shows rows and a reader can
parse single lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from doctor.files import write_whole


def dump_row(row: dict[str, Any]) -> str:
    """A row as one line of JSON, with its keys in their given order."""
    return json.dumps(row, ensure_ascii=False, separators=(", ", ": "))


def dump_table(rows: list[dict[str, Any]], generated: str) -> str:
    """The whole file as text. `generated` is a date, YYYY-MM-DD."""
    lines = ",\n".join(dump_row(row) for row in rows)
    return f'{{"schema": 1, "generated": "{generated}", "rows": [\n{lines}\n]}}\n'


def load_rows(path: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The rows of an earlier table by (package, version, platform); empty if there is no such file."""
    if not path.exists():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return {(row["package"], row["version"], row["platform"]): row for row in rows}


def write_table(path: Path, text: str) -> None:
    """Write the file of a table, with the same line endings on every platform."""
    write_whole(path, text.encode("utf-8"))
