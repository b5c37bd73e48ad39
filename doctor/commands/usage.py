"""The layout of every command's help."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from doctor.printable import block
from doctor.render.width import width_of


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Formats help without changing line breaks, in the width of the terminal.

    argparse makes a formatter for each option and would load `shutil` to find the width; this class gets the
    width passed in, which makes the start faster.
    """

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, **{"width": width_of(sys.__stdout__) - 2, **options})


class Parser(argparse.ArgumentParser):
    """A parser whose help and errors, which quote what was typed, cannot send control sequences to a
    terminal."""

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(block(message), file)
