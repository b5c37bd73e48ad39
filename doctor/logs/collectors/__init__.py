"""Reports of collecting tools (pip list, lspci ...), read by their structure: fields, rows and steps. In: a
text. Out: the facts of its reports, and the text without their lines, so that a package's name or the
question "are we in docker" is not mistaken for a statement. Lines of other programs within a report stay."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts import Fact
from doctor.logs.collectors.block import Collector, Line
from doctor.logs.text import Text

FAILURES = 8
"""How often one reader may fail on a text, so that a text that only looks like a report takes little time."""


def read_collected(text: Text, printed: set[int]) -> tuple[Text, list[Fact]]:
    """The facts of the collectors' reports in a text, and the remaining text; the same object if there is no
    report. printed: receives the numbers of the reports' lines."""
    from doctor.logs.collectors import hardware, loader, packages, reports

    families = (reports, packages, loader, hardware)
    known = [c for family in families for c in family.COLLECTORS if c.mark in text.text]
    if not known:
        return text, []
    left, facts = _read(list(text.lines()), known, text.name, printed)
    return Text.of(text.name, left, text.total), facts


def _read(
    lines: Sequence[Line], known: Sequence[Collector], name: str, printed: set[int]
) -> tuple[list[Line], list[Fact]]:
    """The remaining lines, and the facts of these collectors' reports."""
    left: list[Line] = []
    facts: list[Fact] = []
    failed = dict.fromkeys(known, 0)
    at = 0
    while at < len(lines):
        start = lines[at][1][:800]
        for collector in known:
            if failed[collector] < FAILURES and collector.begins.match(start):
                block = collector.read(lines, at, name)
                if block is not None and block.end > at:
                    break
                failed[collector] += 1
        else:
            left.append(lines[at])
            at += 1
            continue
        inner = [
            line if i in block.keep else (line[0], "") for i, line in enumerate(lines[at : block.end], at)
        ]
        facts += block.facts
        printed.update(number for number, _ in lines[at : block.end])
        others = [c for c in known if c.read is not collector.read]
        if block.keep and others:  # the output of another program may stand within
            inner, more = _read(inner, others, name, printed)
            facts += more
        left += inner
        at = block.end
    return left, facts
