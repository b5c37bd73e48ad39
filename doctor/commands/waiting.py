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
def said_after_a_second(text: str, args: argparse.Namespace) -> Iterator[threading.Timer]:
    """After a second, say on standard error what the tool waits for, if that is a terminal and --quiet was
    not given.

    Returns the timer, which may be cancelled earlier."""

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
