"""Text as one argument of a shell, so that a printed command can be pasted."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[\w@%+=:,./-]+")
_UNSAFE_ON_WINDOWS = re.compile(r'["%$`!^&|\r\n]')


def posix(text: str) -> str:
    """One argument for sh, bash and zsh: bare where that is safe, else in single quotes."""
    if _PLAIN.fullmatch(text) and not text.startswith(("~", "=")):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def windows(text: str) -> str:
    """One argument for both cmd and PowerShell: double quotes. Raises ValueError for what the two read differently."""
    if _UNSAFE_ON_WINDOWS.search(text):
        raise ValueError(f"no quoting of {text!r} means the same to cmd and PowerShell")
    if re.fullmatch(r"[\w.+:/\\=-]+", text):
        return text
    return f'"{text}"'


def argument(text: str, kind: str) -> str:
    """One argument for the shell of a platform (linux, wsl, macos, windows)."""
    return windows(text) if kind == "windows" else posix(text)
