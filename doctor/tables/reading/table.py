"""Reads and writes table files. Each file has one row per line, so that a diff shows rows and a program can
parse single lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from doctor.files import write_whole


def dump_row(row: dict[str, Any]) -> str:
    """Return a row as one line of JSON. Its keys keep their order."""
    return json.dumps(row, ensure_ascii=False, separators=(", ", ": "))


def dump_table(rows: list[dict[str, Any]], generated: str) -> str:
    """Return the whole table file as text. `generated` is a date, YYYY-MM-DD."""
    lines = ",\n".join(dump_row(row) for row in rows)
    return f'{{"schema": 1, "generated": "{generated}", "rows": [\n{lines}\n]}}\n'


def load_rows(path: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the rows of an existing table file by (package, version, platform), or {} if there is no such
    file."""
    if not path.exists():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return {(row["package"], row["version"], row["platform"]): row for row in rows}


def write_table(path: Path, text: str) -> None:
    """Write a table file, with the same line endings on every platform."""
    write_whole(path, text.encode("utf-8"))
