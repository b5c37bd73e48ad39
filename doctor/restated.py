"""Restates the findings of a report of this tool that does not hold all facts: its codes, in its order."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts import Facts, RestatedFinding
from doctor.findings import Finding, shell
from doctor.rules import PLACES, rule_of
from doctor.shell import run
from doctor.values import replace


def restated(findings: Sequence[Finding], facts: Facts) -> list[Finding]:
    """The findings of the rules, if the facts state none themselves.

    Otherwise the stated findings, each in its rule's words if the listed facts suffice for it. Codes without
    a rule are left out. So are other findings of the rules: they lack facts, and the report's own check did
    not find them.
    """
    stated = [fact for fact in facts.of(RestatedFinding) if fact.code in PLACES]
    known = {finding.code: finding for finding in findings}
    result: dict[str, Finding] = {}
    for fact in stated:
        if fact.code in result:
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
            "A report of tfgpu-doctor states this. The facts in it are not enough to derive the steps again.",
            (fact.source,),
            prescription=(
                shell(
                    run("tfgpu-doctor", "check", "--format", "markdown"),
                    "on the machine: makes a report that contains every fact",
                ),
            ),
            confidence=fact.confidence,
        )
    return list(result.values()) or list(findings)
