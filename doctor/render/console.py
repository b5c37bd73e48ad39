"""The rich console on which commands print their tables and charts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from doctor.charts import Chart


def console_for(out: TextIO, color: str, width: int) -> Console:
    """Return a rich console that writes to a stream. color: the value of --color. For a pipe or a file, the
    console is as wide as COLUMNS says, or at least `width` columns, so that tables are not truncated."""
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


def print_chart(console: Console, chart: Chart, widest: int) -> None:
    """Print a chart below a blank line, in at most `widest` columns. It has only ASCII characters if the
    output's encoding has no others."""
    from doctor.charts import text

    plain = not console.encoding.lower().startswith("utf")
    drawn = text.drawn(chart, min(console.width, widest), plain=plain)
    console.print("\n" + safe(drawn), soft_wrap=True)


def safe(text: str) -> str:
    """Return the text without control sequences and with rich's markup escaped, safe to print on a
    console."""
    from rich.markup import escape

    from doctor.printable import block

    return escape(block(text))
