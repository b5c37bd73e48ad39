"""Text that may be shown: nothing from a report or machine reaches a terminal or a page unsifted."""

from __future__ import annotations

import re

from doctor.logs.text import clean

_GAPS = re.compile(r"[ \t]{3,}")


def printable(text: str) -> str:
    """One line without escapes, control and direction characters; lone surrogates become question marks."""
    cleaned = clean(text.replace("\t", " "))
    return cleaned.encode("utf-8", "replace").decode("utf-8")


def block(text: str) -> list[str]:
    """Several lines, each printable (code keeps its indentation)."""
    return [printable(line) for line in text.split("\n")]


def cropped(text: str, width: int, needle: str = "") -> str:
    """One line of at most `width` characters; the cut part is marked, and `needle` stays in sight."""
    text = _GAPS.sub("  ", printable(text)).strip()
    if len(text) <= width:
        return text
    width = max(width, 8)
    at = text.find(needle) if needle else -1
    if at > width // 2:
        start = min(at - width // 4, len(text) - width + 2)
        return "…" + text[start : start + width - 2] + ("…" if start + width - 2 < len(text) else "")
    return text[: width - 1] + "…"
