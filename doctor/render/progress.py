"""Shows the progress of a long task as one line on standard error. It does so only on a terminal, and only
after the first second."""

from __future__ import annotations

import sys
import time


class Progress:
    """A count of what was done, shown at most ten times a second as "COUNT of TOTAL UNIT read".

    The count and the total are divided by `scale` before they are shown. total: None if it is not known.
    quiet: show nothing.
    """

    def __init__(self, unit: str, total: int | None = None, *, quiet: bool = False, scale: int = 1) -> None:
        self.unit, self.total, self.scale = unit, total, scale
        self.done = 0
        self.shown = False
        self.next = time.monotonic() + 1.0
        self.silent = quiet or not sys.stderr.isatty()

    def expect(self, total: int) -> None:
        """Set the total."""
        self.total = total

    def __call__(self, more: int = 1) -> None:
        """Add `more` to the count, and redraw the line if an update is due."""
        self.done += more
        if self.silent:
            return
        now = time.monotonic()
        if now >= self.next:
            self.next = now + 0.1
            self.shown = True
            of = f" of {self.total // self.scale}" if self.total else ""
            sys.stderr.write(f"\r{self.done // self.scale}{of} {self.unit} read\x1b[K")
            sys.stderr.flush()

    def end(self) -> None:
        """Remove the line."""
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.shown = False
