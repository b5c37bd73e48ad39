"""A report as searchable text: cleaned lines with their line numbers in the input.

A `Text` is made from decoded text. It contains one string, joined from the cleaned lines, and finds the
number of the input line for every offset. One input line may become several cleaned lines (JSON with escaped
line ends, progress bars with carriage returns), and several input lines may become one (text wrapped by a
terminal).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.values import dataclass, field

if TYPE_CHECKING:
    from typing import TypeAlias

LINE_LIMIT = 20_000
"""The maximum length of a cleaned line. Longer input lines are cut into pieces that overlap by OVERLAP
characters."""
PIECES = 12
"""The maximum number of lines over which one record may be wrapped."""


@dataclass(frozen=True)
class Text:
    """Cleaned text with line numbers.

    name: the name of the input. text: the cleaned lines, joined by line feeds. total: the number of input
    lines.
    """

    name: str
    text: str
    total: int
    _starts: Sequence[int] = field(repr=False)
    _numbers: Sequence[int] = field(repr=False)

    @classmethod
    def plain(cls, name: str, text: str, total: int) -> Text | None:
        """Make a `Text` without cleaning, if no line needs cleaning, which is true of most input. Otherwise
        return None."""
        if "&" in text or "\\n" in text or not shown(text.replace("\n", "")):
            return None
        sizes = list(map(len, text.split("\n")))
        if max(sizes) > LINE_LIMIT:
            return None
        starts = list(accumulate((size + 1 for size in sizes[:-1]), initial=0))
        return cls(name, text, total, starts, range(1, len(sizes) + 1))

    @classmethod
    def of(cls, name: str, lines: Iterable[tuple[int, str]], total: int) -> Text:
        """Make a `Text` from (line number, cleaned line) pairs. total: the number of input lines."""
        several = list(lines)
        parts = [line for _, line in several]
        starts = list(accumulate((len(part) + 1 for part in parts[:-1]), initial=0)) if parts else []
        return cls(name, "\n".join(parts), total, starts, [number for number, _ in several])

    def margin(self) -> int:
        """Return the length of the longest line of several words; 0 if there is none."""
        return max((len(line) for _, line in self.lines() if " " in line.strip()), default=0)

    def number(self, offset: int) -> int | None:
        """Return the number (from 1) of the input line that contains this offset of `text`, or None if the
        text is empty."""
        return self._numbers[bisect_right(self._starts, offset) - 1] if self._starts else None

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (input line number, cleaned line) for every cleaned line. A joined line has the number of its
        first part."""
        lines = self.text.split("\n") if self._numbers else []
        if len(lines) == len(self._numbers):
            return zip(self._numbers, lines)
        starts = accumulate((len(line) + 1 for line in lines[:-1]), initial=0)
        return (
            (self._numbers[bisect_right(self._starts, start) - 1], line) for start, line in zip(starts, lines)
        )


_ASCII = bytes(range(0x20, 0x7F)) + b"\t"


def shown(line: str) -> bool:
    """Whether a line contains only printable characters and tabs."""
    if line.isascii():  # a table is faster than a test of each letter
        return not line.encode().translate(None, _ASCII)
    return line.isprintable() or ("\t" in line and line.replace("\t", "").isprintable())


RECORD = lazy.compile(
    r"^.{0,40}?(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|[IWEF]\d{4} \d\d:\d\d|\b[IWEF]"
    r" (?:tensorflow|external|\./tensorflow)[/\\])"
)
_BREAK = lazy.compile(r"^\s*(?:$|```|Traceback|File \"|>>>|[-*#|+=]{3}|\[\[|INFO:|WARNING:|ERROR:|Epoch )")


_PREFIX = lazy.compile(r"\d\d:\d\d:\d\d(?:\.\d{1,9})?: [IWEF]\s*$")
_FILE = lazy.compile(r"\s*(?:\./)?(?:tensorflow|external|xla)/\S+\.(?:cc|h|inc):\d+\]")
"""_PREFIX matches the time and severity of a record at the end of a line, and _FILE the file name at the
beginning of the next line. If both match, the record was wrapped between words."""

