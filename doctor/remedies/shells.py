"""Text as one argument of a shell, so that a printed command can be pasted."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[\w@%+=:,./-]+")
_PLAIN_ON_WINDOWS = re.compile(r"[\w.+:/\\=-]+")


def posix(text: str) -> str:
    """One argument for sh, bash, zsh and fish: bare where that is safe, else in quotes that keep every character."""
    if _PLAIN.fullmatch(text) and not text.startswith(("~", "=")):
        return text
    if "'" in text and not re.search(r'["$`\\!]', text):
        return f'"{text}"'
    return "'" + text.replace("'", "'\\''") + "'"


def windows(text: str) -> str:
    """One argument for cmd and PowerShell alike: double quotes, in which neither reads < > & | ^ ( ) ! apart.

    What the two read differently inside them (% of cmd; $ and ` of PowerShell) is written for PowerShell, which a
    terminal of today starts, in single quotes. Line ends become spaces.
    """
    text = re.sub(r"[\r\n]+", " ", text)
    if re.search(r'["%$`]', text):
        return "'" + text.replace("'", "''") + "'"
    return text if _PLAIN_ON_WINDOWS.fullmatch(text) else f'"{text}"'


def argument(text: str, kind: str) -> str:
    """One argument for the shell of a platform (linux, wsl, macos, windows)."""
    return windows(text) if kind == "windows" else posix(text)
