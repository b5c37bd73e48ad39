"""A notice on the terminal when something takes longer than a second."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
from collections.abc import Iterator

from doctor.printable import say

LOOKING = "Looking at the machine: its driver or its Python takes a while to answer ..."


@contextlib.contextmanager
def progress_notice(text: str, args: argparse.Namespace) -> Iterator[threading.Timer]:
    """After a second, print what the tool waits for on standard error, if that is a terminal and --quiet was
    not given.

    Yields the timer, which the caller may cancel earlier."""

    def tell() -> None:
        if sys.stderr.isatty() and not getattr(args, "quiet", False):
            say(text)

    timer = threading.Timer(1.0, tell)
    timer.daemon = True
    timer.start()
    try:
        yield timer
    finally:
        timer.cancel()
