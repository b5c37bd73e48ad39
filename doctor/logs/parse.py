"""Text and signatures in, facts out."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import chain

from doctor.facts import EVIDENCE_LIMIT, Fact, Source
from doctor.logs.literals import Literals
from doctor.logs.signatures.signature import Signature
from doctor.logs.text import Text, unwrap

WINDOW = 1_500
"""Characters around a literal that a pattern may look at, so that no input can make a pattern slow."""
HITS = 300
"""Occurrences of one literal that are read; more say nothing new."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.ASCII)


Window = tuple[int, int]
"""Offsets between which a pattern is searched for."""


def _windows(text: str, places: list[int], lines: int) -> list[Window]:
    """The windows around the places of a literal, HITS at most; a place that the one before shows needs none."""
    found: list[Window] = []
    after = which = 0
    for _ in range(HITS):
        if places[which] < after:
            which = bisect_left(places, after, which)
            if which == len(places):
                break
        at = places[which]
        start, end = _window(text, at, lines)
        found.append((start, end))
        after = max(at + 1, min(end, at + WINDOW))
        which += 1
        if which == len(places):
            break
    return found


def _window(text: str, at: int, lines: int) -> Window:
    """The part of `text` with `lines` lines before and after offset `at`, cut to WINDOW characters a line."""
    if lines == 1:
        start = text.rfind("\n", max(0, at - WINDOW), at)
        end = text.find("\n", at + 1, at + WINDOW)
        return start + 1 if start >= 0 else max(0, at - WINDOW), end if end >= 0 else min(len(text), at + WINDOW)
    start = at
    for _ in range(lines):
        start = text.rfind("\n", max(0, at - WINDOW * lines), start)
        if start < 0:
            start = max(-1, at - WINDOW * lines)
            break
    start += 1
    end = at
    for _ in range(lines):
        end = text.find("\n", end + 1, at + WINDOW * lines)
        if end < 0:
            return start, min(len(text), at + WINDOW * lines)
    return start, end


class _Index:
    """Where the literals of a catalogue stand in a text, and so which of its signatures can match."""

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self.signatures = signatures
        self.literals = Literals(literal for signature in signatures for literal in signature.literals)
        numbers = {literal: number for number, literal in enumerate(self.literals.words)}
        self.numbers = [tuple(numbers[literal] for literal in signature.literals) for signature in signatures]
        self.users: list[list[int]] = [[] for _ in numbers]
        for which, needed in enumerate(self.numbers):
            for number in needed:
                self.users[number].append(which)

    def hits(self, text: str, lower: str) -> Iterator[tuple[Signature, Collection[Window]]]:
        """The signatures, in their order, of which a literal stands in a text, with the windows around its places.

        lower: the same text in lower-case letters.
        """
        places = self.literals.places(lower)
        known: dict[tuple[int, int], list[Window]] = {}
        for which in sorted({which for number in places for which in self.users[number]}):
            signature = self.signatures[which]
            windows: list[list[Window]] = []
            for number in self.numbers[which]:
                if number in places:
                    key = (number, signature.lines)
                    if key not in known:
                        known[key] = _windows(text, places[number], signature.lines)
                    windows.append(known[key])
            several: Collection[Window] = windows[0] if len(windows) == 1 else dict.fromkeys(chain.from_iterable(windows))
            if signature.near:
                several = [window for window in several if _near(signature.near, lower, window)]
            yield signature, several


def _near(words: tuple[str, ...], lower: str, window: Window) -> bool:
    """Whether one of these words stands in a window: far quicker to tell than whether a pattern matches there."""
    start, end = window
    return any(lower.find(word, start, end) >= 0 for word in words)


_index: _Index | None = None


def _index_of(signatures: Sequence[Signature]) -> _Index:
    """The index, kept for the catalogue, which is always the same."""
    global _index
    if _index is None or _index.signatures is not signatures:
        _index = _Index(signatures)
    return _index


def prepare(signatures: Sequence[Signature]) -> None:
    """Compile every pattern now, so that processes that are forked from this one need not."""
    _index_of(signatures)
    for signature in signatures:
        _compiled(signature.pattern)


def quote(text: str, start: int, end: int) -> str:
    """The line of a match as evidence: stripped, and cut around the match where it is long."""
    left = text.rfind("\n", 0, start) + 1
    right = text.find("\n", start)
    right = len(text) if right < 0 else right
    if right - left > EVIDENCE_LIMIT:
        left = max(left, start - 80)
        right = min(right, max(left + EVIDENCE_LIMIT, min(end, left + EVIDENCE_LIMIT)))
    return text[left:right].strip()


_QUOTES = str.maketrans("‘’“”´＇：（）\u00a0\u3000", "''\"\"'':()  ")
"""Typographic marks that word processors and input methods put for those that programs print; one for one."""


def _search(text: Text, signatures: Sequence[Signature]) -> Iterator[tuple[int, Fact]]:
    body = text.text if text.text.isascii() else text.text.translate(_QUOTES)
    lower = body.lower()
    if len(lower) != len(body):  # a few letters change their length in lower case; offsets must agree
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in body)
    for signature, windows in _index_of(signatures).hits(body, lower):
        if not windows:
            continue
        pattern = _compiled(signature.pattern)
        seen: set[int] = set()
        for start, end in windows:
            for match in pattern.finditer(body, start, end):
                if match.start() in seen:
                    continue
                seen.add(match.start())
                place = signature.place(match)
                source = Source(text.name, text.number(place), quote(text.text, place, match.end()))
                made = signature.fact(match, source)
                if made is None:
                    continue
                if isinstance(made, Fact):
                    yield place, made
                else:
                    yield from ((place, fact) for fact in made)


def _key(fact: Fact) -> tuple[object, ...]:
    """What makes two facts the same statement, wherever they stand."""
    return (type(fact), *(getattr(fact, name) for name in fact.__slots__ if name != "source"))


def parse(text: Text, signatures: Sequence[Signature]) -> list[Fact]:
    """All facts in a text, in the order of their lines.

    A fact that only the unwrapped text shows is taken where the lines as they stand do not state it.
    """
    found = sorted(_search(text, signatures), key=lambda item: item[0])
    facts = [fact for _, fact in found]
    wrapped = unwrap(text)
    if wrapped is not None:
        known = {_key(fact) for fact in facts}
        for _, fact in sorted(_search(wrapped, signatures), key=lambda item: item[0]):
            if _key(fact) not in known:
                known.add(_key(fact))
                facts.append(fact)
        facts.sort(key=lambda fact: fact.source.line or 0)
    return facts
