"""Uses signatures to find facts in the input."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter

from doctor import lazy
from doctor.facts import EVIDENCE_LIMIT, Fact, Source
from doctor.logs.literals import Literals
from doctor.logs.signatures import Signature, index_of
from doctor.logs.text import Text, unwrap
from doctor.logs.windows import Lines, Window, Words

_WORD = lazy.compile(r"(?<![а-яё[\]-])[а-яё](?=[а-яё])")
"""Matches the first letter of a Cyrillic word in a pattern, except in a character class."""
_REPEAT = lazy.compile(
    r"(\\[dws]| |\))?(?:([*+])|\{(\d+),\})|\\.|\[\^?\]?(?:\\.|[^\]\\]){0,400}\]", re.DOTALL
)
"""Matches a quantifier without an upper limit (`*`, `+`, `{3,}`), together with the item before it if that
item is short. Other escapes and character classes match as a whole, so that nothing inside them counts as a
quantifier."""
_SHORT = {"\\d": 24, "\\w": 60, "\\s": 80, " ": 80, ")": 16}
MOST = 200
"""The upper limits for quantifiers that have none: _SHORT lists them by the repeated item, and MOST is the
limit for every other item. They keep the matching time linear in the length of the text."""


def bounded(pattern: str) -> str:
    """Return the pattern with an upper limit for every `*` and `+`: 24 digits, 60 letters, 80 spaces, 16
    groups, or 200 of any other item."""
    return _REPEAT.sub(_limited, pattern)


def _limited(found: re.Match[str]) -> str:
    atom, repeat, least = found.groups()
    if repeat is None and least is None:
        return found[0]
    return f"{atom or ''}{{{least or int(repeat == '+')},{_SHORT.get(atom, MOST)}}}"


@lru_cache(maxsize=None)
def _compiled(pattern: str) -> re.Pattern[str]:
    if not pattern.isascii() and any("а" <= letter <= "ё" for letter in pattern):
        # only ASCII letters match in either case, but a Cyrillic word may begin a sentence
        pattern = _WORD.sub(lambda m: f"[{m[0]}{m[0].upper()}]", pattern)
    return re.compile(bounded(pattern), re.IGNORECASE | re.MULTILINE | re.ASCII)


BEGINNING = 12
"""The maximum number of characters that may precede a message on its line, such as a bullet, a number or the
name of an error class."""
ENDING = 80
"""The maximum number of characters that may follow the message; if there are more, a person may have
continued the line."""


class _Index:
    """Finds the signatures whose words occur in the input."""

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self.signatures = signatures
        self.index = index = index_of(signatures)
        logged = Literals((index.words[number] for number in index.logged), index.logged)
        self.words = Words(Literals(index.words), logged)
        self.near = list(map(frozenset, index.near))
        self.serves: defaultdict[int, int] = defaultdict(int)
        """For each word, the sets of near words that contain it, as a bit mask with one bit for each set."""
        for place, several in enumerate(index.near):
            for number in several:
                self.serves[number] |= 1 << place
        self.needs = [sum(1 << place for place in needs) for needs in index.needs]

    def hits(self, text: str, lower: str) -> Iterator[tuple[Signature, list[Window]]]:
        """Yield each signature that has a literal in the text, in catalogue order, with the windows to
        search.

        lower: the same text in lower case.
        """
        lines = Lines(text, lower, self.words)
        index = self.index
        words = lines.words()
        served = 0
        for number in words & self.serves.keys():
            served |= self.serves[number]
        lacking = ~served
        leading: defaultdict[tuple[int, bool], list[int]] = defaultdict(list)
        for unlogged, users, present in (
            (False, index.users, words),
            (True, index.unlogged, lines.unlogged()),
        ):
            for number in present:
                for which in users[number]:
                    if not self.needs[which] & lacking:
                        leading[which, unlogged].append(number)
        for which, unlogged in sorted(leading):
            near = [self.near[place] for place in index.needs[which]]
            windows = lines.windows(leading[which, unlogged], near, index.lines[which], unlogged)
            if windows:
                yield self.signatures[which], windows


_index: _Index | None = None


def _index_of(signatures: Sequence[Signature]) -> _Index:
    """Return the index for these signatures. The index for the catalogue is built only once."""
    global _index
    if _index is None or _index.signatures is not signatures:
        _index = _Index(signatures)
    return _index


def quote(text: str, start: int) -> str:
    """Return the line in which a match begins, without surrounding white space, to quote as evidence. A long
    line is shortened to the part around the match, and "…" marks the cuts. start: the offset of the match."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    last = len(text) if last < 0 else last
    if last - first <= EVIDENCE_LIMIT:
        return text[first:last].strip()
    left = max(first, start - 80)
    right = min(last, left + EVIDENCE_LIMIT - 2)
    return f"{'…' if left > first else ''}{text[left:right].strip()}{'…' if right < last else ''}"


