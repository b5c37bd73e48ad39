"""Reads tables with one column for each machine or environment: keeps the column of the one that fails.

`of_failing_column` returns the text with the cells of the other columns removed, so that the versions of a
machine that works do not count as those of the one that fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.logs.signatures.versions.spelling import well
from doctor.logs.signatures.versions.stated import product_of

if TYPE_CHECKING:
    from typing import TypeAlias

    from doctor.logs.text import Text

Row: TypeAlias = "tuple[int, list[str]]"
"""The index of a line, and its cells."""

LONGEST = 400
"""A row has at most this many characters."""
MOST = 12
"""A table has at most this many columns."""
FEWEST = 2
"""At least this many rows of a table must state a version for each column."""
_GAP = lazy.compile(r"\s{2,}|\t")
_VERSION = lazy.compile(r"v?\d{1,4}(?:\.\d{1,5}){1,3}(?:[-.]?rc\d)?")
_MARKUP = lazy.compile(r"[*_`:]")
_FAILS = lazy.compile(
    r"\b(?:no|not|none|never|fail\w*|broken|crash\w*|error|empty|false|nein|nicht|non|pas|нет|não|cpu)\b"
    r"|[✗✘❌×]|\[\]|不|没|无|ない|안 ",
    re.IGNORECASE,
)
"""Matches a cell that says that a machine or environment does not use its GPU."""
_MINE = lazy.compile(r"\b(?:me|mine|my|here|this|now|new|after)\b", re.IGNORECASE)
"""Matches the head of the column of the machine or environment that a person asks about."""


def of_failing_column(text: Text) -> Text:
    """Return the text in which tables have only the column of the failing machine or environment: the one
    whose cell says so, otherwise the last one. A text without such a table is returned as it is."""
    lines = list(text.lines())
    cut: dict[int, str] = {}
    for rows in _tables([line for _, line in lines]):
        column = _failing(rows)
        for at, cells in rows:
            cut[at] = f"{cells[0]}: {cells[column]}" if cells[0] else cells[column]
    if not cut:
        return text
    kept = [(number, cut.get(at, line)) for at, (number, line) in enumerate(lines)]
    return type(text).of(text.name, kept, text.total)


def _tables(lines: Sequence[str]) -> Iterator[list[Row]]:
    """Yield the tables with one column for each machine: consecutive lines with the same number of cells, at
    least three, in which enough rows name a product and give a version for each column."""
    rows: list[Row] = []
    for at, line in enumerate((*lines, "")):
        cells = _cells(line)
        if rows and cells is not None and not cells:
            continue  # the line below the head
        if rows and cells and len(cells) == len(rows[0][1]) - 1 and " " in cells[0]:
            cells = [*cells[0].rsplit(" ", 1), *cells[1:]]  # a long name, with one space behind it
        if rows and (cells is None or len(cells) != len(rows[0][1])):
            if sum(map(_compares, rows)) >= FEWEST:
                yield rows
            rows = []
        if cells and len(cells) > 2:
            rows.append((at, cells))


def _cells(line: str) -> list[str] | None:
    """Return the cells of a row without their markup, [] for a ruled line, None for any other line."""
    line = line.strip() if "|" in line else line.rstrip()
    if not 5 <= len(line) <= LONGEST:
        return None
    parts = line.strip("|").split("|") if "|" in line else _GAP.split(line)
    cells = [_MARKUP.sub("", part).strip() for part in parts]
    if all(not cell.strip("-=+ ") for cell in cells):
        return []
    return cells if 2 <= len(cells) <= MOST else None


def _compares(row: Row) -> bool:
    """Whether a row names a product and gives a version of it for each column."""
    _, (label, *values) = row
    return product_of(label) not in ("", "gpu") and all(_VERSION.fullmatch(value) for value in values)


def _failing(rows: Sequence[Row]) -> int:
    """Return the index of the column of the failing machine."""
    columns = range(1, len(rows[0][1]))
    mine = [at for at in columns if _MINE.search(rows[0][1][at])]
    if len(mine) == 1:
        return mine[0]
    for _, cells in rows:
        failing = [at for at in columns if _FAILS.search(cells[at])]
        working = [at for at in columns if at not in failing and well(cells[at])]
        if failing and working:
            return failing[0]
    return columns[-1]
