"""Tests that the list of symptoms in doctor.probe is complete: each symptom that a probe reports is in the
list, and some probe reports each symptom in the list."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import doctor.probe
from doctor.probe import kernel_log

FOLDER = Path(doctor.probe.__file__).parent


def documented() -> set[str]:
    """Return the kinds of symptoms that the docstring of the package lists."""
    lines = re.findall(r"^    ([a-z][a-z0-9-]*(?:, [a-z][a-z0-9-]*)*) +\S", doctor.probe.__doc__ or "", re.M)
    return {kind for line in lines for kind in line.split(", ")}


def made() -> set[str]:
    """Return the kinds of symptoms, or beginnings of kinds, that occur as literals in the code of the
    probes."""
    calls = (
        node
        for path in FOLDER.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Symptom" and len(node.args) > 1
    )
    return {kind for kind, _ in kernel_log.MESSAGES} | {
        n.value
        for call in calls
        for n in ast.walk(call.args[1])
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }


def test_every_symptom_that_a_probe_makes_is_documented() -> None:
    assert {
        kind
        for kind in made()
        if not any(word == kind or (kind.endswith("-") and word.startswith(kind)) for word in documented())
    } == set()


def test_every_documented_symptom_can_be_made() -> None:
    texts = " ".join(
        path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py") if path.name != "__init__.py"
    )
    assert len(documented()) > 30
    assert {
        word
        for word in documented()
        if f'"{word}"' not in texts
        and not any(word.startswith(kind) for kind in made() if kind.endswith("-"))
    } == set()
