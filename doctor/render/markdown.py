"""A diagnosis as Markdown, to be pasted into an issue: as a reply to a report, or as a machine's own report.

Nothing from the input can become Markdown: it stands in fences that are longer than any run of backticks in it, and
names in prose are escaped. User and host names, homes and tokens are taken out.
"""

from __future__ import annotations

import os
import re

from doctor import __version__
from doctor.findings import Diagnosis, Finding, Step
from doctor.redact import Redactor
from doctor.render.document import facts_document
from doctor.render.plain import block, cropped, printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@])")


def escaped(text: str) -> str:
    """Text that Markdown shows as it is: no emphasis, link, mention or HTML can come of it."""
    return _SPECIAL.sub(r"\\\1", printable(text)).replace("\\@", "@\u200b").replace("://", ":\u200b//")


def fence(lines: list[str], language: str = "") -> list[str]:
    """A code block that its content cannot close."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    ticks = "`" * max(3, longest + 1)
    return [ticks + language, *lines, ticks]


def render(diagnosis: Diagnosis, tables: object) -> str:
    """The whole reply or report."""
    from doctor.picture import Picture
    from doctor.tables import Tables

    assert isinstance(tables, Tables)
    redact = Redactor.of(os.environ)
    verdict = diagnosis.verdict
    lines = [f"**{escaped(verdict.title)}** (`{verdict.code}`, {verdict.severity}, {verdict.confidence})", ""]
    lines += _finding(verdict, redact)
    for finding in diagnosis.findings[1:]:
        lines += ["", "<details>", f"<summary>{escaped(finding.title)} ({finding.code})</summary>", ""]
        lines += [*_finding(finding, redact), "", "</details>"]
    facts = facts_document(Picture(diagnosis.facts, tables))
    if facts:
        lines += ["", "<details>", "<summary>What was read</summary>", ""]
        rows = [f"{key}: {redact(_value(told['value']))}" for key, told in facts.items()]
        lines += [*fence([cropped(row, 400) for row in rows]), "", "</details>"]
    lines += ["", f"<sub>tfgpu-doctor {__version__}, tables of {tables.date}</sub>"]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_value(item) for item in value)
    if isinstance(value, dict):
        return " ".join(f"{key}={item}" for key, item in value.items())
    return printable(str(value))


def _finding(finding: Finding, redact: Redactor) -> list[str]:
    lines = [escaped(redact(finding.explanation)), ""]
    quoted = []
    for source in finding.evidence[:6]:
        place = redact(printable(str(source)))
        quoted.append(cropped(f"{place}: {redact(source.text)}" if source.text else place, 300))
    lines += [*fence(quoted), ""]
    if finding.prescription:
        lines += ["What to do:", ""]
        for number, step in enumerate(finding.prescription, 1):
            lines += _step(number, step)
    if finding.verify:
        lines += ["", "How to see that it is cured:", "", *fence(block(finding.verify))]
    if finding.tables:
        lines += ["", "By the tables: " + "; ".join(escaped(ref) for ref in finding.tables)]
    return lines


def _step(number: int, step: Step) -> list[str]:
    root = " (as administrator)" if step.needs_root else ""
    where = f" on {step.platform}" if step.platform else ""
    if step.kind == "manual":
        return [f"{number}. {escaped(step.text)}{root}" + (f" ({escaped(step.why)})" if step.why else "")]
    why = step.why or "run"
    language = "python" if step.kind == "python" else "shell"
    body = fence(block(step.text), language)
    return [f"{number}. {escaped(why[0].upper() + why[1:])}{where}{root}:", "", *("   " + row for row in body), ""]
