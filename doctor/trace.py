"""Records why a case got its verdict: for each code, whether its rule ran, what the rule found, and what
later stages did with the finding.

`trace` returns one row for each decision, in order. It repeats the steps of `doctor.diagnose` and records
each of them, so that a developer can find the decision behind a wrong verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from doctor.facts import Facts, Source, in_words
from doctor.findings import Finding, Part

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.rules import RuleSet
    from doctor.tables import Tables

MERGED = "merged"
"""The stage that merges findings with the same cause."""
NOT_CONSIDERED = "not considered, because no relevant fact was found"


MODULES = {"cuda": "libraries", "cudnn": "libraries", "package": "packages", "program": "packages"}
"""The modules of doctor/judge that compare these parts; compatibility.py compares the others."""


class Row(NamedTuple):
    """One decision about one code.

    stage: rule, part (a row of "What goes together"; code is then the part's name), sign (evidence for or
    against a cause) or rank. outcome: what the stage decided, as text; for a sign, its weight (natural log
    odds) and name; for a rank, the place and the likelihood from 0 to 1. lines: where the evidence is.
    """

    stage: str
    code: str
    outcome: str
    lines: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the row as a dictionary for JSON."""
        return {"stage": self.stage, "code": self.code, "outcome": self.outcome, "evidence": list(self.lines)}


def trace(facts: Facts, tables: Tables) -> tuple[Row, ...]:
    """Return the decisions that led to the verdict on these facts. Raises what `diagnose` raises."""
    from doctor.diagnose import diagnose, gathered
    from doctor.judge.hypotheses import hypotheses, signs
    from doctor.judge.weights import WEIGHTS

    stages: list[tuple[str, list[Finding]]] = []
    case, by_rules, parts = gathered(facts, tables, stages=stages)
    rows = [*_of_rules(case, stages), *map(_of_part, parts)]
    for sign in signs(case, by_rules, parts):
        weight = WEIGHTS.get(sign.name, 0.0) * sign.value
        rows.append(Row("sign", sign.code, f"{weight:+.2f} {sign.name}", _lines(sign.sources)))
    verdict = diagnose(facts, tables).verdict
    first = by_rules[0].code
    for place, hypothesis in enumerate(hypotheses(case, by_rules, parts), 1):
        outcome = f"place {place}, likelihood {hypothesis.likelihood:.2f}"
        if hypothesis.code == verdict.code:
            outcome += f", the verdict ({verdict.severity}, {verdict.confidence})"
            outcome += f" instead of the rules' first finding, {first}" if first != verdict.code else ""
        if hypothesis.against:
            outcome += "; there is evidence against it"
            outcome += ", so it is not the verdict" if place == 1 and hypothesis.code != verdict.code else ""
        rows.append(Row("rank", hypothesis.code, outcome))
    return tuple(rows)


def _of_rules(case: Case, stages: list[tuple[str, list[Finding]]]) -> Iterable[Row]:
    from doctor.rules import rule_set

    judges = rule_set()
    ready = judges.ready(case.seen)
    first = stages[0][1]
    for code in judges.codes:
        mine = [finding for finding in first if finding.code == code]
        read = ", ".join(map(in_words, judges.read(code, case.seen))) or "all facts"
        if code not in ready:
            yield Row("rule", code, NOT_CONSIDERED)
        elif not mine:
            yield Row("rule", code, f"ran and found nothing (asked because of: {read})")
        for finding in mine:
            behind = f"asked because of: {read}; in {_file(code)}"
            behind += f"; tables: {'; '.join(finding.tables)}" if finding.tables else ""
            became = _became(finding, stages, judges)
            outcome = f"found, {finding.severity}, {finding.confidence} ({behind}){became}"
            yield Row("rule", code, outcome, _lines(finding.evidence))


def _of_part(part: Part) -> Row:
    fits = {True: "fits", False: "does not fit", None: "not known whether it fits"}[part.fits]
    outcome = f"has {part.have or 'an unknown version'}; needs {part.needs or 'nothing'}: {fits}"
    outcome += f", because {part.reason}" if part.reason else ""
    behind = (*part.tables, f"in doctor/judge/{MODULES.get(part.part, 'compatibility')}.py")
    return Row("part", part.part, f"{outcome} ({'; '.join(behind)})", _lines(part.evidence))


def _file(code: str) -> str:
    """Return the file with the rule for a code, relative to the project's folder."""
    from doctor.rules import PLACES

    return f"doctor/rules/{PLACES[code].replace('.', '/')}.py"


def _became(finding: Finding, stages: list[tuple[str, list[Finding]]], judges: RuleSet) -> str:
    """Return what later stages did with a rule's finding, as text to append to the outcome, or "" if they
    left the finding unchanged."""
    confidence = finding.confidence
    for (_, before), (name, after) in zip(stages, stages[1:]):
        left = next((other for other in after if other.code == finding.code), None)
        if left is None:
            causes = [
                f.code
                for f in before
                if f.code != finding.code and finding.code in judges.by_code[f.code].explains
            ]
            if causes and name == MERGED:
                whose = " and ".join(causes)
                return f"; then treated as a consequence of {whose} (`explains` in the rule for {whose})"
            return f"; then {name}: dropped"
        if left.confidence != confidence:
            confidence = left.confidence
            return f"; then {name}: {confidence}"
    return ""


def _lines(sources: Iterable[Source]) -> tuple[str, ...]:
    return tuple(str(source) for source in sources)[:4]
