"""Reads the YAML that programs write, line by line, so that every value keeps its line number. It parses
block style and keeps flow style as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor import lazy
from doctor.backports import removeprefix
from doctor.plan.requested import without_comment

DEPTH = 40
"""The maximum number of levels to read; deeper levels are left out."""
_KEY = lazy.compile(
    r"(\"[^\"]{0,500}\"|'[^']{0,500}'|[^\s\"'#{\[&*!|>-][^#]{0,499}?|-[^\s:][^#:]{0,200}):(?:\s(.*))?$",
    re.DOTALL,
)
_SCALAR = lazy.compile(r"[|>][+-]?\d?[+-]?$")


class Entry(NamedTuple):
    """One value. path: the keys that lead to it; an item of a list has its line number as its key. value: ""
    if the value is in the lines below."""

    line: int
    text: str
    path: tuple[str | int, ...]
    value: str


def entries(lines: Sequence[str]) -> Iterator[Entry]:
    """Yield the values in the lines of a YAML file, in the order of the file."""
    stack: list[tuple[int, str | int]] = []  # a key in column n is level 2n, a dash 2n + 1
    scalar = -1
    for number, raw in enumerate(lines, 1):
        line = without_comment(raw).rstrip()
        body = line.lstrip(" ")
        if not body:
            continue
        column = len(line) - len(body)
        if scalar >= 0:
            if column > scalar:
                continue
            scalar = -1
        while body == "-" or body.startswith("- "):
            _keep(stack, 2 * column + 1)
            stack.append((2 * column + 1, number))
            inner = removeprefix(body, "-").lstrip(" ")
            column += len(body) - len(inner)
            body = inner
        if not body or len(stack) > DEPTH:
            continue
        key = _KEY.match(body)
        if key is None:
            yield Entry(number, line.strip(), tuple(k for _, k in stack), plain(body))
            continue
        _keep(stack, 2 * column)
        stack.append((2 * column, plain(key[1])))
        value = (key[2] or "").strip()
        if _SCALAR.match(value):
            scalar, value = column, ""
        yield Entry(number, line.strip(), tuple(k for _, k in stack), plain(value))


def _keep(stack: list[tuple[int, str | int]], level: int) -> None:
    """Remove the keys that do not lead to a value at this level."""
    while stack and stack[-1][0] >= level:
        stack.pop()


def plain(value: str) -> str:
    """Return a scalar without its quotes."""
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def listed(value: str) -> list[str]:
    """Return the items of a list in brackets, without their quotes."""
    return [plain(item) for item in value.strip("[] ").split(",") if item.strip()]
