"""The layout of every command's help, and the hint for a word that was mistyped."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from typing import Any

from doctor.printable import block
from doctor.render.width import width_of


def suggestion(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint that names those of the known words that are similar to `word` or contain it, or
    `otherwise` if there are none."""
    import difflib

    names, word = list(known), word.lower()
    similar = difflib.get_close_matches(word, names, 3)
    similar = similar or [name for name in names if word and word in name][:3]
    *others, last = [f"`{name}`" for name in similar] or [""]
    either = f"{', '.join(others)} or " if others else ""
    return f"did you mean {either}{last}?" if last else otherwise


class Formatter(argparse.HelpFormatter):
    """Formats help text for the width of the terminal. Each example keeps its own line, and words stay whole.

    argparse makes a formatter for each option, and without a width it would import `shutil` to find one. This
    class passes the width, which makes the start faster.
    """

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, **{"width": width_of(sys.__stdout__) - 2, **options})

    def _format_usage(self, *arguments: Any) -> str:
        usage = super()._format_usage(*arguments)
        if all(len(row) <= self._width for row in usage.split("\n")):
            return usage
        return re.sub(r"\n +", "\n    ", usage)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from doctor.render.fold import fold  # only help needs it

        return fold(text, width, paragraphs=True)

    def _split_lines(self, text: str, width: int) -> list[str]:
        from doctor.render.fold import fold

        return fold(" ".join(text.split()), width).split("\n")


class Parser(argparse.ArgumentParser):
    """A parser whose help and error messages cannot send control sequences to a terminal, although they quote
    what the user typed."""

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(block(message), file)
