"""Shows the progress of a long run as one line on standard error, which is rewritten in place. It does so
only on a terminal."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any


class Progress:
    """The progress line. Use it as a context manager, and call `step` after each piece of work, from any
    thread."""

    def __init__(self, what: str, total: int, bytes_read: Callable[[], int] = lambda: 0) -> None:
        self._what, self._total, self._bytes_read = what, total, bytes_read
        self._done, self._started, self._shown = 0, time.monotonic(), 0.0
        self._lock = threading.Lock()
        self._live = sys.stderr.isatty()

    def __enter__(self) -> Progress:
        self._show("")
        return self

    def step(self, name: str) -> None:
        """Count one piece of work, called `name`, as done."""
        with self._lock:
            self._done += 1
            self._show(name)

    def collected(self, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows as a list. Count each as done when it arrives, by its source."""
        found = []
        for row in rows:
            found.append(row)
            self.step(row["source"])
        return found

    def _show(self, name: str) -> None:
        now = time.monotonic()
        if not self._live or (now - self._shown < 0.1 and self._done < self._total):
            return
        self._shown = now
        left = (now - self._started) / self._done * (self._total - self._done) if self._done else 0
        line = f"{self._what}: {self._done} of {self._total}"
        if volume := self._bytes_read():
            line += f", {volume / 2**20:,.0f} MiB read"
        if left > 2:
            line += f", {left / 60:.0f} min left" if left > 90 else f", {left:.0f} s left"
        line = f"{line}  {name}"[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r\x1b[K" + line)
        sys.stderr.flush()

    def __exit__(self, *_error: object) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
