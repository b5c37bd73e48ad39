"""Reading pasted text: bytes in, facts out."""

from __future__ import annotations

from doctor.facts import Facts
from doctor.logs.reader import NotText
from doctor.logs.reader import read as read_text
from doctor.logs.text import Text

__all__ = ["NotText", "Text", "facts_of", "read"]


def facts_of(text: Text) -> Facts:
    """All facts that a text holds."""
    from doctor.logs.parse import parse
    from doctor.logs.signatures import catalogue

    return Facts(tuple(parse(text, catalogue())), "report", text.name, text.total)


def read(data: bytes, name: str = "-") -> Facts:
    """All facts in the bytes of one report. Raises NotText for binary or empty input."""
    return facts_of(read_text(data, name))
