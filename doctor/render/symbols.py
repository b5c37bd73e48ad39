"""Symbols and colours, and which of them the terminal and its encoding can show."""

from __future__ import annotations

import os
from typing import TextIO

SYMBOLS = {"error": "✗", "warning": "!", "info": "i", "good": "✓", "unknown": "?", "dot": "·", "cut": "…"}
PLAIN = {"error": "x", "warning": "!", "info": "i", "good": "+", "unknown": "?", "dot": "-", "cut": "..."}
"""The symbols for terminals whose encoding has only ASCII."""
STYLES = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;34",
    "good": "1;32",
    "unknown": "1;35",
    "heading": "1",
    "dim": "2",
    "place": "36",
    "code": "1;36",
}
"""The SGR parameters (ECMA-48) for each kind of text."""


def painted(text: str, style: str) -> str:
    """Return the text with the escapes of a style."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def wants_colour(stream: TextIO, choice: str) -> bool:
    """Whether to write colours. choice: the value of --color. If it is "auto", NO_COLOR decides, then
    FORCE_COLOR, then whether the stream is a terminal that can show colours."""
    if choice in ("always", "never"):
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    if not stream.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        return False
    if os.name == "nt":  # this console may print escape sequences as text
        from rich.console import detect_legacy_windows

        return not detect_legacy_windows()
    return True


def has_symbols(encoding: str | None) -> bool:
    """Whether an encoding contains the symbols; the legacy code pages of a Windows console do not."""
    try:
        "".join(SYMBOLS.values()).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
