"""Which literals stand where in a text: one pass over it for all of them (Aho and Corasick's automaton).

In: words, once; then texts of any length. Out: offsets, in time that grows with the text alone, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

try:
    from ahocorasick import Automaton
except ImportError:  # it is compiled, and not for every machine
    from doctor.logs.automaton import Automaton

if TYPE_CHECKING:
    from typing import TypeAlias

Hit: TypeAlias = "tuple[int, tuple[int, int]]"
"""Where a word ends (the offset of its last letter); the word's number, and how far before that it begins."""

SHORT = 1_500
"""Characters of a text for which each word is searched on its own: making the automaton takes longer than that."""
CALL = 150
"""What one such search costs beside the characters, in characters."""


class Literals:
    """A search for many words at once; each is known by its number in the order given.

    numbers: other numbers for them, where they are some of the words of another search.
    """

    def __init__(self, words: Iterable[str], numbers: Mapping[str, int] | None = None) -> None:
        self.words = tuple(dict.fromkeys(words))
        self._numbers = numbers
        self._automaton: Automaton | None = None
        self._left = 2 * SHORT
        """Characters that are still searched for each word on its own, in however many short texts."""

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

    def _number(self, word: str, place: int) -> int:
        return place if self._numbers is None else self._numbers[word]

    def _made(self) -> Automaton:
        automaton = Automaton()
        for place, word in enumerate(self.words):
            automaton.add_word(word, (self._number(word, place), len(word) - 1))
        automaton.make_automaton()
        return automaton

    def _one_by_one(self, text: str, start: int, end: int) -> list[Hit]:
        part = text[start:end]
        found: list[Hit] = []
        for place, word in enumerate(self.words):
            if word in part:
                known = (self._number(word, place), len(word) - 1)
                at = part.find(word)
                while at >= 0:
                    found.append((start + at + known[1], known))
                    at = part.find(word, at + 1)
        found.sort()
        return found
