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
    expected = {number: offsets(word, text) for number, word in enumerate(literals.words) if word in text}
    assert literals.places(text) == expected


@given(st.lists(LETTERS.filter(bool), max_size=8), LETTERS)
def test_occurrences_come_one_by_one_in_the_order_of_their_ends(words: list[str], text: str) -> None:
    literals = Literals(words)
    hits = list(literals.hits(text))
    assert {(n, at) for n, places in literals.places(text).items() for at in places} == set(hits)
    ends = [at + len(literals.words[number]) for number, at in hits]
    assert ends == sorted(ends)
