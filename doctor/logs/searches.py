"""Reads commands that searched a list for cuDNN and printed other lines, but none about cuDNN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import EVIDENCE_LIMIT, Fact, Source, Symptom

if TYPE_CHECKING:
    from doctor.logs.text import Text

LONGEST = 300
"""At most this many characters of a line are read."""
_SEARCH = lazy.compile(
    r"\W{0,4}(?:\S{1,60}[$#>] {0,2})?(?:sudo )?(?:dpkg|apt|rpm|dnf|yum|pacman|ldconfig|conda|mamba|find|ls)\b"
    r"[^\n]{0,80}\|\s?[ef]?grep\b[^\n]{0,120}cudnn"
)
"""Matches the command of a search in a list of packages or libraries."""


def without_cudnn(text: Text) -> Iterator[Fact]:
    """Yield the symptom that cuDNN is absent for each such command."""
    asked: tuple[int, str] | None = None
    printed = 0
    for number, line in (*text.lines(), (0, "")):
        line = line[:LONGEST]
        if asked is not None and line.strip() and not line.lstrip().startswith(("$", "#", ">")):
            printed += 1
            if "cudnn" in line.lower():
                asked = None
            continue
        if asked is not None and printed:
            source = Source(text.name, asked[0], asked[1].strip()[:EVIDENCE_LIMIT])
            yield Symptom(source, "stated-absent", (("what", "cudnn"), ("looked", "a list")))
        asked, printed = ((number, line), 0) if _SEARCH.match(line) else (None, 0)
