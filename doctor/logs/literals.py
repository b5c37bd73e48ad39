"""Finds many literals in a text in one pass (the automaton of Aho and Corasick).

In: words, once; then texts of any length. Out: offsets, in time linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

try:
    from ahocorasick import Automaton
except ImportError:  # it is compiled, and not for every machine
    from doctor.logs.automaton import Automaton

if TYPE_CHECKING:
    from typing import TypeAlias

Hit: TypeAlias = "tuple[int, tuple[int, int]]"
"""A match: the offset of the word's last letter, the word's number, and its length up to that letter."""

SHORT = 1_500
"""Up to this many characters, each word is searched separately: building the automaton takes longer."""
CALL = 150
"""The fixed cost of one such search, expressed in characters."""


class Literals:
    """A search for many words at once; a word's number is its position.

    numbers: the numbers to use instead, if the words are a part of the words of another search.
    """

    def __init__(self, words: Iterable[str], numbers: Sequence[int] | None = None) -> None:
        self.words = tuple(dict.fromkeys(words))
        self._numbers = numbers
        self._automaton: Automaton | None = None
        self._left = 2 * SHORT
        """How many more characters of short texts are searched word by word."""

    def hits(self, text: str, start: int = 0, end: int | None = None) -> Iterator[Hit]:
        """Every occurrence between two offsets, in the order of their ends."""
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
        automaton = Automaton()
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
