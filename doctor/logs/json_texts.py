"""Reads the text in JSON documents: the cells and outputs of Jupyter notebooks, and the strings of any other
document."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator

from doctor.logs.cleaning import clean


def cells_of(text: str) -> Iterator[tuple[int, str]] | None:
    """Return the lines of a Jupyter notebook's cells and outputs, with their line numbers in the JSON, or
    None for other text."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        return None
    return _cells(text, cells)


def _cells(text: str, cells: list[object]) -> Iterator[tuple[int, str]]:
    places = _places(text)
    at = 1
    for piece in _strings(cells):
        for part in piece.split("\n"):
            if not part.strip():
                continue
            lines = places.get(part, [at])
            following = bisect_left(lines, at)
            number = lines[min(following, len(lines) - 1)]
            at = max(at, number)
            yield number, clean(part)


def _places(text: str) -> dict[str, list[int]]:
    """Map each line inside the strings of a JSON document to the numbers of the document's lines that contain
    it, in ascending order."""
    decode = json.JSONDecoder().raw_decode
    found: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        at = line.find('"')
        while at >= 0:
            value, end = decode(line, at)
            for part in value.split("\n"):
                found.setdefault(part, []).append(number)
            at = line.find('"', end)
    return found


def _strings(cells: list[object]) -> Iterator[str]:
    """Yield the sources and outputs of notebook cells, in order."""
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        yield _joined(cell.get("source"))
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            if not isinstance(output, dict):
                continue
            yield _joined(output.get("text"))
            data = output.get("data")
            if isinstance(data, dict):
                yield _joined(data.get("text/plain"))
            yield _joined(output.get("traceback"), "\n")
            if output.get("ename"):
                yield f"{output.get('ename')}: {output.get('evalue')}"


def _joined(value: object, by: str = "") -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return by.join(part for part in value if isinstance(part, str))
    return ""


MOSTLY = 2 / 3
"""A JSON document counts as a report if strings of text make up at least this share of its values."""


def strings_of(text: str) -> str | None:
    """Return the text in the strings of a JSON document, such as the title and body of an issue, or None if
    the input is not JSON or consists mostly of other values."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    lines: list[str] = []
    size = total = 0
    left: list[tuple[str, object]] = [("", document)]
    while left:
        key, value = left.pop()
        if isinstance(value, dict):
            left += reversed(list(value.items()))
        elif isinstance(value, list):
            left += ((key, entry) for entry in reversed(value))
        elif isinstance(value, str) and (
            "\n" in value or value.count(" ") > 3 or (len(value) > 12 and not value.isascii())
        ):
            lines += (value, "")
            size += len(value)
            total += len(value)
        elif value is not None:
            lines.append(f"{key}: {value}")
            total += len(lines[-1])
    return "\n".join(lines) if size >= MOSTLY * total > 0 else None
