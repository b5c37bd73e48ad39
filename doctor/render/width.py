"""The number of columns for prose."""

from __future__ import annotations

import os
from typing import TextIO

WIDEST = 100
"""The maximum number of columns for prose, even on a wider terminal."""
NARROWEST = 20


def width_of(stream: TextIO | None) -> int:
    """The columns for prose: COLUMNS, or the terminal's width, within bounds; 80 if there is no terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and len(columns) < 5 and int(columns) > 0:
        width = int(columns)
    else:
        try:
            width = os.get_terminal_size(stream.fileno() if stream is not None else -1).columns or 80
        except (OSError, ValueError, AttributeError):
            width = 80
    return max(NARROWEST, min(WIDEST, width))
