"""One pass finds every word of a list, wherever it stands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.logs.literals import Literals

LETTERS = st.text("abAB 崩\n", max_size=40)


def offsets(word: str, text: str) -> list[int]:
    return [at for at in range(len(text)) if text.startswith(word, at)]


@given(st.lists(LETTERS.filter(bool), max_size=8), LETTERS)
def test_every_occurrence_of_every_word_is_found_overlapping_ones_too(words: list[str], text: str) -> None:
    literals = Literals(words)
    found = [(number, end - before) for end, (number, before) in literals.hits(text)]
    assert sorted(found) == sorted((n, at) for n, word in enumerate(literals.words) for at in offsets(word, text))


@given(st.lists(LETTERS.filter(bool), max_size=8), LETTERS)
def test_occurrences_come_one_by_one_in_the_order_of_their_ends(words: list[str], text: str) -> None:
    ends = [end for end, _ in Literals(words).hits(text)]
    assert ends == sorted(ends)
