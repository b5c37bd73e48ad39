"""Renders the answers of the command `tables`: one object or many rows, as JSON, text or Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from doctor.tables.rows import Row
from doctor.values import dataclass


class NoSuchRowError(LookupError):
    """The row does not exist; the message lists the nearest rows."""


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a look-up. objects: what JSON prints, one object per line. For people, a list of rows has
    `columns`; the page of one object has a `title` and `pairs` of names and values, which are computed only
    when they are needed."""

    objects: Sequence[Mapping[str, Any]]
    title: str = ""
    pairs: Callable[[], Iterable[tuple[str, Any]]] = tuple
    columns: Sequence[str] = ()

    @property
    def single(self) -> bool:
        """Whether this is the page of one object, not a list."""
        return not self.columns

    def render(self, form: str) -> str:
        """Return the answer as json, markdown or text."""
        if form == "json":
            return "\n".join(json.dumps(entry, ensure_ascii=False) for entry in self.objects)
        if self.single:
            return _pairs_as(self.title, [(name, said(value)) for name, value in self.pairs()], form)
        return _rows_as(self.columns, self.objects, form)


def listing(rows: Iterable[Row], columns: Sequence[str]) -> Found:
    """Return the answer that lists many rows with these columns."""
    return Found([row.data for row in rows], columns=columns)


def cited(*rows: Row | None) -> str:
    """Return the documents and sections in the sources of rows, without duplicates. A row separates several
    sources by semicolons."""
    return "; ".join(
        dict.fromkeys(part for row in rows if row is not None for part in row.source.split("; "))
    )


def said(value: Any) -> str:
    """Return a value as text: "not known" for None, "yes" or "no" for a bool, the items of a list or tuple
    separated by commas ("none" if there are none), and str(value) for anything else."""
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(v) for v in value) or "none"
    return str(value)


def _pairs_as(title: str, pairs: Sequence[tuple[str, str]], form: str) -> str:
    """Return one object as names and values: one line for each, or a Markdown table."""
    if form == "markdown":
        head = [f"### {title}", "", "| | |", "|---|---|"]
        return "\n".join([*head, *(f"| {name} | {_escaped(value)} |" for name, value in pairs)])
    widest = min(max((len(name) for name, _ in pairs), default=0), 36)
    return "\n".join([title, *(f"  {name:<{widest}}  {value}".rstrip() for name, value in pairs)])


HEADS = {"verdict": "works"}
"""The heading of a column, if it differs from the column's name."""


def _rows_as(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], form: str) -> str:
    """Return many rows as columns of text, or as a Markdown table."""
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    columns = [HEADS.get(column, column) for column in columns]
    if form == "markdown":
        head = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
        return "\n".join([*head, *(f"| {' | '.join(map(_escaped, line))} |" for line in cells)])
    widths = [max([len(name), *(len(line[n]) for line in cells)]) for n, name in enumerate(columns)]
    lines = ["  ".join(f"{text:<{width}}" for text, width in zip(line, widths)).rstrip()
             for line in (columns, *cells)]  # fmt: skip
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else said(value)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
