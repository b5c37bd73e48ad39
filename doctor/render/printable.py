"""Text that may be shown: nothing in it can steer a terminal, turn the direction of writing or hide.

Reports are written by strangers, and file names on a machine may hold anything.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]?|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)?|[ -/]{0,4}[0-~])")
_SPACES = re.compile(r"[\t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_LINE_ENDS = re.compile(r"\r\n|[\r\n\x0b\x0c\x85\u2028\u2029]")


def _shown(text: str) -> str:
    """One line: every character that is not printable is gone (controls, zero-width, bidirectional, surrogates)."""
    if text.isprintable():
        return text
    text = _SPACES.sub(" ", _ESCAPES.sub("", text))
    return text if text.isprintable() else "".join(c for c in text if c.isprintable())


def line(text: str) -> str:
    """Text of one line; line ends become spaces."""
    if text.isprintable():
        return text
    return _shown(_LINE_ENDS.sub(" ", text)).strip()


def block(text: str) -> str:
    """Text of several lines, each made safe; line ends stay as line feeds, and indentation as it was."""
    if text.isprintable():
        return text
    return "\n".join(_shown(part.replace("\t", "    ")) for part in _LINE_ENDS.sub("\n", text).split("\n"))
