"""Repeats the findings that a report from this tool states, in the same order, because such a report may not
contain all facts."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts import Facts, RestatedFinding
from doctor.findings import Finding, shell
from doctor.rules import PLACES, rule_of
from doctor.shell import run
from doctor.values import replace


def restated(findings: Sequence[Finding], facts: Facts) -> list[Finding]:
    """Return the findings that the report states; if it states none, return `findings`, which the rules
    derived.

    If the facts in the report are enough for the rule of a stated finding, the finding has the rule's text.
    Stated codes without a rule are left out. Findings that the report does not state are left out too: the
    rules derived them from incomplete facts, and the `check` that wrote the report did not make them.
    """
    known = {finding.code: finding for finding in findings}
    result: dict[str, Finding] = {}
    for fact in facts.of(RestatedFinding):
        if fact.code in result or fact.code not in PLACES:
            continue
        rule = rule_of(fact.code)
        severity = fact.severity or rule.severity
        if fact.code in known:
            result[fact.code] = replace(known[fact.code], severity=severity, confidence=fact.confidence)
            continue
        result[fact.code] = Finding(
            fact.code,
            severity,
            rule.title,
            "A report from tfgpu-doctor states this finding. The facts in that report are not enough to"
            " derive the steps again.",
            (fact.source,),
            prescription=(
                shell(
                    run("tfgpu-doctor", "check", "--format", "markdown"),
                    "run this on the machine: it makes a report that contains every fact",
                ),
            ),
            confidence=fact.confidence,
        )
    return list(result.values()) or list(findings)
