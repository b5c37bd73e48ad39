"""Fits help text, lists and tables into the width of a terminal. It cuts no text and breaks no word."""

from __future__ import annotations

import os
import re
from typing import TextIO

from doctor import lazy
from doctor.render.width import width_of

COLUMN = 24
"""The last cell of a row stays beside the others if it has at least this many columns."""
_GAP = lazy.compile(r"(?<=\S) {2,}(?=\S)")


def columns_of(stream: TextIO | None) -> int:
    """The number of columns of a terminal, or the value of COLUMNS; 0 for a pipe or a file, whose lines are
    not folded."""
    if not os.environ.get("COLUMNS", "").isdigit() and not (stream is not None and stream.isatty()):
        return 0
    return width_of(stream)


def fold(text: str, width: int, *, paragraphs: bool = False) -> str:
    """The text, with lines longer than `width` columns broken between words. width: 0 for no limit.

    The last cell of a row continues under its beginning, or below the row if little room is left there.
    paragraphs: treat consecutive lines at the left edge as one paragraph, and fill it again; likewise an item
    that starts with "- ".
    """
    if not width:
        return text
    lines = text.split("\n")
    return "\n".join(
        row for line in (_joined(lines) if paragraphs else lines) for row in _folded(line, width)
    )


def _joined(lines: list[str]) -> list[str]:
    """The lines, with the lines of each paragraph, and those of each item of a list, joined into one."""
    found: list[str] = []
    inside = in_item = False
    for line in lines:
        item = line.startswith("- ")
        part = bool(line) and not line.startswith((" ", "#")) and not line.endswith(":")
        if (inside and part and not item) or (in_item and line.startswith("  ")):
            found[-1] += f" {line.strip()}"
        else:
            found.append(line)
            inside, in_item = part, item
    return found


def _folded(line: str, width: int) -> list[str]:
    """The rows into which one line is folded."""
    if len(line) <= width:
        return [line]
    lead = len(line) - len(line.lstrip())
    gaps = list(_GAP.finditer(line))
    beside = [
        gap.end() for gap in gaps if gap.end() + max(COLUMN, *map(len, line[gap.end() :].split(" "))) <= width
    ]
    if gaps and not beside:
        head, rest = line[: gaps[-1].start()], line[gaps[-1].end() :]
        below = " " * min(lead + 4, max(0, width - max(map(len, rest.split(" ")))))
        return [*_folded(head, width), *_words(below, below, rest, width)]
    at = beside[-1] if beside else lead
    hang = at if beside else 2 if line.startswith("- ") else lead + 4 if lead else 0
    return _words(line[:at], " " * hang, line[at:], width)


def _words(lead: str, hang: str, text: str, width: int) -> list[str]:
    """The words of `text` in rows. The first row begins with `lead`, the others with `hang`."""
    rows: list[str] = []
    row, empty = lead, True
    for word, gap in re.findall(r"(\S+)(\s*)", text):
        if not empty and len(row) + len(word) > width:
            rows.append(row.rstrip())
            row = hang
        row += word + gap
        empty = False
    return [*rows, row.rstrip()]
