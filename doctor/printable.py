"""Makes text safe to show: afterwards, nothing in the text can control a terminal, reverse the direction of
writing or be invisible.

Reports come from strangers, and file names may contain any character.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any, TextIO

from doctor import lazy

_ESCAPES = lazy.compile(
    r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]?|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)?|[ -/]{0,4}[0-~])"
)
_SPACES = lazy.compile(r"[\t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_LINE_ENDS = lazy.compile(r"\r\n|[\r\n\x0b\x0c\x85\u2028\u2029]")


def _shown(text: str) -> str:
    """Return one line without characters that are not printable (controls, zero-width, bidirectional,
    surrogates)."""
    if text.isprintable():
        return text
    text = _SPACES.sub(" ", _ESCAPES.sub("", text))
    return text if text.isprintable() else "".join(c for c in text if c.isprintable())


def line(text: str) -> str:
    """Return the text, made safe and joined into one line: line ends become spaces."""
    if text.isprintable():
        return text
    return _shown(_LINE_ENDS.sub(" ", text)).strip()


def block(text: str) -> str:
    """Return the text, made safe, with its lines kept: line ends become line feeds, and indentation stays."""
    if text.isprintable():
        return text
    return "\n".join(_shown(part.replace("\t", "    ")) for part in _LINE_ENDS.sub("\n", text).split("\n"))


def say(text: str, stream: TextIO | None = None, *, end: str = "\n", over: bool = False) -> None:
    """Write a message to a stream (default: standard error). Each line is made safe, and errors of the stream
    are ignored.

    over: replace the current line of the terminal.
    """
    stream = stream or sys.stderr
    if stream is None:
        return
    with contextlib.suppress(OSError, ValueError):  # closed or full; the exit code still states the result
        print(("\r\x1b[K" if over else "") + block(text), end=end, file=stream, flush=True)


def complain(message: str, hint: str = "") -> None:
    """Write an error to standard error on one line, followed by the hint, if any, on a second line."""
    say(f"tfgpu-doctor: {line(message)}")
    if hint:
        say(f"hint: {line(hint)}")


def as_json(value: Any, *, ascii_only: bool = False, indent: int | None = None) -> str:
    """Return the value as JSON in which unprintable characters are escaped, so that a terminal can show it
    safely."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" else "\\u007f" if c == "\x7f" else json.dumps(c)[1:-1] for c in text
    )
