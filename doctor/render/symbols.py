"""Decides which symbols and colours to use: those that the terminal and its encoding can show."""

from __future__ import annotations

import os
from typing import TextIO

SYMBOLS = {"error": "✗", "warning": "!", "info": "i", "good": "✓", "unknown": "?", "dot": "·", "cut": "…"}
PLAIN = {"error": "x", "warning": "!", "info": "i", "good": "+", "unknown": "?", "dot": "-", "cut": "..."}
"""The symbols for terminals whose encoding has only ASCII."""


def wants_colour(stream: TextIO, choice: str) -> bool:
    """Whether to write colours. --color decides; without it, NO_COLOR decides, then FORCE_COLOR, then whether
    the terminal can show colours."""
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
    """Whether an encoding contains the symbols (the legacy code page of a Windows console does not)."""
    try:
        "".join(SYMBOLS.values()).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