_QUOTES = str.maketrans("‘’“”´＇：（）\u00a0\u3000", "''\"\"'':()  ")
"""Maps each typographic character that word processors and input methods insert to the plain character that
programs print."""


def _search(text: Text, signatures: Sequence[Signature], printed: set[int]) -> list[tuple[int, Fact]]:
    """Return the facts found in the input as (offset, fact) pairs, ordered by offset. For `printed`, see
    `parse`."""
    body = text.text if text.text.isascii() else text.text.translate(_QUOTES)
    lower = body.lower()
    if len(lower) != len(body):  # offsets must agree, but a few letters change their length in lower case
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in body)
    found: list[tuple[int, Fact]] = []
    for signature, windows in _index_of(signatures).hits(body, lower):
        _take(found, signature, text, body, windows, printed)
    found.sort(key=itemgetter(0))
    return found


CROWD = 40
"""At most this many occurrences of one signature are read on one line. Further ones add nothing."""


def _take(
    found: list[tuple[int, Fact]],
    signature: Signature,
    text: Text,
    body: str,
    windows: Sequence[Window],
    printed: set[int],
) -> None:
    """Add the facts that one signature finds. Each occurrence counts once, even where windows overlap."""
    finditer = _compiled(signature.pattern).finditer
    at, once = signature.at, signature.once
    seen: set[int] = set()
    line_end, on_line = -1, 0
    for start, end in windows:
        for match in finditer(body, start, end):
            place = match.start()
            if place in seen:
                continue
            seen.add(place)
            if place >= line_end:
                line_end, on_line = body.find("\n", place) % (len(body) + 1), 0
            on_line += 1
            if on_line > CROWD:
                continue
            if at:
                place = signature.place(match)
            source = Source(text.name, text.number(place), quote(text.text, place))
            made = signature.fact(match, source)
            if made is None:
                continue
            begin = body.rfind("\n", 0, match.start()) + 1
            number = text.number(begin)  # the whole line counts, because it may have been wrapped
            if number is not None and _printed(signature, body, match, begin):
                printed.add(number)
            if isinstance(made, Fact):
                found.append((place, made))
            else:
                found += [(place, fact) for fact in made]
            if once:
                return


def _printed(signature: Signature, body: str, match: re.Match[str], start: int) -> bool:
    """Whether a program printed the line that contains a match: the message begins the line or is most of
    it."""
    if signature.unlogged:
        return False
    end = body.find("\n", match.end())
    size = (len(body) if end < 0 else end) - start
    if 2 * (match.end() - match.start()) > size:
        return True
    known = bool(signature.origin or signature.seen_in) and match.start() - start <= BEGINNING
    return known and size - (match.end() - start) < ENDING


def _key(fact: Fact) -> tuple[object, ...]:
    """Return a key that is equal for two facts with the same content, wherever they occur."""
    return (type(fact), *(getattr(fact, name) for name in fact.__slots__ if name != "source"))


def parse(text: Text, signatures: Sequence[Signature], printed: set[int] | None = None) -> list[Fact]:
    """Return all facts in the input, in line order, and add the numbers of the lines that a program printed
    to `printed`. A fact from the unwrapped text is added only if the original lines do not already give
    it."""
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
