"""Reduces input of any size to the lines that can matter, in constant memory and as fast as a plain search.

Most lines of a log differ only in numbers. The shape of a line is its text in lower case without digits. Its
outline also lacks the letters a to f, which occur in hexadecimal numbers. Lines whose outline is known to add
nothing are skipped. Every other shape in a block is searched once for the literals of all signatures. If a
shape contains a literal, the first few lines of that shape are kept with their neighbours. The beginning and
the end of the input are kept whole.

`scan_stream` reads a stream of bytes, and returns the kept lines as (line number, line) pairs, and the total
number of lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, chain
from typing import IO, TYPE_CHECKING, NamedTuple

from doctor import lazy
from doctor.logs.literals import Literals

if TYPE_CHECKING:
    from typing import TypeAlias

CHUNK = 1 << 17
"""The size of a block in bytes. A block fits into a processor's cache."""
KEPT_WHOLE = 1 << 16
"""The number of bytes at the beginning and at the end that are kept whole."""
PER_SHAPE = 3
"""At most this many lines of one shape are kept."""
PER_LITERAL = 60
"""At most this many lines are kept because they contain the same literal."""
BEFORE, AFTER = 2, 6
"""The numbers of neighbouring lines that are kept before and after a line that matters, because some messages
span several lines."""
LONG = 4096
"""A line with more bytes than this is searched in overlapping pieces of this size."""
OVERLAP = 300
KNOWN_SHAPES = 100_000
"""If more shapes than this are known, all are forgotten, so that memory stays small."""
MOST_KEPT = 1 << 20
"""At most this many bytes are kept between the beginning and the end."""
SHORTEST = 4
"""A literal with at least this many letters counts by itself. Shorter ones, such as "t4" or "|", occur in
every log and count only in lines that are kept for another reason."""

_DIGITS = b"0123456789"
_HEXADECIMAL = b"abcdefABCDEF"
_TO_LOWER = bytes(10 if b in (8, 13) else b + 32 if 65 <= b <= 90 else b for b in range(256))
"""A translation table to lower case, in which carriage returns and the backspaces of progress bars become
line ends."""
_NEEDS_CLEANING = lazy.compile(rb"[\x00-\x07\x0b\x0c\x0e-\x1f&\x7f-\xff]")

Kept: TypeAlias = "tuple[int, bytes]"


class Scanned(NamedTuple):
    """The lines of a block that can matter, with their numbers (a number may occur more than once), and the
    number of line ends in the block.

    open: whether the last line has no line end.
    """

    kept: list[Kept]
    ends: int
    open: bool

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.ends + self.open


# --- which shapes matter ----------------------------------------------------------------------------


def triggers() -> list[bytes]:
    """Return the literals of all signatures, without digits. Literals that would match every line are left
    out."""
    known = searched()
    return [known.literals.words[number].encode("latin-1") for number in sorted(known.needs)]


def _outline(word: str) -> str:
    return re.sub(r"[0-9]", "", word)


def _counts(shape: str) -> bool:
    return sum(c.isalpha() for c in shape) >= (SHORTEST if shape.isascii() else 2)


class _Triggers:
    """Searches for the triggers, and for the words that some triggers need near them."""

    def __init__(self) -> None:
        from doctor.logs.signatures import catalogue

        needs: dict[str, set[tuple[frozenset[str], ...]]] = defaultdict(set)
        for signature in catalogue():
            near = signature.near if signature.lines == 1 else ()
            beside = tuple(frozenset(map(_outline, several)) for several in near)
            for shape in filter(_counts, map(_outline, signature.literals)):
                needs[shape].add(tuple(several for several in beside if "" not in several))
        words = {
            *needs,
            *(word for beside in needs.values() for sets in beside for several in sets for word in several),
        }
        ordered = sorted(words)
        numbers = {word: number for number, word in enumerate(ordered)}
        self.literals = Literals(_letters(word.encode()) for word in ordered)
        self.needs = {
            numbers[shape]: [
                tuple(frozenset(numbers[word] for word in several) for several in sets) for sets in beside
            ]
            for shape, beside in needs.items()
        }

    def leading(self, found: set[int]) -> set[int]:
        """Return those of the words found in one shape that are triggers. A trigger counts only if the words
        that it needs were found there too. Words and triggers are given by number."""
        return {
            number
            for number in found
            if any(
                not any(found.isdisjoint(several) for several in near) for near in self.needs.get(number, ())
            )
        }


