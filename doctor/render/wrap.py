"""Wraps prose. `wrap` does it as rich does, but imports rich only for wide characters, because the import
takes longer than the rest of a short page. `hanging` adds indents, and keeps words whole."""

from __future__ import annotations

import re


def wrap(text: str, width: int, rows: int = 0, cut: str = "...") -> list[str]:
    """Return the text as rows of at most `width` columns, broken between words. A word that is longer than a
    row is broken too.

    rows: the maximum number of rows (0: no limit). If the text needs more, the last row ends with `cut`.
    """
    found = [row.rstrip() for row in (_narrow if _one_column(text) else _wide)(text, width)]
    if rows and len(found) > rows:
        last = max(1, width - len(cut))
        found[rows - 1 :] = [_start(found[rows - 1], last) + cut]
    return found


def hanging(text: str, width: int, lead: str, indent: str) -> list[str]:
    """Return the text as rows of at most `width` columns; the first begins with `lead`, the others with
    `indent`. Words stay whole, even if they are longer than a row."""
    import textwrap  # few answers need it

    return textwrap.wrap(
        text,
        width,
        initial_indent=lead,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _one_column(text: str) -> bool:
    """Whether every character takes exactly one column, because all of them come before Unicode's combining
    characters."""
    return max(text, default="") < "\u0300"


def _narrow(text: str, width: int) -> list[str]:
    """The rows of a string whose characters take one column each."""
    breaks = [0]
    used = start = 0
    for match in re.finditer(r"\S+\s*", text):
        end = match.end()
        word = text[start:end]
        size = len(word.rstrip())
        if size <= width - used:
            used += len(word)
        elif size > width:
            breaks += range(start, end, width)
            used = end - breaks[-1]
        else:
            breaks.append(start)
            used = len(word)
        start = end
    breaks = sorted({*breaks, len(text)}) if text else [0, 0]
    return [text[start:end] for start, end in zip(breaks, breaks[1:])]


def _wide(text: str, width: int) -> list[str]:
    """The rows of a string whose characters may be wider than one column; rich measures them."""
    from rich.console import Console
    from rich.text import Text

    return [row.plain for row in Text(text).wrap(Console(width=width), width)]


def _start(row: str, width: int) -> str:
    """The beginning of a row, cut to the width."""
    if _one_column(row):
        return row[:width]
    from rich.cells import cell_len, set_cell_size

    return set_cell_size(row, width) if cell_len(row) > width else row
