"""Text and signatures in, facts out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from doctor.facts import EVIDENCE_LIMIT, Fact, Source
from doctor.logs.signatures.signature import Signature
from doctor.logs.text import Text, unwrap

WINDOW = 1_500
"""Characters around a literal that a pattern may look at, so that no input can make a pattern slow."""
LONG_TEXT = 50_000
"""Letters from which on one search for each literal is quicker than one expression for all."""
HITS = 300
"""Occurrences of one literal that are read; more say nothing new."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.ASCII)


def _window(text: str, at: int, lines: int) -> tuple[int, int]:
    """The part of `text` with `lines` lines before and after offset `at`, cut to WINDOW characters a line."""
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
    """Which literals of a catalogue stand in a text.

    Searching for each of a thousand is the quickest way for one report. For many reports a single expression that
    shares the literals' beginnings is, once it is compiled (`prepare`).
    """

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self.signatures = signatures
        self.literals = tuple(dict.fromkeys(literal for s in signatures for literal in s.literals))
        self.beginnings: re.Pattern[str] | None = None
        self.groups: dict[str, list[str]] = {}

    def prepare(self) -> None:
        """Compile the expression, and list the literals that begin with each of its words."""
        words = set(self.literals)
        shortest = {w for w in words if not any(w[:n] in words for n in range(1, len(w)))}
        for word in words:
            start = next(word[:n] for n in range(1, len(word) + 1) if word[:n] in shortest)
            self.groups.setdefault(start, []).append(word)
        trie: dict[str, dict] = {}  # type: ignore[type-arg]
        for word in shortest:
            node = trie
            for letter in word:
                node = node.setdefault(letter, {})

        def source(node: dict[str, dict]) -> str:  # type: ignore[type-arg]
            branches = [re.escape(letter) + source(child) for letter, child in sorted(node.items())]
            return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})" if branches else ""

        self.beginnings = re.compile(f"(?=({source(trie)}))")

    def present(self, lower: str) -> set[str]:
        """The literals that stand in a text of lower-case letters."""
        if self.beginnings is None or len(lower) > LONG_TEXT:
            return {literal for literal in self.literals if literal in lower}
        starts = set(self.beginnings.findall(lower))
        return {literal for start in starts for literal in self.groups[start] if literal in lower}


_index: _Index | None = None


def _index_of(signatures: Sequence[Signature]) -> _Index:
    """The index, kept for the catalogue, which is always the same."""
    global _index
    if _index is None or _index.signatures is not signatures:
        _index = _Index(signatures)
    return _index


def prepare(signatures: Sequence[Signature]) -> None:
    """Spend a quarter of a second so that each of many reports is read faster."""
    _index_of(signatures).prepare()


def _occurrences(text: str, lower: str, signature: Signature, present: set[str]) -> Iterator[re.Match[str]]:
    """Every match of a signature, once; `present` are the literals that stand in the text."""
    seen: set[int] = set()
    for literal in signature.literals:
        if literal not in present:
            continue
        at = lower.find(literal)
        for _ in range(HITS):
            if at < 0:
                break
            start, end = _window(text, at, signature.lines)
            for match in _compiled(signature.pattern).finditer(text, start, end):
                if match.start() not in seen:
                    seen.add(match.start())
                    yield match
            at = lower.find(literal, max(at + 1, min(end, at + WINDOW)))


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
    present = _index_of(signatures).present(lower)
    for signature in signatures:
        if present.isdisjoint(signature.literals):
            continue
        for match in _occurrences(body, lower, signature, present):
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
