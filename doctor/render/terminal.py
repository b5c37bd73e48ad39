"""A diagnosis for a person at a terminal: the verdict first, then why, what to do and how to see that it is cured.

Readable without colour and at 80 columns; commands stand on lines of their own and are never wrapped, so that they
can be copied whole. rich is used for colours and for the width; none of its markup is read from any text.
"""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING, TextIO

from doctor.facts import Noise
from doctor.findings import Diagnosis, Finding, Step
from doctor.render.plain import block, cropped, printable

if TYPE_CHECKING:
    from rich.console import Console

MARKS = {"error": "✗", "warning": "!", "info": "✓"}
ASCII_MARKS = {"error": "x", "warning": "!", "info": "ok"}
COLOURS = {"error": "bold red", "warning": "bold yellow", "info": "bold green"}
CALM = ("benign-messages", "healthy", "undetermined")
PROSE_WIDTH = 100
EVIDENCE = 6
"""Lines of evidence that are shown without --verbose."""


def console(stream: TextIO, args: argparse.Namespace) -> Console:
    """A console on a stream, with colours as --color and NO_COLOR ask."""
    import os

    from rich.console import Console

    choice = getattr(args, "color", "auto")
    colours = choice == "always" or (choice == "auto" and not os.environ.get("NO_COLOR") and stream.isatty())
    width = None if stream.isatty() else int(os.environ.get("COLUMNS") or 80)
    return Console(
        file=stream,
        force_terminal=colours or None,
        no_color=not colours,
        color_system="standard" if colours else None,
        highlight=False,
        markup=False,
        emoji=False,
        width=width,
        legacy_windows=False if colours else None,
    )


class Page:
    """Lines for one console. Everything goes through `line`, which sees to encoding and style."""

    def __init__(self, out: Console) -> None:
        self.out = out
        self.width = max(24, min(out.width, PROSE_WIDTH + 4))
        encoding = (getattr(out.file, "encoding", None) or "utf-8").lower()
        self.unicode = encoding.replace("-", "").startswith("utf")
        self.encoding = encoding

    def line(self, text: str = "", style: str = "") -> None:
        """One line, as it is: never wrapped."""
        from rich.text import Text

        if not self.unicode:
            text = text.replace("…", "...").encode(self.encoding, "replace").decode(self.encoding, "replace")
        self.out.print(Text(text, style=style), soft_wrap=True)

    def prose(self, text: str, indent: int = 2, style: str = "") -> None:
        """A paragraph, wrapped at the width."""
        pad = " " * indent
        for row in textwrap.wrap(
            printable(text), self.width - indent, break_long_words=False, break_on_hyphens=False
        ) or [""]:
            self.line(pad + row, style)

    def mark(self, finding: Finding) -> str:
        """The symbol of a finding, which stands for itself without colour."""
        if finding.code == "undetermined":
            return "?"
        return (MARKS if self.unicode else ASCII_MARKS)[finding.severity]


def render(diagnosis: Diagnosis, out: Console, *, verbose: int = 0, named: bool = False) -> None:
    """Print one diagnosis. `named`: say which input it is of (there are several)."""
    page = Page(out)
    if named:
        page.line(f"== {printable(diagnosis.facts.name)}", "bold")
    _verdict(page, diagnosis, verbose)
    others = diagnosis.findings[1:]
    if others:
        page.line()
        page.line("Besides" if verbose == 0 else "Besides (each in full below)", "bold")
        for finding in others:
            if verbose:
                page.line()
                _finding(page, finding, verbose)
            else:
                _short(page, finding)
    _noise(page, diagnosis)
    if verbose:
        _facts(page, diagnosis)
        _unexamined(page, diagnosis)
    page.line()


def _verdict(page: Page, diagnosis: Diagnosis, verbose: int) -> None:
    _finding(page, diagnosis.verdict, verbose)


def _finding(page: Page, finding: Finding, verbose: int) -> None:
    sure = "" if finding.confidence == "certain" or finding.code in CALM else f", {finding.confidence}"
    head = f"{page.mark(finding)} {finding.title}"
    for row in textwrap.wrap(printable(head), page.width, subsequent_indent="  "):
        page.line(row, COLOURS[finding.severity])
    page.line(f"  {finding.code} ({finding.severity}{sure})", "dim")
    page.line()
    page.prose(finding.explanation)
    _evidence(page, finding, verbose)
    if finding.consequences:
        page.line()
        page.line("  Follows from it", "bold")
        for text in finding.consequences:
            page.prose(text, 4)
    _steps(page, finding)
    if finding.verify:
        page.line()
        page.line("  How to see that it is cured", "bold")
        for row in block(finding.verify):
            page.line("    " + row, "cyan")
    if finding.tables:
        page.line()
        page.line("  By the tables", "bold")
        for ref in finding.tables:
            page.prose(ref, 4, "dim")


