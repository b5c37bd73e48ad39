"""Cleans the lines of decoded text: removes terminal escapes and control characters, and cuts lines that hold
several. Most input needs none of this (`Text.plain`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.logs.text import LINE_LIMIT, shown

OVERLAP = 500
STRING = 160
r"""A line of at most this many characters is never treated as a quoted string that holds multi-line text
(with its line breaks escaped as `\n`)."""

_ANSI = lazy.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)?|[@-Z\\-_])")
_SPACES = lazy.compile(r"[\n\r\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_ELEMENT = lazy.compile(r'\s*"(.*)\\n",?\s*')
"""Matches a line of text that is written as an element of a JSON list, as in part of a pasted notebook."""
_DOCKER = '{"log":"', '\\n","stream":"'
"""Matches the JSON that surrounds each line in Docker's own log files."""
_ESCAPE = lazy.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_ENDS = ('\\n",', '\\n"')
_ENTITY = lazy.compile(r"&(?:#\d{1,6}|#x[0-9a-fA-F]{1,5}|[a-zA-Z]{2,8});")


def _unescaped(entity: re.Match[str]) -> str:
    import html

    return html.unescape(entity[0])


def clean(line: str) -> str:
    """Return the line without terminal escapes, control characters and characters for the writing direction.
    HTML entities are decoded, and every kind of space becomes a plain space."""
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    if "&" in line:
        line = _ENTITY.sub(_unescaped, line)
    if not shown(line):
        line = _SPACES.sub(" ", line)
        if not shown(line):
            line = "".join(c for c in line if c.isprintable() or c == "\t")
    return line


def split(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, cleaned line) for every line of decoded text, with the numbers that an editor shows."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.endswith(_ENDS) or line.startswith(_DOCKER[0]):
            line = _element(line)
        if (
            len(line) <= LINE_LIMIT
            and "&" not in line
            and ("\\n" not in line or len(line) <= STRING)
            and shown(line)
        ):
            yield number, line  # most lines need no cleaning
            continue
        pieces = [piece for piece in line.split("\r") if piece] if "\r" in line else [line]
        for piece in pieces or [""]:
            yield from ((number, part) for part in _unescape(piece))


def _element(line: str) -> str:
    """Return the text inside a line that is an element of a JSON list. Return any other line unchanged."""
    before, after = _DOCKER
    if line.startswith(before) and after in line:
        inside = line[len(before) :].partition(after)[0]
    elif found := _ELEMENT.fullmatch(line):
        inside = found[1]
    else:
        return line
    return _ESCAPE.sub(_character, inside)


def _character(escape: re.Match[str]) -> str:
    return (
        chr(int(escape[1], 16)) if escape[1] else {"t": "\t", "n": "\r", "r": "\r"}.get(escape[2], escape[2])
    )


def _unescape(line: str) -> Iterator[str]:
    """Yield the lines that one line contains: a JSON or repr string that holds multi-line text is cut at each
    "\\n", and any part longer than LINE_LIMIT is cut into overlapping pieces."""
    if len(line) > STRING and (line.count("\\n") > 2 or ("\\n" in line and '": "' in line)):
        cut = line.replace("\\\\n", "\n").replace("\\r\\n", "\n").replace("\\n", "\n")
        parts = cut.replace("\\t", " ").replace('\\"', '"').split("\n")
    else:
        parts = [line]
    for part in parts:
        part = clean(part)
        if len(part) <= LINE_LIMIT:
            yield part
        else:
            for start in range(0, len(part), LINE_LIMIT - OVERLAP):
                yield part[start : start + LINE_LIMIT]
