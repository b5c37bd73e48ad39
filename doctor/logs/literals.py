"""Which literals stand where in a text: one pass over it for all of them (Aho and Corasick's automaton).

In: words, once; then texts of any length. Out: offsets, in time that grows with the text alone, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import ahocorasick

Hit = tuple[int, tuple[int, int]]
"""Where a word ends (the offset of its last letter); the word's number, and how far before that it begins."""


class Literals:
    """A search for many words at once; each is known by its number in the order given.

    numbers: other numbers for them, where they are some of the words of another search.
    """

    def __init__(self, words: Iterable[str], numbers: Mapping[str, int] | None = None) -> None:
        self.words = tuple(dict.fromkeys(words))
        self._automaton = ahocorasick.Automaton()
        for number, word in enumerate(self.words):
            self._automaton.add_word(word, (number if numbers is None else numbers[word], len(word) - 1))
        if self.words:
            self._automaton.make_automaton()

    def hits(self, text: str, start: int = 0, end: int | None = None) -> Iterator[Hit]:
        """Every occurrence between two offsets, in the order of their ends."""
        if not self.words:
            return iter(())
        found: Iterator[Hit] = self._automaton.iter(text, start, len(text) if end is None else end)
        return found
