"""A diagnosis as Markdown for an issue: a reply to a report, or a description of a machine for the
maintainer.

Nothing from the input can become Markdown, a mention, a link or HTML: quotations are in fences longer than
any run of backticks in them, and prose is escaped. This module does not remove names or secrets: pass it a
redacted diagnosis (doctor.render.sharing.shared).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING

from doctor import __version__, lazy
from doctor.facts import Absent, OwnReport, Unreadable
from doctor.printable import block, line
from doctor.render import content

if TYPE_CHECKING:
    from doctor.findings import Diagnosis, Finding, Step
    from doctor.tables import Tables

_SPECIAL = lazy.compile(r"([\\`*_\[\]<>|~$&^])")
_LINKED = lazy.compile(r"@\w|://|www\.|#\d|\bGH-\d|mailto:", re.IGNORECASE)
"""Matches text that GitHub and GitLab turn into a link or a mention even if it is escaped. They do not do so
inside a code span."""
_FIRST = lazy.compile(r"^\s*(\d{0,9})([.)#+=:-])")
"""Matches text that starts a list, a heading or a rule at the beginning of a line."""
QUOTED = 6
"""At most this many pieces of evidence are quoted."""
LONGEST = 300
"""A quotation is cut after this many characters."""

LEADS = {
    "certain": "Cause",
    "likely": "Likely cause",
    "possible": "Possible cause",
}


def escaped(text: str) -> str:
    """The text, escaped so that rendered Markdown shows it unchanged."""
    words = []
    for word in line(text).split(" "):
        if _LINKED.search(word):
            words.append("`" + word.replace("`", "'") + "`")
        else:
            words.append(_SPECIAL.sub(r"\\\1", word))
    return _FIRST.sub(r"\1\\\2", " ".join(words))


def fence(rows: Iterable[str], language: str = "text") -> list[str]:
    """Return the lines of a code block. Its fence is longer than any run of backticks in the rows, so no row
    can close it."""
    rows = list(rows)
    longest = max((len(run) for row in rows for run in re.findall(r"`+", row)), default=0)
    ticks = "`" * max(3, longest + 1)
    return [ticks + language, *rows, ticks]


def show(diagnosis: Diagnosis, tables: Tables) -> str:
    """The whole Markdown text: a reply to a report, or a report about a machine."""
    page = _Page(diagnosis, tables)
    rows = page.machine() if diagnosis.facts.kind == "machine" else page.reply()
    if diagnosis.facts.has("simulated-gpu"):
        rows[:0] = ["This was seen on a simulated GPU (`tfgpu-doctor simulate`).", ""]
    return "\n".join([*rows, f"<sub>tfgpu-doctor {__version__}, tables of {tables.date}</sub>"]) + "\n"


def details(summary: str, rows: Iterable[str]) -> list[str]:
    """Return the lines of a section that the reader can unfold."""
    return ["<details>", f"<summary>{_html(summary)}</summary>", "", *rows, "", "</details>", ""]


def _html(text: str) -> str:
    """Text for the inside of an HTML tag, escaped so that it becomes neither HTML nor Markdown."""
    text = re.sub(r"[@#](?=\w)", "", line(text)).replace("://", ": ")
    return re.sub(r"[&<>\"'`*_\[\]\\~$]", lambda m: f"&#{ord(m[0])};", text)


class _Page:
    def __init__(self, diagnosis: Diagnosis, tables: Tables) -> None:
        self.diagnosis = diagnosis
        self.tables = tables

    # --- the two kinds of page

    def reply(self) -> list[str]:
        """The reply to a report, for its thread: verdict, evidence and steps, with the rest folded."""
        verdict, *others = self.diagnosis.findings
        rows = [self._headline(verdict), "", *self._finding(verdict)]
        for other in others:
            rows += details(f"Also found: {other.title} ({other.code})", self._finding(other))
        rows += self._wanted(verdict)
        rows += self._compatibility()
        rows += self._noise()
        facts = self._facts()
        return rows + (details("What was read from the report", fence(facts)) if facts else [])

    def machine(self) -> list[str]:
        """The page for a new issue: the verdict, and below it, unfolded, the facts about the machine."""
        verdict, *others = self.diagnosis.findings
        rows = [self._headline(verdict), "", escaped(verdict.explanation), ""]
        if self.diagnosis.facts.of(OwnReport):
            rows[:0] = [f"Read from {escaped(self.diagnosis.facts.name)}.", ""]
        rows += ["What was seen:", "", *fence(self._facts() or ["nothing"]), ""]
        unread = [f"{line(u.what)}: {line(u.reason)}" for u in self.diagnosis.facts.of(Unreadable)]
        if unread:
            rows += ["What could not be examined:", "", *fence(unread), ""]
        absent = [f"{line(a.what)}: {_quote(a.source.text)}" for a in self.diagnosis.facts.of(Absent)]
        if absent:
            rows += details("Looked for but not found", fence(absent))
        rows += self._compatibility()
        rows += details(f"Verdict in full: {verdict.code}", self._finding(verdict))
        for other in others:
            rows += details(f"Also found: {other.title} ({other.code})", self._finding(other))
        rows += self._noise()
        return rows + details(
            "For tfgpu-doctor: every fact, in a form that `tfgpu-doctor explain` can read",
            fence(self._record()),
        )

    # --- their parts

    def _record(self) -> list[str]:
        """All facts, redacted like the page and packed into a base64 block."""
        from doctor.probe.record import packed, to_record  # the probes are not loaded for a report

        return packed(to_record(self.diagnosis.facts, __version__, date.today().isoformat()))

    def _headline(self, finding: Finding) -> str:
        possible = finding.confidence == "possible"
        lead = {
            "undetermined": "Not enough to tell",
            "healthy": "Possibly nothing to fix" if possible else "All is well",
            "benign-messages": "Possibly nothing to fix" if possible else "Nothing to fix",
        }
        first = lead.get(finding.code) or LEADS[finding.confidence]
        return f"**{first}: {escaped(finding.title)}** (`{finding.code}`)"

    def _finding(self, finding: Finding) -> list[str]:
        rows = [escaped(finding.explanation), ""]
        quoted = []
        for source in finding.evidence[:QUOTED]:
            text = _quote(source.text)
            quoted.append(line(content.place(source)) + (f": {text}" if text else ""))
        if len(finding.evidence) > QUOTED:
            quoted.append(f"({len(finding.evidence) - QUOTED} more)")
        rows += ["What shows it:", "", *fence(quoted), ""]
        if finding.consequences:
            rows += [f"{content.explained(finding)}:", ""]
            rows += [f"- {escaped(text)}" for text in finding.consequences] + [""]
        ways = content.ways(finding.prescription, self.diagnosis.facts)
        if finding.prescription:
            rows += [f"{content.what_to_do(ways)}:", ""]
            if note := content.in_cells(self.diagnosis.facts, finding):
                rows += [note, ""]
            for way in ways:
                if way.heading:
                    rows += [f"**{way.heading}**", ""]
                for number, step in enumerate(way.steps, 1):
                    rows += self._step(number, step)
                rows.append("")
        if finding.verify:
            rows += [
                f"How to check that it is fixed{content.checked_way(finding, ways)}:",
                "",
                *fence(block(finding.verify).split("\n"), "sh"),
                "",
            ]
        if finding.tables:
            rows += ["According to the tables: " + "; ".join(escaped(row) for row in finding.tables), ""]
        return rows

    def _step(self, number: int, step: Step) -> list[str]:
        lead = f"{number}. "
        indent = " " * len(lead)
        said = lead + escaped(content.instruction(step))
        if step.kind == "manual":
            return [said]
        language = "python" if step.kind == "python" else "sh"
        code = fence(block(step.text).rstrip().split("\n"), language)
        return [said, "", *(indent + row for row in code), ""]

    def _wanted(self, verdict: Finding) -> list[str]:
        """The request for more information, if the answer is not certain."""
        if verdict.code in ("healthy", "benign-messages") or (
            verdict.confidence == "certain" and verdict.code != "undetermined"
        ):
            return []
        known = {fact.key for fact in content.known_facts(self.diagnosis, self.tables)}
        missing = [
            content.LABELS[key]
            for key in ("tensorflow", "python", "os", "gpus", "driver", "cuda", "cudnn")
            if key not in known
        ]
        rows = ["If that does not fix it, please send", ""]
        if missing:
            rows.append(f"- the information that is not in the report: {', '.join(missing)}")
        rows.append("- everything that the program prints from its start, with `TF_CPP_MIN_LOG_LEVEL=0`")
        return [*rows, "- the output of `tfgpu-doctor check --format markdown`", ""]

    def _noise(self) -> list[str]:
        groups = content.harmless(self.diagnosis)
        rows = [f"- {escaped(group.places)}: {escaped(group.meaning)}" for group in groups]
        return details(content.noise_heading(groups), rows) if groups else []

    def _compatibility(self) -> list[str]:
        together = content.goes_together(self.diagnosis)
        rows = []
        if together:
            table = [f"| {' | '.join(_html(cell) for cell in row)} |" for row in together]
            rows += ["| part | has | needs | fits |", "|---|---|---|---|", *table, ""]
        others = content.other_causes(self.diagnosis)
        return rows + (
            details("Other possible causes, and the command that checks each", fence(map(line, others)))
            if others
            else []
        )

    def _facts(self) -> list[str]:
        rows = []
        for fact in content.known_facts(self.diagnosis, self.tables):
            where = content.line_list(fact.sources, 3) if self.diagnosis.facts.kind == "report" else ""
            rows.append(f"{fact.label}: {_quote(fact.value)}" + (f" ({where})" if where else ""))
        return rows


def _quote(text: str) -> str:
    """Return the text on one line, cut after LONGEST characters."""
    text = line(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
