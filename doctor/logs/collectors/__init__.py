"""Reads the output of collecting tools (pip list, lspci ...) by its structure: fields, rows and steps.

`read_collected` returns the facts from the reports of these tools in the input, and the input without the
lines of these reports. So a package name, or the heading "are we in docker", is not mistaken for a statement.
The lines that other programs printed into a report are kept."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from doctor.facts import Fact
from doctor.logs.text import Text

if TYPE_CHECKING:
    from doctor.logs.collectors.block import Collector, Line

MARKS = {
    "reports": (
        *("== check p", "== are we in docker", "== tensorflow import"),
        *("CUDA used to build PyTorch", "Start of NVIDIA bug report log"),
    ),
    "packages": (
        *("Package ", "sys.platform: ", "active env location :", "# packages in environment at"),
        *("ii  ", "nvidia-", "Currently Loaded Module"),
    ),
    "loader": (
        *("calling init: ", "find library=", "open(", "openat("),
        *(" => ", " libs found in ", "x86-64) => /"),
    ),
    "hardware": (
        *("| NVIDIA-SMI ", "NVSMI LOG", "CPU Affinity", "NVRM version:", "controller"),
        *("Default Runtime:", "Debug Mode: "),
    ),
}
"""For each module with collectors, the marks of its reports. The module is imported only for input that
contains one of them."""

FAILURES = 8
"""A reader that failed this often on one input is not tried again, so that input that only looks like reports
takes little time."""


def read_collected(text: Text, printed: set[int]) -> tuple[Text, list[Fact]]:
    """Return the text without the collectors' reports in it, and the facts from these reports. If it contains
    no report, return it unchanged. The line numbers of the reports are added to `printed`."""
    whole = text.text
    known: list[Collector] = []
    for family, marks in MARKS.items():
        if any(mark in whole for mark in marks):
            module = import_module(f"{__name__}.{family}")
            known += (collector for collector in module.COLLECTORS if collector.mark in whole)
    if not known:
        return text, []
    left, facts = _read(list(text.lines()), known, text.name, printed)
    return Text.of(text.name, left, text.total), facts


def _read(
    lines: Sequence[Line], known: Sequence[Collector], name: str, printed: set[int]
) -> tuple[list[Line], list[Fact]]:
    """Return the remaining lines, and the facts from the reports that these collectors read."""
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
        if block.keep and others:  # the report may contain the output of another program
            inner, more = _read(inner, others, name, printed)
            facts += more
        left += inner
        at = block.end
    return left, facts
