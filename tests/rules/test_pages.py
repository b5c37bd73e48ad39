"""Tests the page of every code, and the texts that people paste from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from doctor.findings import SEVERITIES
from doctor.rules import ORDER, Rule, all_rules
from tests.rules.cases import FIRES
from tests.rules.situation import diagnosed
from tests.sampling import each, sampled

SECTIONS = ("## What it means", "## What you see", "## What to do")
INFO = {"gpu-renumbered", "benign-messages", "healthy", "undetermined"}
PLACEHOLDER = re.compile(
    r"\b(?:IMAGE|NAME|FOLDER|OLD|NEW|PATH_TO|YOUR_\w+|CAPABILITY|VERSION|NNN)\b|<\w[\w -]*>|\bTODO\b|\bXXX\b"
)
RULES = Path(__file__).resolve().parents[2] / "doctor" / "rules"


@each("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_page_has_a_title_and_its_sections_in_order(rule: Rule) -> None:
    page = rule.page
    places = [page.find(section) for section in SECTIONS]
    missing = [section for section, place in zip(SECTIONS, places) if place <= 0]
    assert not missing, f"{rule.code}: the docstring has no heading {missing}"
    assert places == sorted(places)
    first = page.split("\n", 1)[0]
    assert first.endswith(".")
    assert first == first.strip()
    for start, end in zip(places, [*places[1:], len(page)]):
        assert len(page[start:end].split("\n", 1)[1].strip()) > 5


@each("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_title_is_one_line_of_at_most_80_characters(rule: Rule) -> None:
    assert rule.title
    assert "\n" not in rule.title
    assert len(rule.title) <= 80
    assert not rule.title.endswith(".")


@each("rule", all_rules(), ids=lambda rule: rule.code)
def test_only_the_calm_codes_have_the_severity_info(rule: Rule) -> None:
    assert rule.severity in SEVERITIES
    assert (rule.severity == "info") == (rule.code in INFO)


def test_codes_are_spelled_in_one_style() -> None:
    assert len(ORDER) == len(set(ORDER)) == len(all_rules())
    assert all(re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)+|healthy|undetermined", code) for code in ORDER)


@each("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_explains_codes_that_exist_and_not_itself(rule: Rule) -> None:
    assert set(rule.explains) <= set(ORDER)
    assert rule.code not in rule.explains


def test_every_kind_of_symptom_that_a_rule_asks_for_can_be_seen() -> None:
    """If no reader or probe produces a symptom, it can never make a rule fire."""
    package = RULES.parent
    folders = ("facts", "logs", "probe", "case")
    makers = [path for folder in folders for path in (package / folder).rglob("*.py")]
    made = {
        word
        for path in makers
        for word in re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", path.read_text(encoding="utf-8"))
    }
    asked = {need for rule in all_rules() for need in rule.needs if isinstance(need, str)}
    platforms = {f"on-{word}" for word in made}
    variables = {name for name in asked if name.isupper()}  # environment variables are read under any name
    assert not asked - made - platforms - variables


@pytest.mark.parametrize("part", sampled(range(8), 1))
def test_no_command_contains_a_placeholder(part: int) -> None:
    cases = FIRES[part::8]
    findings = [(case, finding) for case in cases for finding in diagnosed(case.text).findings]
    commands = [
        (case, s.text) for case, finding in findings for s in finding.prescription if s.kind != "manual"
    ]
    commands += [(case, finding.verify) for case, finding in findings]
    assert len(commands) > len(cases)
    assert not [(case.situation, text) for case, text in commands if PLACEHOLDER.search(text)]
