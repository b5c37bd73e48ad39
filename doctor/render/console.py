"""The rich console on which commands print their tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def console_for(out: TextIO, color: str, width: int) -> Console:
    """A rich console that writes to a stream. `color` is the value of --color. For a pipe or a file, it is as
    wide as COLUMNS says, or at least `width` columns, so that tables are not truncated."""
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
    """The text without control sequences and with rich's markup escaped, safe to print on a console."""
    from rich.markup import escape

    from doctor.printable import block

    return escape(block(text))
