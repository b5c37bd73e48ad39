"""Tests that the search for words finds everything that a pattern can match: every match contains a literal,
and a word from each set of words that must be near it."""

from __future__ import annotations

import pytest

from doctor.logs.signatures import catalogue
from tests.logs.proof import unproved
from tests.sampling import sampled


@pytest.mark.parametrize("part", sampled(range(9), 1))
def test_every_match_contains_a_literal_and_the_near_words(part: int) -> None:
    for number, signature in list(enumerate(catalogue()))[part::9]:
        for words in (signature.literals, *signature.near):
            found = unproved(signature.pattern, words)
            assert not found, f"{number} {signature.kind}: it matches {found}, which hold none of {words}"
            assert all(word == word.lower() and "\n" not in word for word in words), (number, signature.kind)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"killed|exit code \d+", ("killed",)),
        (r"out of (?:GPU )?memory", ("out of memory",)),
        (r"lib\w*cudnn", ("libcudnn",)),
        (r"driver [4-9]\d\d", ("driver 4", "driver 5")),
        (r"(?:no )?GPU", ("no gpu",)),
        (r"GPU\s{0,3}:", ("gpu :",)),
    ],
)
def test_a_match_without_the_words_is_found(pattern: str, words: tuple[str, ...]) -> None:
    assert unproved(pattern, words)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"killed|exit code \d+", ("killed", "exit code ")),
        (r"out of (?:GPU )?memory", ("out of ",)),
        (r"driver \d{3}", tuple(f"driver {digit}" for digit in range(10))),
        (r"CUDA [^\n]{0,40}(?:works|helped)\b", ("works", "helped")),
        (r"[Cc]u(?:DNN|BLAS)\s+error", ("cudnn error", "cublas error")),
        (r"RAM(?=[ ,]).*full", ("ram ", "ram,")),
        (r"(?:a|b){2,3}x", ("aax", "abx", "bax", "bbx")),
    ],
)
def test_words_that_every_match_contains_are_proved(pattern: str, words: tuple[str, ...]) -> None:
    assert unproved(pattern, words) == []
