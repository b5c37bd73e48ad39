"""A diagnosis for a person at a terminal: the verdict first, then its evidence and the steps.

Prose is wrapped to the width of the terminal. Commands, code and `file:line` are not wrapped, and code begins
at the left edge, so that it can be copied. Colour only repeats what words and symbols say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import Unreadable, Words, in_words
from doctor.printable import block, line
from doctor.render import content
from doctor.render.symbols import PLAIN, SYMBOLS, painted
from doctor.render.wrap import wrap

if TYPE_CHECKING:
    from doctor.facts import Fact, Facts, Source
    from doctor.findings import Diagnosis, Finding, Step
    from doctor.render.options import Options
    from doctor.tables import Tables

EVIDENCE_SHOWN = 4
"""At most this many pieces of evidence are shown for a finding; --verbose shows all of them."""
EVIDENCE_ROWS = 4
"""A quoted line is cut after this many rows; --verbose shows all of it."""
PLACES_SHOWN = 20
"""At most this many places are shown for one fact, because a training log may repeat a line thousands of
times."""
LONGEST_VALUE = 300
"""The value of a fact is cut after this many characters."""
FITS = {
    "yes": ("good", "fits"),
    "no": ("error", "does not fit"),
    "after a compilation": ("warning", "fits after a compilation"),
    content.DEPENDS: ("unknown", content.DEPENDS),
}
"""The symbol and the words for each value of `fits` in the table "What goes together"."""


def show(diagnosis: Diagnosis, tables: Tables, options: Options) -> str:
    """One diagnosis as text, with the width, colours and symbols that the options request."""
    page = Page(options)
    page.print(diagnosis, tables)
    return page.text()


def tone(finding: Finding) -> str:
    """The mark of a finding: "good" for a healthy verdict, "unknown" for `undetermined`, otherwise its
    severity."""
    if finding.code in ("healthy", "benign-messages"):
        return "good"
    return "unknown" if finding.code == "undetermined" else finding.severity


class Page:
    """One diagnosis as rows of text."""

    def __init__(self, options: Options) -> None:
        self.rows: list[str] = []
        self.width = options.width
        self.colour = options.colour
        self.verbose = options.verbose
        self.quiet = options.quiet
        self.symbols = SYMBOLS if options.symbols else PLAIN
        self.blank = True

    def text(self) -> str:
        """The text that was printed on the page."""
        return "".join(f"{row}\n" for row in self.rows)

    def print(self, diagnosis: Diagnosis, tables: Tables) -> None:
        """Print the whole diagnosis on the page."""
        verdict, *others = diagnosis.findings
        self._verdict(verdict, content.subject(diagnosis.facts), diagnosis.facts)
        if others:
            self._heading("Also found")
            for finding in others:
                if self.verbose:
                    self._gap()
                    self._verdict(finding, "", diagnosis.facts)
                else:
                    self._short(finding)
        self._alternatives(diagnosis)
        self._compatibility(diagnosis)
        self._noise(diagnosis)
        if self.verbose:
            self._every_fact(diagnosis)
        else:
            self._facts(diagnosis, tables)
        self._not_examined(diagnosis)
        if self.verbose:
            self._not_checked(diagnosis)
        if not self.quiet:
            self._hints(diagnosis)

    # --- findings

    def _verdict(self, finding: Finding, subject: str, facts: Facts) -> None:
        mark = tone(finding)
        self._prose(f"{self.symbols[mark]} ", line(finding.title), style=mark)
        words = [finding.severity if mark in ("error", "warning", "info") else "", finding.code]
        if finding.confidence != "certain":
            words.insert(1, content.SURENESS[finding.confidence])
        words.append(line(subject))
        self._prose("  ", f" {self.symbols['dot']} ".join(word for word in words if word), style="dim")
        self._gap()
        self._paragraphs("  ", finding.explanation)
        self._evidence(finding)
        if finding.consequences:
            self._heading(content.explained(finding))
            for consequence in finding.consequences:
                self._prose(f"  {self.symbols['dot']} ", line(consequence))
        ways = content.ways(finding.prescription, facts)
        if finding.prescription:
            self._heading(content.what_to_do(ways))
            if note := content.in_cells(facts, finding):
                self._paragraphs("  ", note)
            for way in ways:
                if way.heading:
                    self._gap()
                    self._prose("  ", way.heading, style="heading")
                for number, step in enumerate(way.steps, 1):
                    self._step(number, step, len(way.steps))
        if finding.verify:
            self._heading(f"How to check{content.checked_way(finding, ways)}")
            self._code(finding.verify)
        if finding.tables:
            self._heading("What the tables say")
            for row in finding.tables:
                self._prose(f"  {self.symbols['dot']} ", line(row))

    def _evidence(self, finding: Finding) -> None:
        self._heading("Evidence")
        shown = finding.evidence if self.verbose else finding.evidence[:EVIDENCE_SHOWN]
        for source in shown:
            self._quoted(source)
        if len(shown) < len(finding.evidence):
            self._prose("  ", f"and {len(finding.evidence) - len(shown)} more (-v shows them)", style="dim")

    def _quoted(self, source: Source) -> None:
        self._verbatim("  " + content.place(source), style="place")
        text = line(source.text).strip()
        if text:
            self._prose(
                "    ",
                text if self.verbose else content.message(text),
                rows=0 if self.verbose else EVIDENCE_ROWS,
            )

    def _step(self, number: int, step: Step, of: int) -> None:
        lead = f"  {number}. " if of > 1 else "  "
        self._prose(lead, line(content.instruction(step)))
        if step.kind != "manual":
            self._code(step.text)

    def _short(self, finding: Finding) -> None:
        mark = tone(finding)
        sure = "" if finding.confidence == "certain" else f", {content.SURENESS[finding.confidence]}"
        self._prose(
            f"{self.symbols[mark]} ",
            f"{line(finding.title)} ({finding.severity}{sure}, {finding.code})",
            style=mark,
        )
        self._prose("    ", line(finding.explanation), rows=4)
        self._verbatim("    " + content.place(finding.evidence[0]), style="place")
        for step in finding.prescription[:1]:
            if step.kind == "manual":
                self._prose("    ", content.sentence(line(step.text)))
            else:
                self._code(step.text)

    # --- the rest

    def _noise(self, diagnosis: Diagnosis) -> None:
        groups = content.harmless(diagnosis)
        count = content.noise_count(groups)
        if count:
            self._heading(f"{'This line is' if count == 1 else f'These {count} lines are'} noise")
        for group in groups:
            places = f"{line(group.places)}: " if group.places else ""
            self._prose(f"  {self.symbols['dot']} ", places + line(group.meaning))

    def _alternatives(self, diagnosis: Diagnosis) -> None:
        rows = content.other_causes(diagnosis)
        if rows:
            self._heading("Other possible causes, and the command that checks each")
        for row in rows[: None if self.verbose else 3]:
            self._prose(f"  {self.symbols['dot']} ", line(row))

    def _compatibility(self, diagnosis: Diagnosis) -> None:
        rows = content.goes_together(diagnosis)
        if not rows:
            return
        self._heading("What goes together")
        for part, has, needs, fits in rows:
            mark, words = FITS.get(fits, ("unknown", "not known whether it fits"))
            needed = f"; needs {needs}" if needs != "-" else ""
            self._prose(f"  {self.symbols[mark]} ", line(f"{part}: has {has}{needed} ({words})"))

    def _facts(self, diagnosis: Diagnosis, tables: Tables) -> None:
        is_report = diagnosis.facts.kind == "report"
        facts = content.known_facts(diagnosis, tables)
        if facts:
            self._heading("What was read" if is_report else "What was seen")
        for known in facts:
            where = content.line_list(known.sources, 3) if is_report else ""
            value = line(known.value)
            if len(value) > LONGEST_VALUE:
                value = value[:LONGEST_VALUE] + self.symbols["cut"]
            self._prose("  ", f"{known.label}: {value}" + (f" ({where})" if where else ""))

    def _every_fact(self, diagnosis: Diagnosis) -> None:
        self._heading("Every fact, and its source")
        places: dict[str, dict[str, None]] = {}
        for fact in diagnosis.facts:
            if not isinstance(fact, Words):  # hashes, which say nothing to a person
                places.setdefault(line(fact_in_words(fact)), {})[content.place(fact.source)] = None
        for words, found in places.items():
            self._prose("  ", words, hang="    ")
            for place in list(found)[:PLACES_SHOWN]:
                self._verbatim(f"    {place}", style="place")
            if len(found) > PLACES_SHOWN:
                self._verbatim(f"    and at {len(found) - PLACES_SHOWN} more places", style="place")
        if not places:
            self._prose("  ", "none")

    def _not_examined(self, diagnosis: Diagnosis) -> None:
        unread = diagnosis.facts.of(Unreadable)
        if unread:
            self._heading("What could not be examined")
        for item in unread:
            self._prose(f"  {self.symbols['unknown']} ", f"{line(item.what)}: {line(item.reason)}")

    def _not_checked(self, diagnosis: Diagnosis) -> None:
        reasons: dict[str, list[str]] = {}
        for skipped in diagnosis.skipped:
            reasons.setdefault(skipped.reason, []).append(skipped.code)
        if reasons:
            self._heading("Rules not considered")
        for reason, codes in reasons.items():
            self._prose(f"  {self.symbols['dot']} ", f"{', '.join(codes)}: {line(reason)}", style="dim")

    def _hints(self, diagnosis: Diagnosis) -> None:
        self._gap()
        hints = [f"`tfgpu-doctor code {diagnosis.verdict.code}` explains this finding"]
        if not self.verbose:
            hints.append(
                "`-v` shows every fact with its source, and `--trace` why this verdict; `--format markdown`"
                " makes a reply for an issue"
            )
        for hint in hints:
            self._prose("hint: ", hint, style="dim", hang="  ")

    # --- how things are printed

    def _gap(self) -> None:
        if not self.blank:
            self.rows.append("")
        self.blank = True

    def _heading(self, text: str) -> None:
        self._gap()
        self._verbatim(text, style="heading")

    def _paragraphs(self, lead: str, text: str) -> None:
        for paragraph in block(text).split("\n"):
            if paragraph.strip():
                self._prose(lead, paragraph.strip())

    def _prose(
        self, lead: str, text: str, *, style: str = "", rows: int = 0, hang: str | None = None
    ) -> None:
        """Print wrapped text after a lead. Later rows begin under the text. `rows` is the maximum number of
        rows to print (0: no limit)."""
        indent = " " * len(lead) if hang is None else hang
        width = max(12, self.width - max(len(lead), len(indent)))
        wrapped = wrap(text, width, rows, self.symbols["cut"])
        for i, row in enumerate(wrapped):
            self._verbatim(((lead if i == 0 else indent) + row).rstrip(), style=style)

    def _verbatim(self, text: str, style: str = "") -> None:
        """Print one line without wrapping or cutting it."""
        self.blank = not text
        self.rows.append(painted(text, style) if text and style and self.colour else text)

    def _code(self, text: str) -> None:
        """Print code that can be pasted: at the left edge, between blank lines."""
        self._gap()
        for row in block(text).rstrip().split("\n"):
            self._verbatim(row, style="code")
        self._gap()


RANKS = ("measured", "form", "prose", "inferred", "of a working run")
"""The names of the ranks of facts (doctor.facts.base), by number."""


def fact_in_words(fact: Fact) -> str:
    """Return a fact with its fields: "library not loaded: name libcudnn.so.8, cause absent"."""
    words = []
    for kind in type(fact).__mro__:
        for name in getattr(kind, "__slots__", ()):
            value = getattr(fact, name)
            if name == "source" or value in (None, "", (), False):
                continue
            if name == "rank":
                words += [f"rank {RANKS[value]}"] if value else []
            elif name == "detail":
                words += [f"{key} {item}" for key, item in value if item]
            elif isinstance(value, tuple):
                words.append(f"{name} {' and '.join(map(str, value))}")
            else:
                words.append(f"{name} {value}" if value is not True else name)
    name = in_words(type(fact).__name__)
    return f"{name}: {', '.join(words)}" if words else name
