"""Tests that the quick checks, which keep long patterns from being compiled, leave out no text that a pattern
matches."""

from __future__ import annotations

import pytest

from doctor.logs import _COLUMNS, mentioned, prefixes
from doctor.logs.prose.scripts import EAST_ASIAN, letters_in
from doctor.logs.signatures.versions import spelling
from doctor.render import content
from tests.logs.proof import unproved

CARDS = (
    *(f"{family}{model}0" for family in ("10", "20", "30", "40", "50") for model in "56789"),
    *("950", "960", "970", "980", "1650", "1660", "h20", "t400", "t600", "v-100"),
)
"""Whatever the patterns for cards match contains one of these, in lower case."""


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (prefixes._PASSED_ON.pattern, tuple(mark.lower() for mark in prefixes._MARKS)),
        (mentioned._CARD.pattern, CARDS),
        (mentioned._NUMBER.pattern, CARDS),
        (mentioned._BARE_NUMBER.pattern, CARDS),
        (mentioned._NO_GPU.pattern, mentioned._DENYING),
        (mentioned._NO_GPU.pattern, ("gpu", "graphic", "cpu", "card")),
        (spelling._EARLIER.pattern, tuple(spelling._BEFORE_OUTCOME)),
        (spelling._OUTCOME.pattern, tuple(spelling._BEFORE_OUTCOME)),
        (_COLUMNS.pattern, ("|", "  ", "\t")),
        (content._ALSO.pattern, ("and ",)),
    ],
)
def test_every_match_contains_one_of_the_words(pattern: str, words: tuple[str, ...]) -> None:
    assert unproved(pattern, words) == []


def test_the_quick_check_for_cards_finds_each_of_them() -> None:
    assert all(mentioned._CARD_LIKE.search(f"my {card}") for card in CARDS)


@pytest.mark.parametrize(
    ("text", "count"), [("GPU", 0), ("Привет", 0), ("显卡不能用", 5), ("グラボ", 3), ("그래픽 GPU", 3)]
)
def test_east_asian_letters_are_counted(text: str, count: int) -> None:
    assert letters_in(text, EAST_ASIAN) == count


def test_lines_that_srun_and_cat_number_are_recognised_by_their_first_character() -> None:
    numbered = "\n".join(f"{task}: Could not load dynamic library" for task in range(4))
    assert prefixes.peeled(numbered) == "\n".join(["Could not load dynamic library"] * 4)
    listed = "\n".join(f"{line:6}\tTensorFlow 2.10.0" for line in range(1, 5))
    assert prefixes.peeled(listed) == "\n".join(["TensorFlow 2.10.0"] * 4)