@lru_cache(maxsize=1)
def searched() -> _Triggers:
    """Return the search for the catalogue's triggers. It is made once; a pool makes it before its processes
    start, so that they share it."""
    return _Triggers()


def _letters(data: bytes) -> str:
    """Return the bytes as a string with one character for each byte."""
    return data.decode("latin-1")


class Shapes:
    """The shapes of the lines seen so far, and the number of lines kept for each.

    A shape is a line in lower case without its digits, so lines that differ only in numbers share one.
    """

    def __init__(self) -> None:
        self.known: set[bytes] = set()
        self.counts: dict[bytes, int] = {}
        self.literals: dict[int, int] = {}

    def telling(self, shapes: Iterable[bytes]) -> set[bytes]:
        """Return the shapes whose lines are to be kept: shapes that contain a literal, as long as few of
        their lines have been kept."""
        several = list(shapes)
        texts = [_cleaned(shape) if _NEEDS_CLEANING.search(shape) else shape for shape in several]
        ends = list(accumulate(len(text) + 1 for text in texts))
        found: dict[int, set[int]] = {}
        triggers = searched()
        for end, (number, _) in triggers.literals.hits(_letters(b"\n".join(texts))):
            found.setdefault(bisect_right(ends, end), set()).add(number)
        leading = {i: triggers.leading(words) for i, words in found.items()}
        return {
            several[i] for i, literals in leading.items() if literals and self._wanted(several[i], literals)
        }

    def _wanted(self, shape: bytes, literals: set[int]) -> bool:
        seen = self.counts.get(shape, 0) + 1
        if seen > PER_SHAPE or all(self.literals.get(literal, 0) >= PER_LITERAL for literal in literals):
            return False
        if len(self.counts) > KNOWN_SHAPES:
            self.counts.clear()
        self.counts[shape] = seen
        for literal in literals:
            self.literals[literal] = self.literals.get(literal, 0) + 1
        return True

    def learn(self, outlines: set[bytes]) -> None:
        """Skip lines with these outlines from now on, because they add nothing."""
        if len(self.known) > KNOWN_SHAPES:
            self.known.clear()
        self.known |= {outline for outline in outlines if len(outline) <= 512}


def _cleaned(shape: bytes) -> bytes:
    """Return a shape without escapes, entities and hidden characters."""
    from doctor.logs.cleaning import clean

    text = shape.decode("utf-8", "replace").replace("&#;", "'").replace("&#x;", "'")
    return clean(text).lower().encode()


def _shape(line: bytes) -> bytes:
    return line.translate(_TO_LOWER, _DIGITS)


# --- the scan ---------------------------------------------------------------------------------------


def scan(blocks: Iterable[bytes], *, head: bool = True) -> Scanned:
    """Scan the input block by block. head: whether the first block is the beginning of the input, which is
    kept whole."""
    shapes = Shapes()
    kept: list[Kept] = []
    size = 0
    number = 1  # the number of the line in which the block begins
    rest = b""
    first = KEPT_WHOLE if head else 0
    cut = False  # whether the first line of the block began in an earlier block
    for block in blocks:
        data = rest + block
        end = data.rfind(b"\n") + 1
        if not end and len(data) < LONG * 4:
            rest = data
            continue
        if end:
            whole, rest = data[:end], data[end:]
        else:  # a line that is longer than the block: the next block contains the rest
            whole, rest = data, data[-OVERLAP:]
        if first > 0:
            found: Iterable[Kept] = _numbered(whole, number)
            first -= len(whole)
        elif size > MOST_KEPT:
            found = ()
        else:
            found = _look(whole, number, shapes)
        for pair in found:
            kept.append(pair)
            size += len(pair[1])
        number += whole.count(b"\n")
        cut = not end
    if rest and not (cut and len(rest) <= OVERLAP):
        kept += _numbered(rest, number) if first > 0 else _look(rest, number, shapes)
    return Scanned(kept, number - 1, bool(rest))


def _numbered(data: bytes, number: int) -> Iterator[Kept]:
    lines = data.split(b"\n")
    if data.endswith(b"\n"):
        lines.pop()
    for i, line in enumerate(lines):
        for start in range(0, len(line) or 1, 1 << 16):
            yield number + i, line[start : start + (1 << 16)]


class Piece(NamedTuple):
    """A piece of a long line, and the position of that line in its block."""

    line: int
    raw: bytes


