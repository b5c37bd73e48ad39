"""Prints a notice on the terminal if an operation takes longer than a second."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.printable import say

if TYPE_CHECKING:
    import argparse

LOOKING = "Looking at the machine: its driver or its Python takes a while to answer ..."


@contextlib.contextmanager
def progress_notice(text: str, args: argparse.Namespace) -> Iterator[threading.Timer]:
    """A context that prints `text` on standard error if it lasts longer than a second. It prints nothing if
    standard error is not a terminal, or with --quiet.

    Yields the timer, which the caller may cancel earlier.
    """

    def tell() -> None:
        if sys.stderr.isatty() and not args.quiet:
            say(text)

    timer = threading.Timer(1.0, tell)
    timer.daemon = True
    timer.start()
    try:
        yield timer
    finally:
        timer.cancel()
