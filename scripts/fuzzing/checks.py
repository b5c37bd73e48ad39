"""Checks conditions that must hold for every answer, whatever the input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.facts import Facts


def check(data: bytes) -> None:
    """Pass one input through the whole tool. Raises AssertionError, or whatever the code under test
    raises."""
    from doctor.logs import NotText, read

    try:
        facts = read(data, "report.txt")
    except NotText:
        return
    judged(facts)


def judged(facts: Facts) -> None:
    """Pass facts through all stages after the reading, and check the answers."""
    from doctor.diagnose import diagnose
    from doctor.render import Options, rendered
    from doctor.tables import Tables
    from tests.shell_readers import held

    diagnosis = diagnose(facts, Tables.bundled())
    broken = [s for s in diagnosis.skipped if s.reason.startswith("the rule failed")]
    assert not broken, f"a rule broke: {broken[0].code}: {broken[0].reason}"
    for finding in diagnosis.findings:
        for step in (*finding.prescription, *([finding.proof] if finding.proof else [])):
            if step.kind == "shell" and step.command is not None:
                held(step.command, step.platform or "linux")
        for source in finding.evidence:
            if facts.kind == "report" and source.where == facts.name and source.line is not None:
                assert 1 <= source.line <= facts.lines, (
                    f"{finding.code} quotes line {source.line} of {facts.lines}"
                )
    for form in ("text", "json", "markdown", "html"):
        text = rendered(diagnosis, Options(form, verbose=1))
        bad = {c for c in text if not c.isprintable() and c != "\n"}
        assert not bad, f"{form} contains {sorted(map(hex, map(ord, bad)))}"
        text.encode("utf-8")
        if form == "json":
            json.loads(text)