LEAST = 50
"""A line with fewer characters than this never counts as full."""
FULL = 85
"""A line counts as full if it fills at least this percentage of the terminal's width. It need not fill all of
it, because some programs indent wrapped lines."""
NEIGHBOURS = 8
"""The number of records before and after a record from which the terminal's width is estimated."""
WIDTHS = (72, 78, 79, 80, 100, 120, 132)
"""The usual default widths of terminals and editors."""
ALIKE, SEVERAL = 12, 3
"""If SEVERAL lines end within ALIKE characters of each other, they show the margin at which all lines were
wrapped."""

Lines: TypeAlias = "list[tuple[int, str]]"


def unwrap(text: Text, limit: int = 400) -> Text | None:
    """Return text that consists of the wrapped log records, each joined into one line, or None if nothing
    looks wrapped.

    TensorFlow prints each record on one line. A line without a prefix after a record may continue the record.
    It counts as a continuation if the record's first line is as full as the records around it, the next word
    did not fit on it, and something shows that it ended at a margin. The joined text is used only to find
    facts that the single lines do not show. At most `limit` records are joined.
    """
    lines = list(text.lines())
    records = [
        i
        for i, (_, line) in enumerate(lines)
        if (":" in line or "tensorflow" in line) and RECORD.match(line, 0, 200)
    ]
    alone = {
        i
        for i in records
        if i + 1 < len(lines) and _PREFIX.search(lines[i][1][-40:]) and _FILE.match(lines[i + 1][1][:160])
    }
    sizes = [len(lines[i + 1 if i in alone else i][1]) for i in records]
    broken: list[Lines] = []
    for which, first in enumerate(records):
        end = records[which + 1] if which + 1 < len(records) else len(lines)
        if end == first + 1 or sizes[which] < LEAST:
            continue
        width = max(sizes[max(0, which - NEIGHBOURS) : which + NEIGHBOURS + 1]) * FULL // 100
        start = first + 1 if first in alone else first
        pieces = _pieces(lines[start : min(end, first + PIECES)], width)
        if start != first:
            pieces.insert(0, lines[first])
        if len(pieces) > 1:
            broken.append(pieces)
    ends = sorted(len(piece) for pieces in broken for _, piece in pieces[:-1])
    return _joined(text, [pieces for pieces in broken if _wrapped(pieces, ends)][:limit])


def _wrapped(pieces: Lines, ends: list[int]) -> bool:
    """Whether a record was wrapped at a margin: its first line ends in the middle of a sentence, at a usual
    terminal width, or where other lines end too.

    ends: the lengths of all lines that may have been wrapped, ascending.
    """
    (_, before), (_, rest) = pieces[:2]
    if _PREFIX.search(before[-40:]):
        return True
    size, begins = len(before), rest.lstrip()
    if before.rstrip()[-1:] in ":,(" or begins[:1].islower() or begins[:1] in "'\"`/\\(,.;:)]}-_=":
        return True
    word = begins.split(maxsplit=1)[0] if begins else ""
    if not word.endswith(":") and any(size <= width <= size + len(word) for width in WIDTHS):
        return True
    return bisect_right(ends, size + ALIKE) - bisect_left(ends, size - ALIKE) >= SEVERAL


def _joined(text: Text, broken: list[Lines]) -> Text | None:
    """Join the records into one `Text`. Each piece keeps its own line number."""
    joined: list[str] = []
    starts: list[int] = []
    numbers: list[int] = []
    at = 0
    for pieces in broken:
        widest = max(len(piece) for _, piece in pieces[:-1])
        between_words = _PREFIX.search(pieces[0][1][-40:]) is not None
        for number, piece in pieces:
            padded = piece if len(piece) >= widest and not between_words else piece + " "
            starts.append(at)
            numbers.append(number)
            joined.append(padded)
            at += len(padded)
        joined.append("\n")
        at += 1
    return Text(text.name, "".join(joined), text.total, starts, numbers) if joined else None


def _pieces(lines: Lines, width: int) -> Lines:
    """Return the lines of one record: the first line, and each line that follows a full line."""
    pieces = lines[:1]
    for number, line in lines[1:]:
        place, before = pieces[-1]
        word = line.split(maxsplit=1)[:1]
        if number > place + 1:  # the lines between them were left out
            break
        if len(before) < LEAST or _BREAK.match(line[:40]) or len(before) + 1 + len("".join(word)) <= width:
            break
        pieces.append((number, line))
    return pieces
