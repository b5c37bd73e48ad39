"""Text and signatures in, facts out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from doctor.facts import EVIDENCE_LIMIT, Fact, Source
from doctor.logs.literals import Literals
from doctor.logs.signatures.signature import Signature
from doctor.logs.text import Text, unwrap
from doctor.logs.windows import Lines, Window, Words

if TYPE_CHECKING:
    from typing import TypeAlias

_WORD = re.compile(r"(?<![а-яё[\]-])[а-яё](?=[а-яё])")
"""The first letter of a Cyrillic word in a pattern, outside a class of characters."""


_REPEAT = re.compile(r"(\\[dws]| |\))?(?:([*+])|\{(\d+),\})|\\.|\[\^?\]?(?:\\.|[^\]\\]){0,400}\]", re.DOTALL)
"""A repeat without a limit, with what it repeats where that is short; other escapes and classes are passed over."""
_SHORT = {"\\d": 24, "\\w": 60, "\\s": 80, " ": 80, ")": 16}
MOST = 200
"""How often a repeat that names no limit may occur, so that no pattern's time grows faster than the text."""


def bounded(pattern: str) -> str:
    """A pattern in which `*` and `+` have a limit: 24 digits, 60 letters, 80 spaces, 16 groups, 200 of a class."""
    return _REPEAT.sub(_limited, pattern)


def _limited(found: re.Match[str]) -> str:
    atom, repeat, least = found.groups()
    if repeat is None and least is None:
        return found[0]
    return f"{atom or ''}{{{least or int(repeat == '+')},{_SHORT.get(atom, MOST)}}}"


@lru_cache(maxsize=None)
def _compiled(pattern: str) -> re.Pattern[str]:
    if not pattern.isascii():  # without case is ASCII's only: a Cyrillic word may begin a sentence
        pattern = _WORD.sub(lambda m: f"[{m[0]}{m[0].upper()}]", pattern)
    return re.compile(bounded(pattern), re.IGNORECASE | re.MULTILINE | re.ASCII)


def _logged(signature: Signature) -> Iterator[tuple[str, ...]]:
    """Its words that count where they stand in a record of a log: beside one, the near ones of an unlogged one do."""
    if not signature.unlogged:
        yield signature.literals
    if not signature.unlogged or signature.lines > 1:
        yield from signature.near


BEGINNING = 12
"""Characters before a message at the beginning of its line: a mark, a number, the name of an error's class."""
ENDING = 80
"""Characters after it: where more follow, somebody may have written on."""

User: TypeAlias = "tuple[int, int]"
"""A signature's number, and a bit for each set of near words that it needs."""


class _Index:
    """The words of a catalogue, and which of its signatures need which."""

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self.signatures = signatures
        needed = ((signature.literals, *signature.near) for signature in signatures)
        everywhere = Literals(chain.from_iterable(chain.from_iterable(needed)))
        numbers = {word: number for number, word in enumerate(everywhere.words)}
        logged = chain.from_iterable(map(_logged, signatures))
        self.words = Words(everywhere, Literals(chain.from_iterable(logged), numbers))
        self.near = [
            tuple(frozenset(numbers[word] for word in several) for several in signature.near)
            for signature in signatures
        ]
        sets = {several: 1 << i for i, several in enumerate(dict.fromkeys(chain.from_iterable(self.near)))}
        self.serves: dict[int, int] = defaultdict(int)
        """The sets of near words that a word is in, a bit a set."""
        for several, bit in sets.items():
            for number in several:
                self.serves[number] |= bit
        self.users: dict[int, list[User]] = defaultdict(list)
        self.unlogged: dict[int, list[User]] = defaultdict(list)
        """Which signatures a word leads to, and the sets of near words that each of them needs."""
        for which, signature in enumerate(signatures):
            users = self.unlogged if signature.unlogged else self.users
            needs = sum(sets[several] for several in set(self.near[which]))
            for word in dict.fromkeys(signature.literals):
                users[numbers[word]].append((which, needs))

    def hits(self, text: str, lower: str) -> Iterator[tuple[Signature, list[Window]]]:
        """The signatures, in their order, of which a literal stands in a text, with the windows to look at.

        lower: the same text in lower-case letters.
        """
        lines = Lines(text, lower, self.words)
        words = lines.words()
        serves = self.serves
        served = 0
        for number in words & serves.keys():
            served |= serves[number]
        lacking = ~served
        leading: defaultdict[int, list[int]] = defaultdict(list)
        for users, present in ((self.users, words), (self.unlogged, lines.unlogged())):
            for number in present & users.keys():
                for which, needs in users[number]:
                    if not needs & lacking:
                        leading[which].append(number)
        for which in sorted(leading):
            signature = self.signatures[which]
            windows = lines.windows(leading[which], self.near[which], signature.lines, signature.unlogged)
            if windows:
                yield signature, windows


