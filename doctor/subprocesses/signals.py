"""Turns Ctrl-C, SIGTERM and SIGHUP into an orderly end, so that every `with` block releases its resources."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


class Ending:
    """The signal handler for requests to end. The first request raises KeyboardInterrupt in the main thread;
    later ones are ignored, because the work is already ending."""

    def __init__(self) -> None:
        self.shielded = False
        self._deferring = False
        self._asked = False

    def shield(self) -> None:
        """From now on ignore requests to end, because the running clean-up must finish."""
        self.shielded = True

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Delay requests that arrive while the block runs: they raise KeyboardInterrupt when it ends."""
        self._deferring = True
        try:
            yield
        finally:
            self._deferring = False
        if self._asked:
            self.shielded = True
            raise KeyboardInterrupt

    def __call__(self, _number: int, _frame: Any) -> None:
        """The signal handler."""
        if self.shielded:
            return
        if self._deferring:
            self._asked = True
            return
        self.shielded = True
        raise KeyboardInterrupt


@contextmanager
def ending_in_order() -> Iterator[Ending]:
    """While the block runs, treat SIGINT, SIGTERM and SIGHUP as requests to end. A signal that is already
    ignored (nohup) stays ignored.

    Outside the main thread, which alone receives signals, this changes nothing.
    """
    ending = Ending()
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {}
    with suppress(ValueError):  # not in the main thread
        for number in numbers:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, ending)
    try:
        yield ending
    finally:
        ending.shield()
        for number, handler in before.items():
            signal.signal(number, handler)