def _evidence(page: Page, finding: Finding, verbose: int) -> None:
    page.line()
    page.line("  What shows it", "bold")
    shown = finding.evidence if verbose else finding.evidence[:EVIDENCE]
    for source in shown:
        place = printable(str(source))
        if not source.text:
            page.line(f"    {cropped(place, page.width - 4)}")
        elif len(place) + 12 > page.width // 2:
            page.line(f"    {cropped(place, page.width - 4)}", "dim")
            page.line(f"      {cropped(source.text, page.width - 6)}")
        else:
            page.line(f"    {place}  {cropped(source.text, page.width - len(place) - 6)}")
    left = len(finding.evidence) - len(shown)
    if left:
        page.line(f"    and {left} more (-v shows them)", "dim")


def _steps(page: Page, finding: Finding) -> None:
    if not finding.prescription:
        return
    page.line()
    page.line("  What to do", "bold")
    for number, step in enumerate(finding.prescription, 1):
        _step(page, number, step)


def _step(page: Page, number: int, step: Step) -> None:
    where = {"windows": "on Windows", "wsl": "in WSL", "linux": "", "macos": "on macOS"}.get(step.platform, "")
    notes = [n for n in (where, "as administrator" if step.needs_root else "") if n]
    note = f" ({', '.join(notes)})" if notes else ""
    lead = f"{number}. "
    if step.kind == "manual":
        page.prose(f"{lead}{step.text}{note}", 4)
        if step.why:
            page.prose(step.why, 7, "dim")
        return
    why = step.why or ("in the program" if step.kind == "python" else "run")
    page.prose(f"{lead}{why[0].upper()}{why[1:]}{note}:", 4)
    for row in block(step.text):
        page.line("       " + row, "cyan")


def _short(page: Page, finding: Finding) -> None:
    page.line()
    head = f"{page.mark(finding)} {finding.title}"
    for row in textwrap.wrap(printable(head), page.width, initial_indent="  ", subsequent_indent="    "):
        page.line(row, COLOURS[finding.severity])
    first = finding.evidence[0]
    page.line(f"    {cropped(f'{first}  {first.text}', page.width - 4)}", "dim")
    for step in finding.prescription[:1]:
        for row in block(step.text):
            page.line("      " + row, "cyan" if step.kind != "manual" else "")
    page.line(f"    tfgpu-doctor code {finding.code}", "dim")


def _noise(page: Page, diagnosis: Diagnosis) -> None:
    """The lines that alarm people and mean nothing."""
    noise = diagnosis.facts.of(Noise)
    if not noise or diagnosis.verdict.code == "benign-messages":
        return
    kinds: dict[str, list[Noise]] = {}
    for fact in noise:
        kinds.setdefault(fact.kind, []).append(fact)
    count = len({fact.source.line for fact in noise})
    page.line()
    page.line(f"  Noise: {'this line is' if count == 1 else f'these {count} lines are'} harmless", "bold")
    for facts in list(kinds.values())[:8]:
        lines = sorted({f.source.line for f in facts if f.source.line})
        numbers = ", ".join(str(n) for n in lines[:4]) + (" …" if len(lines) > 4 else "")
        page.prose(f"line {numbers}: {facts[0].meaning}" if numbers else facts[0].meaning, 4, "dim")


def _facts(page: Page, diagnosis: Diagnosis) -> None:
    """Every fact with its source."""
    page.line()
    page.line("Facts", "bold")
    for fact in diagnosis.facts:
        values = ", ".join(
            f"{name}={getattr(fact, name)}"
            for name in type(fact).__slots__
            if name != "source" and getattr(fact, name) not in (None, "", (), False)
        )
        text = f"{type(fact).__name__} {values}"
        page.line(f"  {cropped(text, page.width - 2)}")
        page.line(f"    {cropped(f'{fact.source}  {fact.source.text}', page.width - 4)}", "dim")


def _unexamined(page: Page, diagnosis: Diagnosis) -> None:
    """Rules that could not judge."""
    failed = [s for s in diagnosis.skipped if s.reason.startswith("the rule failed")]
    page.line()
    page.line(f"Not judged: {len(diagnosis.skipped)} codes of which nothing was seen", "bold")
    page.prose(", ".join(s.code for s in diagnosis.skipped if s not in failed), 2, "dim")
    for skip in failed:
        page.prose(f"{skip.code}: {skip.reason}", 2, "red")
