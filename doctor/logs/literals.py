"""Finds many literals in a string in one pass (with the Aho-Corasick automaton).

Make a `Literals` object once from the words. It then finds their offsets in any string, in time that is
linear in the length of the string.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

    from doctor.logs.automaton import Automaton

Hit: TypeAlias = "tuple[int, tuple[int, int]]"
"""A match: the offset of the word's last letter, the word's number, and the number of letters before the
last."""

SHORT = 1_500
"""In a string of at most this many characters, each word is searched for separately, because building the
automaton takes longer."""
CALL = 150
"""The fixed cost of one separate search, expressed in characters."""


def _automaton() -> Automaton:
    """Return a new automaton."""
    try:
        from ahocorasick import Automaton as Compiled
    except ImportError:  # a compiled package, which some machines do not have
        from doctor.logs.automaton import Automaton

        return Automaton()
    made: Automaton = Compiled()
    return made


class Literals:
    """A search for many words at once. The number of a word is its position.

    numbers: the numbers to report instead, for words that are a subset of the words of another search.
    """

    def __init__(self, words: Iterable[str], numbers: Sequence[int] | None = None) -> None:
        self.words = tuple(dict.fromkeys(words))
        self._numbers = numbers
        self._automaton: Automaton | None = None
        self._left = 2 * SHORT
        """The number of characters of short strings that will still be searched word by word."""

    def hits(self, text: str, start: int = 0, end: int | None = None) -> Iterator[Hit]:
        """Yield every occurrence of a word between two offsets, in the order in which the occurrences end."""
        if not self.words:
            return iter(())
        end = len(text) if end is None else end
        if self._automaton is None:
            self._left -= CALL + end - start
            if len(text) <= SHORT and self._left >= 0:
                return iter(self._one_by_one(text, start, end))
            self._automaton = self._made()
        found: Iterator[Hit] = self._automaton.iter(text, start, end)
        return found

    def _number(self, place: int) -> int:
        return place if self._numbers is None else self._numbers[place]

    def _made(self) -> Automaton:
        automaton = _automaton()
        for place, word in enumerate(self.words):
            automaton.add_word(word, (self._number(place), len(word) - 1))
        automaton.make_automaton()
        return automaton

    def _one_by_one(self, text: str, start: int, end: int) -> list[Hit]:
        part = text[start:end]
        found: list[Hit] = []
        for place, word in enumerate(self.words):
            if word in part:
                known = (self._number(place), len(word) - 1)
                at = part.find(word)
                while at >= 0:
                    found.append((start + at + known[1], known))
                    at = part.find(word, at + 1)
        found.sort()
        return found
