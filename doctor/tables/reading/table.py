"""Reads and writes table files. Each file has one row per line, so that a diff shows rows and a program can
parse single lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from doctor.printable import say
from doctor.tables.ordering import Key, key_of


def today() -> str:
    """Return the current date (UTC) as YYYY-MM-DD."""
    return f"{datetime.now(timezone.utc):%Y-%m-%d}"


def dump_table(rows: Iterable[Mapping[str, Any]], table: str, **head: str) -> str:
    """Return the whole file of a table as text. head: further values for its first line, such as the date
    (default: today)."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    first = json.dumps({"table": table, "schema": 1, "date": today(), **head}, ensure_ascii=False)
    return f'{first[:-1]},\n"rows": [\n{lines}\n]}}\n'


def replace_rows(path: Path, rows: Iterable[Mapping[str, Any]], date: str | None = None) -> None:
    """Replace the rows and the date (default: today) in a table file, keep its description, and print the
    number of rows to standard error."""
    about = json.loads(path.read_text(encoding="utf-8"))["about"]
    written = list(rows)
    text = dump_table(written, path.stem, date=date or today(), about=about)
    path.write_text(text, encoding="utf-8")
    say(f"{path.name}: {len(written)} rows")


def load_rows(path: Path) -> dict[Key, dict[str, Any]]:
    """Return the rows of an existing file of the TensorFlow table by key, or {} if there is no such file."""
    if not path.exists():
        return {}
    return {key_of(row): row for row in json.loads(path.read_text(encoding="utf-8"))["rows"]}
