"""Tests that every code fires when it must, and does not fire for texts that only look similar."""

from __future__ import annotations

from doctor.rules import all_rules
from tests.rules.cases import FIRES, NEAR_MISSES
from tests.rules.situation import Fires, NearMiss, diagnosed, line_of
from tests.sampling import each

CODES = tuple(rule.code for rule in all_rules())


@each("code", CODES)
def test_each_code_has_a_firing_text_and_a_near_miss(code: str) -> None:
    assert [case for case in FIRES if case.code == code], f"{code} needs a Fires row (tests/rules/cases)"
    assert [case for case in NEAR_MISSES if case.code == code], f"{code} needs a NearMiss row"


def test_every_case_has_an_existing_code() -> None:
    assert not {case.code for case in (*FIRES, *NEAR_MISSES)} - set(CODES)
    assert not {case.verdict for case in NEAR_MISSES} - set(CODES)
    assert not [case for case in NEAR_MISSES if case.code == case.verdict]


@each("case", FIRES, ids=lambda case: f"{case.code}: {case.situation}")
def test_fires(case: Fires) -> None:
    diagnosis = diagnosed(case.text)
    verdict = diagnosis.verdict
    if case.code == "undetermined" and verdict.confidence == "possible":
        return  # nothing is proved, and causes that the sentences make possible are named
    assert verdict.code == case.code, [f.code for f in diagnosis.findings]
    number = line_of(case.text, case.deciding)
    assert number in [source.line for source in verdict.evidence], verdict.evidence
    assert [s for s in verdict.evidence if s.line == number and s.text.strip()]
    assert verdict.verify
    steps = [step.text for step in verdict.prescription]
    if verdict.severity != "info":
        assert steps
    for piece in case.says:
        assert [s for s in steps if piece in s], f"no step says {piece!r}: {steps}"
    here = [
        s.text for s in verdict.prescription if s.platform != "wsl"
    ]  # the inside of WSL2 counts as another machine
    for piece in case.never:
        assert not [s for s in here if piece in s], f"a step says {piece!r}: {here}"
    for piece in case.words:
        assert piece in verdict.explanation
    assert case.verify in verdict.verify


@each("case", NEAR_MISSES, ids=lambda case: f"{case.code}: {case.situation}")
def test_near_miss(case: NearMiss) -> None:
    """If nothing is proved, the answer may name only causes that the sentences make possible."""
    findings = diagnosed(case.text).findings
    verdict = findings[0]
    guess = case.verdict == "undetermined" and verdict.confidence == "possible"
    assert verdict.code == case.verdict or guess, [(f.code, f.confidence) for f in findings]
    assert case.code not in [f.code for f in findings if f.confidence != "possible"]
