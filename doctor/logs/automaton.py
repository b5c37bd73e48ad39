"""The Aho-Corasick automaton in plain Python, used if the compiled package pyahocorasick is not installed.

Source: A. V. Aho, M. J. Corasick: Efficient string matching (Communications of the ACM 18, 1975). The time of
a search depends only on the length of the text and the number of matches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any


class Automaton:
    """The part of `ahocorasick.Automaton` that is used here, with the same interface."""

    def __init__(self) -> None:
        self._next: list[dict[str, int]] = [{}]
        """For each state, the next states by letter. The first state is the start."""
        self._known: list[tuple[Any, ...]] = [()]
        """For each state, the values of the words that end there."""
        self._shorter: list[int] = [0]
        """For each state, its failure link: the state of the longest proper suffix that is also a prefix of a
        word."""

    def add_word(self, word: str, value: Any) -> None:
        """Add a word to the search. A match of the word yields `value`."""
        state = 0
        for letter in word:
            after = self._next[state].get(letter)
            if after is None:
                after = self._next[state][letter] = len(self._next)
                self._next.append({})
                self._known.append(())
            state = after
        self._known[state] += (value,)

    def make_automaton(self) -> None:
        """Complete the automaton. Call this after adding all words."""
        shorter = self._shorter = [0] * len(self._next)
        waiting = deque(self._next[0].values())
        while waiting:
            state = waiting.popleft()
            self._known[state] += self._known[shorter[state]]
            for letter, after in self._next[state].items():
                end = shorter[state]
                while end and letter not in self._next[end]:
                    end = shorter[end]
                shorter[after] = self._next[end].get(letter, 0)
                waiting.append(after)

    def iter(self, text: str, start: int, end: int) -> Iterator[tuple[int, Any]]:
        """Yield (offset of the last letter, value) for every word between two offsets, in the order in which
        the words end."""
        following, known, shorter = self._next, self._known, self._shorter
        state = 0
        for at in range(start, end):
            letter = text[at]
            after = following[state].get(letter)
            while after is None and state:
                state = shorter[state]
                after = following[state].get(letter)
            state = after or 0
            for value in known[state]:
                yield at, value
