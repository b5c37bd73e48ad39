"""Searches and reads a long stream forwards, with only a short window in memory, and keeps chosen ranges."""

from __future__ import annotations

from collections.abc import Iterator


class Window:
    """A window over the stream of bytes that `pieces` yields. Offsets count from the start of the stream.
    Bytes that `find` has passed are dropped, so memory holds only a few pieces, however long the stream
    is."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._kept: list[tuple[int, int, bytearray]] = []
        self._buffer = bytearray()
        self._base = 0

    @property
    def position(self) -> int:
        """The number of bytes received from the stream so far."""
        return self._base + len(self._buffer)

    def keep(self, start: int, stop: int) -> bytearray:
        """Collect the bytes start..stop into the returned bytearray as they arrive. Bytes that were already
        dropped are missing, so call this before you read further."""
        collected = bytearray(self._buffer[max(0, start - self._base) : max(0, stop - self._base)])
        if self.position < stop:
            self._kept.append((start, stop, collected))
        return collected

    def read(self, start: int, length: int) -> bytes:
        """Return `length` bytes from offset `start`, which must not be before the last place that `find`
        returned. The result is shorter only at the end of the stream."""
        while self.position < start + length and self._more():
            pass
        return bytes(self._buffer[start - self._base : start - self._base + length])

    def find(self, pattern: bytes, start: int) -> int:
        """Return the offset of the next `pattern` at or after `start`, or -1 if there is none. Drops
        everything before that offset."""
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
        """Read up to `offset`, and drop everything before it."""
        while self.position < offset:
            self._drop(self.position)
            if not self._more():
                return
        self._drop(offset)

    def drain(self) -> None:
        """Read to the end of the stream, so that the ranges to keep are complete."""
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
