"""Reads inputs that are too large to hold in memory: a file on disk with all cores, a stream with one
core."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from doctor.logs import scan
from doctor.logs.cleaning import split
from doctor.logs.reader import encoding_of
from doctor.logs.text import Text

if TYPE_CHECKING:
    from typing import TypeAlias

SAMPLE = 1 << 20
"""The number of bytes that are examined to detect the encoding, or to find the next end of a line."""
SHARE = 32 << 20
"""One process scans at least this many bytes of a file at once."""

Progress: TypeAlias = "Callable[[int], None]"


def read_large(
    head: bytes, stream: IO[bytes], name: str, progress: Progress | None = None, *, processes: bool = False
) -> Text:
    """Return the lines that can matter in a stream. head: the beginning of the stream, already read.
    progress: called with the number of bytes read since the last call. processes: whether several processes
    may read a large file.

    Raises NotText for binary data.
    """
    encoding = encoding_of(head[:SAMPLE], whole=False)
    size = _size_on_disk(stream) if processes else 0
    old_mac = b"\n" not in head and b"\r" in head
    if (
        not old_mac
        and encoding in ("utf-8", "utf-8-sig")
        and size > 2 * SHARE
        and (os.cpu_count() or 1) > 1
        and _may_fork()
    ):
        scanned = _all_cores(stream, size, progress)
    else:
        pieces = (head[i : i + scan.CHUNK] for i in range(0, len(head), scan.CHUNK))
        source: Iterable[bytes] = chain(pieces, scan.blocks(stream, progress))
        if not encoding.startswith("utf-8"):
            source = _transcoded(source, encoding)
        if old_mac:
            source = (block.replace(b"\r", b"\n") for block in source)
        scanned = scan.scan_stream(source)
    return Text.of(name, _lines(scanned.kept), scanned.lines)


def _transcoded(source: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for block in source:
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", True).encode("utf-8", "replace")


def _lines(kept: Iterable[scan.Kept]) -> Iterator[tuple[int, str]]:
    """Yield cleaned lines with their numbers. Empty lines replace skipped lines, so that the lines before and
    after them are not read as one message."""
    before = 0
    for number, raw in kept:
        if before and number > before + 1:
            for _ in range(4):
                yield before, ""
        for _, line in split(
            raw.decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\r").replace("\n", " ")
        ):
            yield number, line
        before = number


# --- all cores ---------------------------------------------------------------------------------------


def _size_on_disk(stream: IO[bytes]) -> int:
    """Return the size, in bytes, of a regular file that other processes can open by its name; 0 for anything
    else (a pipe, a decompressed archive)."""
    import io
    import stat

    if not isinstance(stream, io.BufferedReader):
        return 0
    try:
        found = os.fstat(stream.fileno())
        named = os.stat(stream.name)  # noqa: PTH116 the name of standard input is no path
    except (OSError, ValueError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) and os.path.samestat(found, named) else 0


def _may_fork() -> bool:
    """Whether this process may start child processes; a worker of a pool may not."""
    import multiprocessing

    return not multiprocessing.current_process().daemon


def pooled() -> Any:
    """Return the multiprocessing context for worker processes: fork if possible, so that they inherit all
    compiled patterns."""
    import multiprocessing

    forks = sys.platform.startswith("linux")  # on other systems, system libraries do not survive a fork
    return multiprocessing.get_context("fork" if forks else None)


def _all_cores(stream: IO[bytes], size: int, progress: Progress | None) -> scan.Scanned:
    """Scan a file of `size` bytes with one process for each core, and put their results together."""
    path = str(stream.name)
    cores = os.cpu_count() or 1
    spans = list(_spans(stream, size, max(SHARE, size // (2 * cores) + 1)))
    kept: list[scan.Kept] = []
    ends = kept_bytes = 0
    unended = False
    scan.searched()
    with pooled().Pool(min(cores, len(spans)), _quiet) as pool:
        for span, part in zip(spans, pool.imap(partial(_part, path), spans)):
            if kept_bytes < scan.MOST_KEPT:
                kept += [(ends + number, line) for number, line in part.kept]
                kept_bytes += sum(len(line) for _, line in part.kept)
            ends += part.ends
            unended = part.open
            if progress is not None:
                progress(span.end - span.start)
    stream.seek(max(0, size - scan.KEPT_WHOLE))
    lines = ends + unended
    return scan.Scanned(scan.joined(kept, stream.read(scan.KEPT_WHOLE), lines), ends, unended)


def _quiet() -> None:
    """Ignore Ctrl-C in a worker; the parent handles it and ends its children."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Span(NamedTuple):
    """A range of bytes of a file. within: the range begins inside a line, so the bytes before it belong to
    that line too."""

    start: int
    end: int
    within: bool


def _part(path: str, span: Span) -> scan.Scanned:
    """Scan one span of a file, in a worker process."""
    start = span.start - scan.OVERLAP * span.within
    with open(path, "rb", buffering=0) as stream:
        stream.seek(start)
        return scan.scan(scan.blocks(stream, limit=span.end - start), head=start == 0)


def _spans(stream: IO[bytes], size: int, share: int) -> Iterator[Span]:
    """Yield spans of the file that begin and end at line boundaries. Lines of more than SAMPLE bytes are
    cut."""
    start = 0
    within = False
    while start < size:
        end = min(size, start + share)
        cut = False
        if end < size:
            stream.seek(end)
            at = stream.read(SAMPLE).find(b"\n")
            cut = at < 0 and end + SAMPLE < size
            end = end + at + 1 if at >= 0 else end + scan.OVERLAP if cut else size
        yield Span(start, end, within)
        start, within = end, cut
