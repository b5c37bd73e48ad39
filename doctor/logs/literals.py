"""Which literals stand where in a text: one pass over it for all of them (Aho and Corasick's automaton).

In: words, once; then texts of any length. Out: offsets, in time that grows with the text alone, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import ahocorasick

Hit = tuple[int, tuple[int, int]]
"""Where a word ends (the offset of its last letter); the word's number, and how far before that it begins."""


class Literals:
    """A search for many words at once; each is known by its number in the order given."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(dict.fromkeys(words))
        self._automaton = ahocorasick.Automaton()
        for number, word in enumerate(self.words):
            self._automaton.add_word(word, (number, len(word) - 1))
        if self.words:
            self._automaton.make_automaton()

    def hits(self, text: str) -> Iterator[Hit]:
        """Every occurrence, in the order of their ends."""
        found: Iterator[Hit] = self._automaton.iter(text) if self.words else iter(())
        return found
