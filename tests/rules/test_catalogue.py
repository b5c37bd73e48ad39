"""Tests the catalogue of codes: it states where each rule is, and importing a rule does not import the other
rules."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from doctor.backports import removeprefix
from doctor.rules import ORDER, PLACES, all_rules, rule_of
from tests.sampling import each
from tests.sources import imports_and_calls

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "doctor" / "rules"
HOLDERS = frozenset(PLACES.values())


@each("code", ORDER)
def test_each_code_is_in_the_module_that_the_catalogue_names(code: str) -> None:
    rule = rule_of(code)
    assert rule.code == code
    assert rule.judge.__module__ == f"doctor.rules.{PLACES[code]}"


def test_every_rule_is_in_the_catalogue() -> None:
    for path in RULES.rglob("*.py"):
        if path.stem != "__init__":
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    from doctor.rules.registry import RULES as registered

    assert set(registered) == set(PLACES)
    assert tuple(rule.code for rule in all_rules()) == ORDER


def test_an_unknown_code_raises_key_error() -> None:
    with pytest.raises(KeyError):
        rule_of("no-such-code")


def test_reading_one_page_imports_no_other_rule() -> None:
    code = (
        "import json, sys; from doctor.rules import rule_of; rule_of('library-path');"
        " print(json.dumps(sorted(sys.modules)))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    )
    loaded = {removeprefix(name, "doctor.rules.") for name in json.loads(out.stdout)}
    assert loaded & HOLDERS == {"libraries.path"}


def test_needs_json_is_up_to_date() -> None:
    """This fails if a rule's `needs` changed after the file was made: `python scripts/rule_needs.py` updates
    the file."""
    kept = json.loads((RULES / "needs.json").read_text(encoding="utf-8"))
    assert list(kept) == list(ORDER), "run python scripts/rule_needs.py"
    assert kept == {rule.code: list(rule.reads) for rule in all_rules()}, "run python scripts/rule_needs.py"


def test_a_report_imports_only_the_rules_whose_needs_it_meets() -> None:
    code = (
        "import json, sys; from doctor import api; api.explain('CUDA_ERROR_OUT_OF_MEMORY: out of"
        " memory').to_dict(); from doctor.rules import PLACES; print(json.dumps(sorted(sys.modules)))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    )
    loaded = {removeprefix(name, "doctor.rules.") for name in json.loads(out.stdout)} & HOLDERS
    assert "memory.model" in loaded
    assert len(loaded) < len(HOLDERS) / 2


@each("path", sorted(RULES.rglob("*.py")), ids=lambda path: path.relative_to(RULES).as_posix())
def test_no_module_imports_another_rule(path: Path) -> None:
    """Code that two rules share must be in a separate module."""
    for node in imports_and_calls(path):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("doctor.rules."):
            assert removeprefix(node.module, "doctor.rules.") not in HOLDERS


@each("path", sorted(RULES.rglob("*.py")), ids=lambda path: path.relative_to(RULES).as_posix())
def test_each_module_has_at_most_400_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
