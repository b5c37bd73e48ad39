"""Tests that every word in a list is found wherever it occurs: short texts are searched for each word
separately, longer texts in one pass."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from doctor.logs import automaton, literals
from doctor.logs.literals import SHORT, Literals

LETTERS = st.text("abAB 崩\n", max_size=40)
either_way = pytest.mark.parametrize("filling", ["", "." * SHORT], ids=["each on its own", "in one pass"])


@pytest.fixture(autouse=True, scope="module", params=["compiled", "plain"])
def _automaton(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the tests with the automaton from pyahocorasick, if it is installed, and with the tool's own."""
    made = automaton.Automaton if request.param == "plain" else pytest.importorskip("ahocorasick").Automaton
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(literals, "_automaton", made)
        yield


def offsets(word: str, text: str) -> list[int]:
    return [at for at in range(len(text)) if text.startswith(word, at)]


@either_way
@given(words=st.lists(LETTERS.filter(bool), max_size=8), text=LETTERS)
def test_every_occurrence_of_every_word_is_found_even_if_they_overlap(
    words: list[str], text: str, filling: str
) -> None:
    search = Literals(words)
    found = [(number, end - before) for end, (number, before) in search.hits(text + filling)]
    assert sorted(found) == sorted(
        (n, at) for n, word in enumerate(search.words) for at in offsets(word, text)
    )


@either_way
@given(words=st.lists(LETTERS.filter(bool), max_size=8), text=LETTERS)
def test_occurrences_are_yielded_in_the_order_of_their_ends(
    words: list[str], text: str, filling: str
) -> None:
    ends = [end for end, _ in Literals(words).hits(text + filling)]
    assert ends == sorted(ends)


@given(
    words=st.lists(LETTERS.filter(bool), max_size=8),
    text=LETTERS,
    cut=st.tuples(st.integers(0, 40), st.integers(0, 40)),
)
def test_part_of_a_text_gives_the_same_occurrences_either_way(
    words: list[str], text: str, cut: tuple[int, int]
) -> None:
    start, end = sorted(min(at, len(text)) for at in cut)
    numbers = [100 + n for n, _ in enumerate(dict.fromkeys(words))]
    short = list(Literals(words, numbers).hits(text, start, end))
    long = list(Literals(words, numbers).hits(text + "." * SHORT, start, end))
    assert sorted(short) == sorted(long)
    assert {number - 100 for _, (number, _) in short} <= set(range(len(numbers)))


def test_after_many_short_texts_the_search_is_in_one_pass() -> None:
    search = Literals(["ab", "b"])
    texts = ["ab " * 100] * 20
    assert all(len(list(search.hits(text))) == 200 for text in texts)
    assert search._automaton is not None
