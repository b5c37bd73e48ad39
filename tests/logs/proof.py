"""Proves that every match of a pattern contains at least one of some given words.

The strings that a pattern can match are represented by a small set of abstract strings, in which GAP stands
for any text and DIGIT for a digit. The answer can be wrong in one direction only. If it says that every match
contains a word, this is true, provided that any white space counts as one space (two if the pattern requires
two).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    try:  # Python 3.11 and later
        from re import _constants as constants, _parser as parser
    except ImportError:
        import sre_constants as constants  # type: ignore[no-redef]
        import sre_parse as parser  # type: ignore[no-redef]

GAP, DIGIT = "\0", "\2"
_PROVED = "\1"
_MANY = 4096
"""At most this many abstract strings are followed. If there are more, only their ends are."""
_ENDS = 24
"""The number of characters that are kept of such an end."""
_CLASS = 24
"""At most this many characters of a class are followed one by one."""


def unproved(pattern: str, words: Iterable[str]) -> list[str]:
    """Return the abstract strings that the pattern may match although they contain none of the words. The
    list is empty if there is a proof."""
    return _Proof(words).of(parser.parse(pattern, re.IGNORECASE | re.MULTILINE | re.ASCII))


class _Proof:
    def __init__(self, words: Iterable[str]) -> None:
        known = set(words)
        known |= {
            w[:-1] + DIGIT
            for w in known
            if w[-1].isdigit() and all(w[:-1] + d in known for d in "0123456789")
        }
        self.word = re.compile("|".join(map(re.escape, sorted(known)))).search
        self.longest = max(map(len, known))

    def of(self, parsed: Sequence[tuple[Any, Any]]) -> list[str]:
        return sorted(self._sequence(parsed, whole=True) - {_PROVED})

    def _sequence(self, parsed: Sequence[tuple[Any, Any]], whole: bool = False) -> set[str]:
        found = {""}
        for operator, argument in parsed:
            following = self._one(operator, argument)
            found = {self._joined(a, b, whole) for a in found for b in following}
            if len(found) > _MANY:
                found = {s if s == _PROVED else GAP + s[-_ENDS:] for s in found}
                found = found if len(found) <= _MANY else {GAP}
        return found

    def _joined(self, before: str, after: str, whole: bool) -> str:
        if _PROVED in (before, after):
            return _PROVED
        text = before + after
        while GAP + GAP in text:
            text = text.replace(GAP + GAP, GAP)
        if self.word(text):
            return _PROVED
        first, last = text.find(GAP), text.rfind(GAP)
        if last < 0:
            return text
        if whole:  # nothing will precede it, so only its end can become part of a word
            return GAP + text[last + 1 :][-self.longest :]
        return text[: first + 1] + text[last + 1 :]

    def _one(self, operator: Any, argument: Any) -> set[str]:
        if operator is constants.LITERAL:
            return {chr(argument).lower()}
        if operator is constants.IN:
            return self._class(argument)
        if operator is constants.SUBPATTERN:
            return self._sequence(argument[3])
        if operator is constants.BRANCH:
            return set().union(*(self._sequence(branch) for branch in argument[1]))
        if operator in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            return self._repeated(*argument)
        if operator is constants.ASSERT and argument[0] == 1:  # the text of a lookahead follows
            return {s if s == _PROVED else s + GAP for s in self._sequence(argument[1])}
        if operator in (constants.AT, constants.ASSERT, constants.ASSERT_NOT):
            return {""}
        return {GAP}

    @staticmethod
    def _class(items: Sequence[tuple[Any, Any]]) -> set[str]:
        found: set[str] = set()
        for operator, argument in items:
            if operator is constants.LITERAL:
                found.add(chr(argument).lower())
            elif (operator, argument) in (
                (constants.CATEGORY, constants.CATEGORY_DIGIT),
                (constants.RANGE, (ord("0"), ord("9"))),
            ):
                found.add(DIGIT)
            elif operator is constants.RANGE and argument[1] - argument[0] < 10:
                found |= {chr(c).lower() for c in range(argument[0], argument[1] + 1)}
            elif (operator, argument) == (constants.CATEGORY, constants.CATEGORY_SPACE):
                found.add(" ")
            else:
                return {GAP}
        return found if len(found) <= _CLASS else {GAP}

    def _repeated(self, least: int, most: int, parsed: Sequence[tuple[Any, Any]]) -> set[str]:
        once = self._sequence(parsed)
        if once == {" "}:
            return {" " * min(least, 2)} if least else {"", " "}
        if most == 1:
            return once | ({""} if not least else set())
        if len(once) <= 6 and most <= 4 and _PROVED not in once:
            several, found = {""}, set() if least else {""}
            for times in range(1, most + 1):
                several = {a + b for a in several for b in once}
                found |= several if times >= least else set()
            return found
        if not least:
            return {"", GAP} if len(once) > 14 or _PROVED in once else {"", *once, *(s + GAP for s in once)}
        return once | {s if s == _PROVED else s + GAP + s for s in once}
