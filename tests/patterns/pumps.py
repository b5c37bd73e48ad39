"""Makes texts from the pieces of a pattern that could slow down a backtracking search, for scripts/fuzz.py
and the tests."""

from __future__ import annotations

from collections.abc import Iterator

from tests.patterns.cost import literals, parser

FILLS = (" ", "9", "1.", "/", "a", "a ", "-")
"""White space, digits, path separators, letters, and separators of versions."""
PIECES = 6
"""The number of pieces of a pattern, and of places at which its example is cut, that are pumped."""


def words(pattern: str | bytes, flags: int = 0) -> list[str]:
    """Return the literal texts in a pattern, longest first."""
    found = literals(parser.parse(pattern, flags))
    return sorted(dict.fromkeys(found), key=len, reverse=True)[:PIECES]


def beginnings(text: str) -> list[str]:
    """Return a text and several beginnings of it, which end after words that are spread over its length."""
    cuts = [i for i, letter in enumerate(text) if i and (letter in " \t\n" or text[i - 1] in " =:/(.")]
    return [*(text[:i] for i in cuts[:: max(1, len(cuts) // PIECES)]), text]


def pumps(pieces: list[str], starts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (text that comes once, text that is repeated after it)."""
    for piece in pieces:
        yield "", piece
        yield "", piece + " "
    several = [*starts, *pieces[:3], ""]
    for start in dict.fromkeys(several):
        for fill in FILLS:
            yield start, fill


def pumped(start: str, piece: str, size: int) -> str:
    """Return a text of `size` characters: the start, and then the repeated piece."""
    return start + (piece * (size // len(piece) + 1))[:size]