_index: _Index | None = None


def _index_of(signatures: Sequence[Signature]) -> _Index:
    """The index, kept for the catalogue, which is always the same."""
    global _index
    if _index is None or _index.signatures is not signatures:
        _index = _Index(signatures)
    return _index


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


def _search(text: Text, signatures: Sequence[Signature], printed: set[int]) -> list[tuple[int, Fact]]:
    """The facts of a text with their places, in the order of these; see `parse` for `printed`."""
    body = text.text if text.text.isascii() else text.text.translate(_QUOTES)
    lower = body.lower()
    if len(lower) != len(body):  # a few letters change their length in lower case; offsets must agree
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in body)
    found: list[tuple[int, Fact]] = []
    for signature, windows in _index_of(signatures).hits(body, lower):
        _take(found, signature, text, body, windows, printed)
    found.sort(key=itemgetter(0))
    return found


def _take(
    found: list[tuple[int, Fact]],
    signature: Signature,
    text: Text,
    body: str,
    windows: Sequence[Window],
    printed: set[int],
) -> None:
    """Add what one signature says: every occurrence once, although windows may overlap."""
    finditer = _compiled(signature.pattern).finditer
    at, once = signature.at, signature.once
    seen: set[int] = set()
    for start, end in windows:
        for match in finditer(body, start, end):
            place = match.start()
            if place in seen:
                continue
            seen.add(place)
            if at:
                place = signature.place(match)
            source = Source(text.name, text.number(place), quote(text.text, place, match.end()))
            made = signature.fact(match, source)
            if made is None:
                continue
            if source.line is not None and _printed(signature, body, match):
                printed.add(source.line)
            if isinstance(made, Fact):
                found.append((place, made))
            else:
                found += [(place, fact) for fact in made]
            if once:
                return


def _printed(signature: Signature, body: str, match: re.Match[str]) -> bool:
    """Whether a program printed the line: its message begins it, or is most of it."""
    if signature.unlogged:
        return False
    start = body.rfind("\n", 0, match.start()) + 1
    end = body.find("\n", match.end())
    size = (len(body) if end < 0 else end) - start
    if 2 * (match.end() - match.start()) > size:
        return True
    known = bool(signature.origin or signature.seen_in) and match.start() - start <= BEGINNING
    return known and size - (match.end() - start) < ENDING


def _key(fact: Fact) -> tuple[object, ...]:
    """What makes two facts the same statement, wherever they stand."""
    return (type(fact), *(getattr(fact, name) for name in fact.__slots__ if name != "source"))


def parse(text: Text, signatures: Sequence[Signature], printed: set[int] | None = None) -> list[Fact]:
    """All facts in a text, in the order of their lines.

    printed: is given the numbers of the lines that a program printed.

    A fact that only the unwrapped text shows is taken where the lines as they stand do not state it.
    """
    printed = set() if printed is None else printed
    facts = [fact for _, fact in _search(text, signatures, printed)]
    wrapped = unwrap(text)
    if wrapped is not None:
        known = {_key(fact) for fact in facts}
        for _, fact in _search(wrapped, signatures, printed):
            if _key(fact) not in known:
                known.add(_key(fact))
                facts.append(fact)
        facts.sort(key=lambda fact: fact.source.line or 0)
    return facts
