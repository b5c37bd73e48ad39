"""The catalogue of codes: where each rule is, and that one is read without the others."""

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

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "doctor" / "rules"
HOLDERS = frozenset(PLACES.values())


@pytest.mark.parametrize("code", ORDER)
def test_a_code_is_held_by_the_module_that_the_catalogue_names(code: str) -> None:
    rule = rule_of(code)
    assert rule.code == code
    assert rule.judge.__module__ == f"doctor.rules.{PLACES[code]}"


def test_no_rule_is_outside_of_the_catalogue() -> None:
    for path in RULES.rglob("*.py"):
        if path.stem != "__init__":
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    from doctor.rules.registry import RULES as registered

    assert set(registered) == set(PLACES)
    assert tuple(rule.code for rule in all_rules()) == ORDER


def test_a_code_that_does_not_exist_is_refused() -> None:
    with pytest.raises(KeyError):
        rule_of("no-such-code")


def test_one_page_is_read_without_the_other_rules() -> None:
    code = "import json, sys; from doctor.rules import rule_of; rule_of('library-path'); print(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True)
    loaded = {removeprefix(name, "doctor.rules.") for name in json.loads(out.stdout)}
    assert loaded & HOLDERS == {"libraries.path"}


@pytest.mark.parametrize("path", sorted(RULES.rglob("*.py")), ids=lambda path: path.relative_to(RULES).as_posix())
def test_no_module_imports_another_rule(path: Path) -> None:
    """What two rules share stands in a module of its own."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("doctor.rules."):
            assert removeprefix(node.module, "doctor.rules.") not in HOLDERS


@pytest.mark.parametrize("path", sorted(RULES.rglob("*.py")), ids=lambda path: path.relative_to(RULES).as_posix())
def test_a_module_of_rules_is_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300
