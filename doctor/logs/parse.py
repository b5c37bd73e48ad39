"""Text and signatures in, facts out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain

from doctor.facts import EVIDENCE_LIMIT, Fact, Source
from doctor.logs.literals import Literals
from doctor.logs.signatures.signature import Signature
from doctor.logs.text import Text, unwrap
from doctor.logs.windows import Lines, Window


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.ASCII)


class _Index:
    """The words of a catalogue, and which of its signatures need which."""

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self.signatures = signatures
        needed = ((signature.literals, *signature.near) for signature in signatures)
        self.words = Literals(chain.from_iterable(chain.from_iterable(needed)))
        numbers = {word: number for number, word in enumerate(self.words.words)}
        self.near = [
            tuple(frozenset(numbers[word] for word in several) for several in signature.near)
            for signature in signatures
        ]
        self.users: list[list[int]] = [[] for _ in numbers]
        for which, signature in enumerate(signatures):
            for word in dict.fromkeys(signature.literals):
                self.users[numbers[word]].append(which)

    def hits(self, text: str, lower: str) -> Iterator[tuple[Signature, list[Window]]]:
        """The signatures, in their order, of which a literal stands in a text, with the windows to look at.

        lower: the same text in lower-case letters.
        """
        lines = Lines(text, self.words.hits(lower))
        words = lines.words()
        leading: defaultdict[int, list[int]] = defaultdict(list)
        for number in words:
            for which in self.users[number]:
                leading[which].append(number)
        for which in sorted(leading):
            near = self.near[which]
            if not any(words.isdisjoint(several) for several in near):
                signature = self.signatures[which]
                yield signature, lines.windows(leading[which], near, signature.lines)


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
        for match in _matches(signature, body, windows):
            place = signature.place(match)
            source = Source(text.name, text.number(place), quote(text.text, place, match.end()))
            made = signature.fact(match, source)
            if made is None:
                continue
            if isinstance(made, Fact):
                yield place, made
            else:
                yield from ((place, fact) for fact in made)
            if signature.once:
                break


def _matches(signature: Signature, body: str, windows: Iterable[Window]) -> Iterator[re.Match[str]]:
    """Every occurrence once, although windows may overlap."""
    seen: set[int] = set()
    for start, end in windows:
        for match in _compiled(signature.pattern).finditer(body, start, end):
            if match.start() not in seen:
                seen.add(match.start())
                yield match


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