def _look(data: bytes, number: int, shapes: Shapes) -> list[Kept]:
    """Return the lines of a block that are to be kept: those with a new shape that can matter, and their
    neighbours.

    number: the number of the block's first line. shapes: the shapes seen so far; those of this block are
    added.
    """
    outlines = data.translate(_TO_LOWER, _DIGITS + _HEXADECIMAL).split(b"\n")
    new = set(outlines) - shapes.known
    if not new:
        return []
    fresh = {shape: outline for outline, shape in zip(outlines, _shape(data).split(b"\n")) if outline in new}
    pieces: dict[bytes, Piece] = {}
    if len(max(fresh, key=len)) > LONG:
        fresh = {shape: outline for shape, outline in fresh.items() if len(shape) <= LONG}
        pieces = _pieces(data)
    telling = shapes.telling(chain(fresh, pieces))
    shapes.learn(new - {fresh[shape] for shape in telling if shape in fresh})
    return _kept(data, number, telling, pieces) if telling else []


def _pieces(data: bytes) -> dict[bytes, Piece]:
    """Return the pieces of a block's long lines, by shape. Neighbouring pieces overlap."""
    found: dict[bytes, Piece] = {}
    for i, line in enumerate(data.split(b"\n")):
        if len(line) > LONG:
            for start in range(0, len(line), LONG - OVERLAP):
                shape = _shape(line[start : start + LONG])
                if shape not in found:
                    found[shape] = Piece(i, line[max(0, start - OVERLAP) : start + LONG + OVERLAP])
    return found


def _kept(data: bytes, number: int, telling: set[bytes], pieces: dict[bytes, Piece]) -> list[Kept]:
    """Return the lines with one of these shapes, and their neighbours. Only the matching pieces of long lines
    are kept."""
    raw = data.split(b"\n")
    left = dict.fromkeys(telling, PER_SHAPE)
    wanted: dict[int, list[bytes]] = {}
    for shape in telling & pieces.keys():
        wanted.setdefault(pieces[shape].line, []).append(pieces[shape].raw)
    for i, line in enumerate(raw):
        shape = _shape(line)
        if shape in left:
            matched = [shape]
        elif b"\n" in shape:
            matched = [part for part in shape.split(b"\n") if part in left]
        else:
            continue
        for part in matched:
            if left[part]:
                left[part] -= 1
                for near in range(max(0, i - BEFORE), min(len(raw), i + AFTER + 1)):
                    wanted.setdefault(near, [raw[near][:LONG]])
    return [(number + i, part) for i in sorted(wanted) for part in wanted[i]]


# --- whole streams ----------------------------------------------------------------------------------


def blocks(
    stream: IO[bytes], progress: Callable[[int], None] | None = None, limit: int | None = None
) -> Iterator[bytes]:
    """Yield the blocks of a stream, up to `limit` bytes."""
    left = limit
    while left is None or left > 0:
        block = stream.read(CHUNK if left is None else min(CHUNK, left))
        if not block:
            return
        if left is not None:
            left -= len(block)
        if progress is not None:
            progress(len(block))
        yield block


def with_tail(source: Iterable[bytes], tail: list[bytes]) -> Iterator[bytes]:
    """Yield the blocks of `source` unchanged. At the end, `tail` contains the last blocks: KEPT_WHOLE bytes
    or more, or everything if there is less."""
    size = 0
    for block in source:
        tail.append(block)
        size += len(block)
        while size - len(tail[0]) >= KEPT_WHOLE:
            size -= len(tail.pop(0))
        yield block


def scan_stream(source: Iterable[bytes]) -> Scanned:
    """Scan the whole input. Returns its beginning, its end, and the lines between them that can matter."""
    tail: list[bytes] = []
    result = scan(with_tail(source, tail))
    return result._replace(kept=joined(result.kept, b"".join(tail), result.lines))


def joined(kept: list[Kept], tail: bytes, lines: int) -> list[Kept]:
    """Return the kept lines, followed by the lines in `tail`, the end of the input. The first line of `tail`
    is left out because it may be incomplete. lines: the number of lines in the input."""
    tail = tail[-KEPT_WHOLE:]
    at = tail.find(b"\n") + 1
    tail = tail[at:]
    end = tail.count(b"\n") + (not tail.endswith(b"\n"))
    first = lines - end + 1
    if not at or first < 1:
        return kept
    return [pair for pair in kept if pair[0] < first] + list(_numbered(tail, first))
