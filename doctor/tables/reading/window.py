"""A long stream through a short window: searched and read forwards, with chosen ranges kept."""

from __future__ import annotations

from collections.abc import Iterator


class Window:
    """A window over `pieces`. Offsets are those of the whole stream. Bytes that `find` has passed are
    dropped, so memory stays at a few pieces, however long the stream is."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._kept: list[tuple[int, int, bytearray]] = []
        self._buffer = bytearray()
        self._base = 0

    @property
    def position(self) -> int:
        """How many bytes of the stream were received."""
        return self._base + len(self._buffer)

    def keep(self, start: int, stop: int) -> bytearray:
        """Collect bytes start..stop as they arrive, into the returned bytearray. Bytes that were already
        dropped are missing, so call this before reading on."""
        collected = bytearray(self._buffer[max(0, start - self._base) : max(0, stop - self._base)])
        if self.position < stop:
            self._kept.append((start, stop, collected))
        return collected

    def read(self, start: int, length: int) -> bytes:
        """Bytes from `start` (not before the last found place); shorter only at the stream's end."""
        while self.position < start + length and self._more():
            pass
        return bytes(self._buffer[start - self._base : start - self._base + length])

    def find(self, pattern: bytes, start: int) -> int:
        """The next place of `pattern` at or after `start`, -1 if there is none; drops everything before
        it."""
        while True:
            at = self._buffer.find(pattern, max(0, start - self._base))
            if at >= 0:
                self._drop(self._base + at)
                return self._base
            start = max(start, self.position - len(pattern) + 1)
            self._drop(min(start, self.position))
            if not self._more():
                return -1

    def skip_to(self, offset: int) -> None:
        """Read on to `offset` and drop what lies before it."""
        while self.position < offset:
            self._drop(self.position)
            if not self._more():
                return
        self._drop(offset)

    def drain(self) -> None:
        """Read to the end, so that the ranges to keep are complete."""
        while self._more():
            self._drop(self.position)

    def _drop(self, before: int) -> None:
        if before > self._base:
            del self._buffer[: before - self._base]
            self._base = before

    def _more(self) -> bool:
        piece = next(self._pieces, None)
        if piece is None:
            return False
        at = self.position
        self._buffer += piece
        for start, stop, collected in self._kept:
            if start < at + len(piece) and at < stop:
                collected += piece[max(0, start - at) : stop - at]
        self._kept = [kept for kept in self._kept if kept[1] > self.position]
        return True
