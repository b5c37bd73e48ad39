"""A text of any size to the lines of it that can matter, in constant memory and at the speed of a search.

Lines of a log differ in their numbers and hardly otherwise. So digits are taken out, which leaves few different
shapes, and each shape is looked at once: whether a literal of any signature stands in it. Of a shape with a literal
the first lines are kept, with their neighbours; of the beginning and the end of the text everything is.

In: a stream of bytes. Out: (line number, line) pairs and the number of lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import IO, NamedTuple

CHUNK = 1 << 18
"""Bytes that are looked at together: they fit into a processor's cache."""
KEPT_WHOLE = 1 << 16
"""Bytes at the beginning and at the end that are kept whole."""
PER_SHAPE = 3
"""Lines that are kept of one shape."""
PER_LITERAL = 60
BEFORE, AFTER = 2, 6
"""Neighbours that are kept of a line that matters; messages of several lines need them."""
LONG = 4096
"""A longer line is looked at in pieces of so many bytes, which overlap."""
OVERLAP = 300
KNOWN_SHAPES = 100_000
MOST_KEPT = 1 << 20
"""Bytes that are kept at most between the beginning and the end."""
SHORTEST = 4
"""Letters that a literal needs to count on its own; "t4" or "|" stand in every log, and count near other lines only."""

_DIGITS = b"0123456789"
_TO_LOWER = bytes(10 if b in (8, 13) else b + 32 if 65 <= b <= 90 else b for b in range(256))
"""Lower case; carriage returns and the backspaces of progress bars end a line here."""
_NEEDS_CLEANING = re.compile(rb"[\x00-\x07\x0b\x0c\x0e-\x1f&\x7f-\xff]")

Kept = tuple[int, bytes]


class Scanned(NamedTuple):
    """Lines that can matter, with their numbers (a number may occur more than once), and how many there are in all."""

    kept: list[Kept]
    lines: int


# --- which shapes matter ----------------------------------------------------------------------------


def triggers() -> list[bytes]:
    """The literals of all signatures without their digits, those left out that would stand in every line."""
    from doctor.logs.signatures import catalogue

    pieces = {literal for signature in catalogue() for literal in signature.literals}
    shapes = {re.sub(r"[0-9]", "", piece).lower() for piece in pieces}
    return sorted(s.encode() for s in shapes if sum(c.isalpha() for c in s) >= (SHORTEST if s.isascii() else 2))


def _trie(words: Iterable[bytes]) -> re.Pattern[bytes]:
    """One expression for many words, their common beginnings shared, so that a search tries few branches."""
    root: dict[int, dict] = {}  # type: ignore[type-arg]
    for word in words:
        node = root
        for byte in word:
            node = node.setdefault(byte, {})
        node[-1] = {}

    def source(node: dict[int, dict]) -> bytes:  # type: ignore[type-arg]
        if -1 in node:  # the shortest word decides
            return b""
        branches = [re.escape(bytes([byte])) + source(child) for byte, child in sorted(node.items())]
        return branches[0] if len(branches) == 1 else b"(?:" + b"|".join(branches) + b")"

    return re.compile(source(root))


@lru_cache(maxsize=1)
def _whole() -> re.Pattern[bytes]:
    return _trie(triggers())


@lru_cache(maxsize=1)
def _words() -> re.Pattern[bytes]:
    """The longest word of each literal: a line without any of these needs no closer look."""
    return _trie({max(literal.split(), key=len) for literal in triggers()})


def prepare() -> None:
    """Compile what every process of a pool needs, before they are made."""
    _whole()
    _words()


class Shapes:
    """What is known of the shapes seen so far."""

    def __init__(self) -> None:
        self.known: set[bytes] = set()
        self.words: set[bytes] = set()
        self.hot: set[bytes] = set()
        self.counts: dict[bytes, int] = {}
        self.literals: dict[bytes, int] = {}

    def telling(self, shapes: set[bytes]) -> set[bytes]:
        """Those of the shapes whose lines are to be kept; the others are known from now on."""
        new = shapes - self.known
        if not new:
            return new
        blob = b"\n".join(new)
        if _NEEDS_CLEANING.search(blob):
            cleaned = {shape: _cleaned(shape) for shape in new}
            blob = b"\n".join(cleaned.values())
        else:
            cleaned = {}
        hot = self._hot_words(set(blob.split()))
        found: set[bytes] = set()
        if hot:
            for shape in new:
                text = cleaned.get(shape, shape)
                near = hot.intersection(text.split())
                hit = _literal_near(text, near) if near else b""
                if hit and self._wanted(shape, hit):
                    found.add(shape)
        self._learn(new - found)
        return found

    def _hot_words(self, words: set[bytes]) -> set[bytes]:
        """Those of the words in which the longest word of a literal stands."""
        hot = words & self.hot
        words -= self.words
        words -= hot
        if words and _words().search(b"\n".join(words)):
            fresh = {word for word in words if _words().search(word)}
            words -= fresh
            hot |= fresh
            if len(self.hot) > KNOWN_SHAPES:
                self.hot.clear()
            self.hot |= {word for word in fresh if len(word) <= 64}
        if len(self.words) > KNOWN_SHAPES:
            self.words.clear()
        self.words |= {word for word in words if len(word) <= 64}
        return hot

    def _wanted(self, shape: bytes, literal: bytes) -> bool:
        seen = self.counts.get(shape, 0) + 1
        of_literal = self.literals.get(literal, 0) + 1
        if seen > PER_SHAPE or of_literal > PER_LITERAL:
            return False
        if len(self.counts) > KNOWN_SHAPES:
            self.counts.clear()
        self.counts[shape] = seen
        self.literals[literal] = of_literal
        return True

    def _learn(self, shapes: set[bytes]) -> None:
        if len(self.known) > KNOWN_SHAPES:
            self.known.clear()
        self.known |= {shape for shape in shapes if len(shape) <= 512}


