"""The import direction of the house, and what may not be imported at start-up."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "doctor"

# A module may import from its own layer and from those before it.
LAYERS = (
    ("doctor", "doctor.facts", "doctor.errors", "doctor.redact", "doctor.values", "doctor.processes", "doctor.files",
     "doctor.web", "doctor.printable", "doctor.shell", "doctor.validated", "doctor.backports",
     "doctor.resources"),
    ("doctor.findings", "doctor.tables"),
    ("doctor.compat", "doctor.logs", "doctor.probe", "doctor.picture", "doctor.simulate", "doctor.children", "doctor.charts"),
    ("doctor.remedies", "doctor.plan"),
    ("doctor.rules",),
    ("doctor.judge",),
    ("doctor.diagnose", "doctor.restated", "doctor.trace"),
    ("doctor.inputs", "doctor.addresses"),
    ("doctor.install", "doctor.reproduce", "doctor.bench", "doctor.devices", "doctor.render", "doctor.fleet"),
    ("doctor.api",),
    ("doctor.notebook", "doctor.mcp", "doctor.issues"),
    ("doctor.site",),
    ("doctor.commands",),
    ("doctor.cli", "doctor.__main__", "doctor.fleet._boot"),  # a node starts with the last
)


def _layer(module: str) -> int:
    best = -1
    for i, names in enumerate(LAYERS):
        for name in names:
            if module == name or (name != "doctor" and module.startswith(name + ".")):
                best = i
    return best


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_every_module_imports_only_from_layers_before_it() -> None:
    for path in _modules():
        _imports_only_from_layers_before_it(path)


def _imports_only_from_layers_before_it(path: Path) -> None:
    here = _layer(_name(path))
    assert here >= 0, f"{_name(path)} stands in no layer: give it a place in the house"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "doctor":
                names = [f"doctor.{alias.name}" for alias in node.names if (PACKAGE / alias.name).exists() or (PACKAGE / f"{alias.name}.py").exists()]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.split(".")[0] == "doctor":
                assert _layer(name) <= here, f"{_name(path)} imports {name}, which comes after it"


def test_no_module_imports_what_only_a_checkout_has() -> None:
    """scripts and tests are not in the wheel."""
    for path in _modules():
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not {name.split(".")[0] for name in names} & {"scripts", "tests"}, path
        assert "-m scripts" not in text, path


IMPORTED_AS = {"nvidia-ml-py": "pynvml"}
GUARDED = {"ahocorasick", "cairosvg", "zstandard", "tensorflow", "numpy", "pip", "urllib3", "ray", "compat_tables", "doctor",
           "IPython", "mcp", "pydantic", "typing_extensions"}
"""Imported where they are there (urllib3 with requests, whose connections it makes), or in the patient's own interpreter; ray in the user's."""


@pytest.mark.skipif(sys.version_info < (3, 10), reason="sys.stdlib_module_names came with 3.10")
def test_every_package_that_is_imported_is_asked_for() -> None:
    declared = re.search(r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M | re.S)
    assert declared
    names = re.findall(r'"([\w-]+)', declared[1])
    asked = {IMPORTED_AS.get(name, name) for name in names}
    used: set[str] = set()
    for path in _modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and not node.level:
                used.add((node.module or "").split(".")[0])
            elif isinstance(node, ast.Import):
                used |= {alias.name.split(".")[0] for alias in node.names}
    assert used - sys.stdlib_module_names - GUARDED == asked


def _imported(*arguments: str) -> set[str]:
    code = "import sys; from doctor.cli import main; main(sys.argv[1:]); print('\\n@@', *sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    return set(out.stdout.rpartition("@@")[2].split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["code", "gpu-hidden"]], ids=" ".join)
def test_start_up_imports_nothing_heavy(arguments: list[str]) -> None:
    loaded = _imported(*arguments)
    assert "doctor.cli" in loaded
    assert not loaded & {"rich", "requests", "packaging", "pynvml", "elftools", "tensorflow", "numpy"}


def test_nothing_names_a_folder_that_says_nothing() -> None:
    vague = {"utils", "util", "helpers", "helper", "manager", "misc", "common"}
    assert not [p for p in PACKAGE.rglob("*") if p.stem in vague]
