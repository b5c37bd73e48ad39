"""Which literals stand where in a text: one pass over it for all of them (Aho and Corasick's automaton).

In: words, once; then texts of any length. Out: offsets, in time that grows with the text alone, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import ahocorasick


class Literals:
    """A search for many words at once; each is known by its number in the order given."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(dict.fromkeys(words))
        self._automaton = ahocorasick.Automaton()
        for number, word in enumerate(self.words):
            self._automaton.add_word(word, (number, len(word) - 1))
        if self.words:
            self._automaton.make_automaton()

    def places(self, text: str) -> dict[int, list[int]]:
        """The offsets of every occurrence of every word that stands in the text, ascending; overlapping ones too."""
        found: dict[int, list[int]] = {}
        if not self.words:
            return found
        for end, (number, length) in self._automaton.iter(text):
            if number in found:
                found[number].append(end - length)
            else:
                found[number] = [end - length]
        return found

    def hits(self, text: str) -> Iterator[tuple[int, int]]:
        """Number and offset of every occurrence, in the order of their ends."""
        if self.words:
            for end, (number, length) in self._automaton.iter(text):
                yield number, end - length
