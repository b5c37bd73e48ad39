"""Reads pasted text: turns the bytes of a report into facts."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import IO, TYPE_CHECKING

from doctor import lazy
from doctor.facts import Fact, Facts, Prose
from doctor.logs.reader import NotText, decode, read as read_text, texts_of
from doctor.logs.text import Text

if TYPE_CHECKING:
    from doctor.logs.large import Progress

__all__ = ["NotText", "Text", "facts_of", "read", "read_stream"]

OURS = "tfgpu-doctor"
_COLUMNS = lazy.compile(
    r"\b(?:tensorflow|tf|python|cuda|cudnn|driver)\b[^\n\d]{1,40}\d[\w.]{0,12}(?: ?\||  |\t)[^\n\d]{0,40}\d",
    re.IGNORECASE,
)
"""Matches a row with a version for each of two machines."""
LARGE = 1 << 20
"""The largest report, in bytes, that is read whole. In a larger report, only the lines that can matter are
read.
"""
SHORT = 1 << 16
"""The number of bytes that are read first, because allocating LARGE bytes takes longer than reading most
reports."""


def facts_of(text: Text) -> Facts:
    """Return all facts in a text."""
    from doctor.logs.collectors import read_collected
    from doctor.logs.parse import parse
    from doctor.logs.signatures import catalogue

    ours: list[Fact] = []
    if OURS in text.text:
        from doctor.logs.own_reports import without_own_lines

        text, ours = without_own_lines(text)
    if "\n+" in text.text:
        from doctor.logs.changed import without_replaced

        text = without_replaced(text)
    if any(mark in text.text for mark in ("|", "  ", "\t")) and _COLUMNS.search(text.text):
        from doctor.logs.columns import of_failing_column

        text = of_failing_column(text)
    searched: list[Fact] = []
    if "grep" in text.text and "cudnn" in text.text:
        from doctor.logs.searches import without_cudnn

        searched = [*without_cudnn(text)]
    printed: set[int] = set()
    text, collected = read_collected(text, printed)
    facts = parse(text, catalogue(), printed)
    known = [*ours, *searched, *collected, *facts]
    if _written(text, printed):
        # imported here: the patterns for sentences are needed only if a person wrote some
        from doctor.logs.changed import after_changes
        from doctor.logs.mentioned import read_mentioned
        from doctor.logs.prose import read_prose, read_words

        said = [read_words(text), *read_prose(text, printed)] if not ours else []
        known += [*read_mentioned(text, printed, known), *said]
        known = [*after_changes(known, {n for fact in said if isinstance(fact, Prose) for n in fact.lines})]
    return Facts(tuple(known), "report", text.name, text.total)


def _written(text: Text, printed: Collection[int]) -> bool:
    """Whether a person may have written at least one line of a text. printed: the numbers of the lines that a
    program printed."""
    from doctor.logs.windows import PRINTED

    return any(n not in printed and line.strip() and not PRINTED.match(line) for n, line in text.lines())


def read(data: bytes, name: str = "-") -> Facts:
    """Return all facts in the bytes of one report. Raises NotText for binary or empty input."""
    text = read_text(data, name)
    if OURS in text.text:
        from doctor.logs.own_reports import read_own

        own = read_own(decode(data), name)
        if own is not None:
            return own
    if text.text.lstrip()[:1] in ("{", "["):
        from doctor.logs.collectors.documents import read_document

        document = read_document(decode(data), name)
        if document is not None:
            return document
        text = texts_of(decode(data), name) or text
    return facts_of(text)


def read_stream(
    stream: IO[bytes], name: str = "-", progress: Progress | None = None, *, processes: bool = False
) -> Facts:
    """Return all facts in a report of any size, read in constant memory. progress: for a large report, called
    with the number of bytes read since its last call. processes: whether several processes may read a large
    file.

    Raises NotText for binary or empty input.
    """
    head = stream.read(SHORT)
    if len(head) == SHORT:
        head += stream.read(LARGE + 1 - SHORT)
    if len(head) <= LARGE:
        return read(head, name)
    from doctor.logs.large import read_large

    return facts_of(read_large(head, stream, name, progress, processes=processes))
