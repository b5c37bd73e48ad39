"""Counts the letters of a script.

It compares characters, because compiling a regular expression with such wide ranges takes longer than reading
a short report.
"""

from __future__ import annotations

from collections.abc import Sequence

EAST_ASIAN = (("\u3040", "\u30ff"), ("\u3400", "\u9fff"), ("\uac00", "\ud7af"))
"""The first and the last letters of the scripts of Chinese, Japanese and Korean."""


def letters_in(text: str, ranges: Sequence[tuple[str, str]]) -> int:
    """Return the number of characters of a text in the ranges, each given by its first and last character.
    None of them is ASCII."""
    if text.isascii():
        return 0
    return sum(1 for letter in text if any(first <= letter <= last for first, last in ranges))
