"""Aho and Corasick's automaton in plain Python, for where the compiled one of pyahocorasick is not installed.

Efficient string matching: an aid to bibliographic search (Communications of the ACM 18, 1975). The time of a search
grows with the text and with what is found alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any


class Automaton:
    """The part of `ahocorasick.Automaton` that is used here, in the same words."""

    def __init__(self) -> None:
        self._next: list[dict[str, int]] = [{}]
        """Of each state the states after it, by letter; the first is the start."""
        self._known: list[tuple[Any, ...]] = [()]
        """The values of the words that end in each state."""
        self._shorter: list[int] = [0]
        """The state of the longest end of what led to each state that is the beginning of a word, too."""

    def add_word(self, word: str, value: Any) -> None:
        """Search for a word, too; it is found as its value."""
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
        """Finish, once all words are there."""
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
        """(offset of the last letter, value) of every word that stands between two offsets, in the order of their ends."""
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
