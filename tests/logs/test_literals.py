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
def test_first_word_stands_in_the_text_and_is_empty_where_none_does(words: list[str], text: str) -> None:
    first = Literals(words).first(text)
    assert first in text
    assert bool(first) == any(word in text for word in words)
