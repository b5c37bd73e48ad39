"""The rich console on which commands print their tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def console_for(out: TextIO, color: str, width: int) -> Console:
    """A console over a stream; `color` is --color's value. In a pipe or file it has the columns that COLUMNS
    states, or at least `width`, so that tables are not truncated."""
    from rich.console import Console

    forced = {"always": True, "never": False}.get(color)
    console = Console(
        file=out,
        force_terminal=forced,
        force_jupyter=False,
        no_color=color == "never" or None,
        highlight=False,
    )
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = max(console.width, width)
    return console


def safe(text: str) -> str:
    """Text for a console, safe to show and without rich's markup."""
    from rich.markup import escape

    from doctor.printable import block

    return escape(block(text))
