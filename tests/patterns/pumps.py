"""Texts that make a backtracking search slow, made of a pattern's own pieces: what scripts/fuzz.py and the
tests pump."""

from __future__ import annotations

from collections.abc import Iterator

from tests.patterns.cost import literals, parser

FILLS = (" ", "9", "1.", "/", "a", "a ", "-")
"""White space, digits, separators of paths, letters, and what stands between versions."""
PIECES = 6
"""Pieces of a pattern, and places to cut its example, that are pumped."""


def words(pattern: str | bytes, flags: int = 0) -> list[str]:
    """What a pattern names letter by letter, the longest first."""
    found = literals(parser.parse(pattern, flags))
    return sorted(dict.fromkeys(found), key=len, reverse=True)[:PIECES]


def beginnings(text: str) -> list[str]:
    """A text, and what is left of it where it breaks off at a word, spread over its length."""
    cuts = [i for i, letter in enumerate(text) if i and (letter in " \t\n" or text[i - 1] in " =:/(.")]
    return [*(text[:i] for i in cuts[:: max(1, len(cuts) // PIECES)]), text]


def pumps(pieces: list[str], starts: list[str]) -> Iterator[tuple[str, str]]:
    """(what stands once, what is repeated behind it)."""
    for piece in pieces:
        yield "", piece
        yield "", piece + " "
    several = [*starts, *pieces[:3], ""]
    for start in dict.fromkeys(several):
        for fill in FILLS:
            yield start, fill


def pumped(start: str, piece: str, size: int) -> str:
    """A text of so many characters."""
    return start + (piece * (size // len(piece) + 1))[:size]
