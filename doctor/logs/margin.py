"""Undoes the wrapping of text by an editor, a mail program or a terminal.

`rejoined` joins the parts of each wrapped line; the joined line has the number of its first part. The input
was wrapped if no line of several words passes the margin, and if some lines end because the next word did not
fit. If only part of the input was wrapped, `rejoined` does not find the margin; doctor.logs.text.unwrap then
joins the records of a log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.logs.text import LINE_LIMIT, RECORD, WIDTHS, Text

if TYPE_CHECKING:
    from typing import TypeAlias

SEVERAL = 3
"""At least this many lines must end at a margin of an unusual width."""
MOST_LINES = 20_000
"""A text with more lines is not examined: it is not a message that somebody wrote."""
_OWN_LINE = lazy.compile(
    r"\s*(?:$|[|+│┃╭╰├└]|[-*•] |\d{1,3}[.)] |#{1,6} |[-=#*~_]{3}"
    r"|```|~~~|<|Traceback |File \"|>>>|\.\.\. |\$ |\[\[|\^|at \w|(?:INFO|WARNING|ERROR|DEBUG)\b ?[:\[-]"
    r"|Epoch \d|\w{1,40}(?:\.\w{1,40}){0,6}(?:Error|Exception|Warning): "
    r"|[A-Z][\w /()-]{1,40}: |[\w.-]{1,40}=|[\w.-]{2,40} {2,}\S)"
)
"""Matches the start of a line that never continues the previous one, such as a line of a table, list,
traceback, form or log."""
_ALWAYS_OWN = lazy.compile(r"(?:INFO|WARNING|ERROR|DEBUG)[: ]|Traceback \(|  File \"")
_BEFORE_CODE = lazy.compile(
    r"\", line \d{1,7}, in"
    r" \S{1,160}\s{0,9}$|^\s{0,80}(?:for|if|while|with|def|class|try|else|elif)\b[^\n]{0,160}:$"
)
"""Matches a frame of a traceback, or the head of a block: the next line is code."""
_DIGITS = lazy.compile(r"\d{1,24}")

Line: TypeAlias = "tuple[int, str]"


def rejoined(text: Text, margin: int) -> Text:
    """Return the text without the line ends that wrapping inserted at a margin, or unchanged if the lines do
    not show that they were wrapped there. margin: the length of the longest line of several words."""
    lines = list(text.lines())
    if len(lines) < 2 or len(lines) > MOST_LINES:
        return text
    full = [
        i
        for i in range(len(lines) - 1)
        if lines[i + 1][0] <= lines[i][0] + 1  # lines of a long log may have been left out
        and _full(lines[i][1], lines[i + 1][1], margin)
    ]
    exact = [i for i in full if len(lines[i][1]) == margin]
    cut = 5 * len(exact) >= 4 * len(full) and (margin in WIDTHS or len(exact) >= SEVERAL)
    joins = _rests([line for _, line in lines], exact if cut else full, cut)
    if not joins or not _seen([line for _, line in lines], len(full), joins, cut):
        return text
    return _joined(text, lines, set(joins), "" if cut else " ")


def _full(line: str, following: str, margin: int) -> bool:
    """Whether `line` is full: the first word of the following line did not fit into it."""
    words = following.split(maxsplit=1)
    return bool(words) and bool(line.strip()) and len(line) + 1 + len(words[0]) > margin


def _rests(lines: Sequence[str], full: Sequence[int], cut: bool) -> list[int]:
    """Return the indexes of the full lines that the next line may continue. full: the indexes of all full
    lines. cut: whether the text was cut at a fixed column."""
    found: list[int] = []
    of_record = -1
    """The previous full line, if a record began in that line or before it."""
    for i in full:
        line, following = lines[i], lines[i + 1]
        shape = _shape(following)
        if (
            RECORD.match(following, 0, 200)
            or _ALWAYS_OWN.match(following)
            or line.endswith(("|", "+"))
            or _shape(line) == shape
        ):
            continue
        record = of_record == i - 1 >= 0 or RECORD.match(line, 0, 200) is not None
        if not cut and not record:
            if (
                _OWN_LINE.match(following[:200])
                or _BEFORE_CODE.search(line[-200:])
                or _BEFORE_CODE.match(following[:200])
            ):
                continue
            if i + 2 < len(lines) and shape == _shape(lines[i + 2]):  # the first row of a list
                continue
        found.append(i)
        of_record = i if record else -1
    return found


def _shape(line: str) -> str:
    """Return the start of a line without its numbers. Lines of one list or table have the same start."""
    return _DIGITS.sub("0", line[:24])[:10]


def _seen(lines: Sequence[str], full: int, joins: Sequence[int], cut: bool) -> bool:
    """Whether the lines that end at a margin end inside a sentence. If many lines end at the margin, most of
    them must end inside a sentence. If few do, all of them must, and the width must be a usual one."""
    within = [_within(lines[i], lines[i + 1], cut) for i in joins]
    if len(joins) >= SEVERAL:
        return 5 * sum(may for may, _ in within) >= 3 * full
    if 2 * sum(sure for _, sure in within) < len(joins):
        return False
    if cut:
        return True
    least = max(len(lines[i]) for i in joins)
    most = min(len(lines[i]) + len(lines[i + 1].split(maxsplit=1)[0]) for i in joins)
    # other output of the program may follow a single record
    alone = len(joins) == 1 and RECORD.match(lines[joins[0]], 0, 200)
    return not alone and any(least <= width <= most for width in WIDTHS)


def _within(line: str, following: str, cut: bool) -> tuple[bool, bool]:
    """Whether a sentence or record may continue in the following line, and whether it certainly does."""
    last, first = line.rstrip()[-1:], following.lstrip()[:1]
    may = last not in ".!?;:。！？：" or first.islower()
    if cut:
        return may, line[-1:].isspace() or following[:1].isspace() or (last.isalnum() and first.isalnum())
    begun = (
        first in ",;)/_" or (first.isalpha() and not first.isupper()) or (last.isalnum() and first.isdigit())
    )
    return may, last not in ".!?;:。！？：" and (begun or last == ",")


def _joined(text: Text, lines: Sequence[Line], joins: set[int], by: str) -> Text:
    """Return the text with these lines joined to the lines after them. Each part keeps its own line
    number."""
    parts: list[str] = []
    starts: list[int] = []
    at = size = 0
    for i, (_, line) in enumerate(lines):
        rest = i - 1 in joins and size > 0
        goes_on = i in joins and size < LINE_LIMIT // 2
        part = (line.strip() if rest else line.rstrip() if goes_on else line) if by else line
        parts.append(part + (by if goes_on else "\n"))
        starts.append(at)
        at += len(parts[-1])
        size = size + len(part) if goes_on else 0
    return Text(text.name, "".join(parts)[:-1], text.total, starts, [number for number, _ in lines])