def _literal_near(text: bytes, words: set[bytes]) -> bytes:
    """A literal of a signature around one of the words; empty where there is none."""
    if len(text) <= 2 * OVERLAP:
        hit = _whole().search(text)
        return hit[0] if hit else b""
    for word in words:
        at = text.find(word)
        while at >= 0:
            hit = _whole().search(text, max(0, at - OVERLAP // 2), at + len(word) + OVERLAP // 2)
            if hit:
                return hit[0]
            at = text.find(word, at + len(word))
    return b""


def _cleaned(shape: bytes) -> bytes:
    """A shape as its line reads once escapes, entities and hidden characters are gone."""
    from doctor.logs.text import clean

    text = shape.decode("utf-8", "replace").replace("&#;", "'").replace("&#x;", "'")
    return clean(text).lower().encode()


def _shape(line: bytes) -> bytes:
    return line.translate(_TO_LOWER, _DIGITS)


# --- the scan ---------------------------------------------------------------------------------------


def scan(blocks: Iterable[bytes], *, head: bool = True) -> Scanned:
    """Look at a text that comes in blocks. head: its first block is the text's beginning, and kept."""
    shapes = Shapes()
    kept: list[Kept] = []
    size = 0
    number = 1  # of the line in which the block begins
    rest = b""
    first = KEPT_WHOLE if head else 0
    cut = False  # the line at the beginning of the block began in an earlier one
    for block in blocks:
        data = rest + block
        end = data.rfind(b"\n") + 1
        if not end and len(data) < LONG * 4:
            rest = data
            continue
        if end:
            whole, rest = data[:end], data[end:]
        else:  # a line longer than the block: what is left of it follows
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
    return Scanned(kept, number - 1 + bool(rest))


def _numbered(data: bytes, number: int) -> Iterator[Kept]:
    lines = data.split(b"\n")
    if data.endswith(b"\n"):
        lines.pop()
    for i, line in enumerate(lines):
        for start in range(0, len(line) or 1, 1 << 16):
            yield number + i, line[start : start + (1 << 16)]


def _look(data: bytes, number: int, shapes: Shapes) -> list[Kept]:
    """The lines of a block that are to be kept."""
    lines = set(_shape(data).split(b"\n"))
    long = {shape for shape in lines if len(shape) > LONG}
    if long:
        lines -= long
        for shape in long:
            lines.update(shape[i : i + LONG] for i in range(0, len(shape), LONG - OVERLAP))
    telling = shapes.telling(lines)
    if not telling:
        return []
    return _kept(data, number, telling)


def _kept(data: bytes, number: int, telling: set[bytes]) -> list[Kept]:
    """The lines that have one of these shapes, with their neighbours; of long lines the pieces around it."""
    raw = data.split(b"\n")
    left = dict.fromkeys(telling, PER_SHAPE)
    wanted: set[int] = set()
    pieces: dict[int, list[bytes]] = {}
    for i, line in enumerate(raw):
        shape = _shape(line)
        if shape in left:
            matched = [shape]
        elif b"\n" in shape:
            matched = [part for part in shape.split(b"\n") if part in left]
        elif len(line) > LONG:
            matched = []
            pieces[i] = _pieces(line)
        else:
            continue
        for part in matched:
            if left[part]:
                left[part] -= 1
                wanted.update(range(max(0, i - BEFORE), min(len(raw), i + AFTER + 1)))
    result: list[Kept] = []
    for i in sorted(wanted | pieces.keys()):
        parts = pieces[i] if i in pieces else [raw[i][:LONG]]
        result += [(number + i, part) for part in parts]
    return result


def _pieces(line: bytes) -> list[bytes]:
    """The parts of a long line in which a literal stands, cut at PER_SHAPE."""
    found: list[bytes] = []
    step = 2 * LONG
    for start in range(0, len(line), step - OVERLAP):
        piece = line[start : start + step]
        if _whole().search(_cleaned(_shape(piece)) if _NEEDS_CLEANING.search(piece) else _shape(piece)):
            found.append(piece)
            if len(found) == PER_SHAPE:
                break
    return found


# --- whole streams ----------------------------------------------------------------------------------


def blocks(
    stream: IO[bytes], progress: Callable[[int], None] | None = None, limit: int | None = None
) -> Iterator[bytes]:
    """The bytes of a stream, `limit` of them at most."""
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
    """The same blocks; at the end `tail` holds the last of them, KEPT_WHOLE bytes or more."""
    size = 0
    for block in source:
        tail.append(block)
        size += len(block)
        while size - len(tail[0]) >= KEPT_WHOLE:
            size -= len(tail.pop(0))
        yield block


def scan_stream(source: Iterable[bytes]) -> Scanned:
    """A whole text: its beginning, its end, and what can matter in between."""
    tail: list[bytes] = []
    result = scan(with_tail(source, tail))
    return Scanned(joined(result.kept, b"".join(tail), result.lines), result.lines)


def joined(kept: list[Kept], tail: bytes, lines: int) -> list[Kept]:
    """The kept lines with the whole end of the text after them; its first line is left out, since it may be cut."""
    tail = tail[-KEPT_WHOLE:]
    at = tail.find(b"\n") + 1
    tail = tail[at:]
    end = tail.count(b"\n") + (not tail.endswith(b"\n"))
    first = lines - end + 1
    if not at or first < 1:
        return kept
    return [pair for pair in kept if pair[0] < first] + list(_numbered(tail, first))
