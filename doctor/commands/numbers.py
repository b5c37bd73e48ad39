"""Types for numeric command-line arguments."""

from __future__ import annotations

from collections.abc import Callable


def whole(low: int, high: int, what: str = "number") -> Callable[[str], int]:
    """Return a type for argparse that accepts a whole number from `low` to `high`. It raises
    argparse.ArgumentTypeError for any other text. what: the word for the number in that error."""

    def read(text: str) -> int:
        if not text.isdecimal() or len(text) > 18 or not low <= int(text) <= high:
            from argparse import ArgumentTypeError

            raise ArgumentTypeError(f"{text!r} is not a {what} from {low} to {high}")
        return int(text)

    return read


SECONDS = whole(1, 86400, "number of seconds")
"""The argparse type of a time limit: from one second to one day."""
