"""Tests that the layers import each other only in the allowed direction, and that certain modules are not
imported at the start."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sampling import sampled
from tests.sources import imports_and_calls, parsed

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "doctor"

# A module may import from its own layer and from the layers before it.
LAYERS = (
    (
        "doctor",
        "doctor.facts",
        "doctor.errors",
        "doctor.redact",
        "doctor.values",
        "doctor.processes",
        "doctor.files",
        "doctor.folders",
        "doctor.lazy",
        "doctor.web",
        "doctor.printable",
        "doctor.shell",
        "doctor.validated",
        "doctor.backports",
        "doctor.resources",
    ),
    ("doctor.findings", "doctor.tables"),
    (
        "doctor.compat",
        "doctor.logs",
        "doctor.probe",
        "doctor.case",
        "doctor.simulate",
        "doctor.subprocesses",
        "doctor.charts",
    ),
    ("doctor.remedies", "doctor.plan"),
    ("doctor.rules",),
    ("doctor.judge",),
    ("doctor.diagnose", "doctor.restated", "doctor.trace"),
    ("doctor.inputs", "doctor.addresses"),
    ("doctor.install", "doctor.reproduce", "doctor.bench", "doctor.devices", "doctor.render", "doctor.fleet"),
    ("doctor.api",),
    ("doctor.captured", "doctor.notebook", "doctor.mcp", "doctor.issues"),
    ("doctor.site",),
    ("doctor.commands",),
    ("doctor.cli", "doctor.__main__", "doctor.fleet._boot"),  # a node starts with the last of these
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
    assert here >= 0, f"{_name(path)} is in no layer: add it to one"
    for node in imports_and_calls(path):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "doctor":
                names = [
                    f"doctor.{alias.name}"
                    for alias in node.names
                    if (PACKAGE / alias.name).exists() or (PACKAGE / f"{alias.name}.py").exists()
                ]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.split(".")[0] == "doctor":
                assert _layer(name) <= here, f"{_name(path)} imports {name}, which comes after it"


def _run_time(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the syntax nodes that are evaluated at run time, without annotations (which stay text) and code
    that is only for type checkers."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns") or (
                field == "body" and isinstance(node, ast.If) and ast.dump(node.test).count("TYPE_CHECKING")
            ):
                continue
            children = value if isinstance(value, list) else [value]
            left += [child for child in children if isinstance(child, ast.AST)]


SUBSCRIPTED_SINCE_3_9 = {
    *("dict", "frozenset", "list", "set", "tuple", "type", "Counter", "OrderedDict", "defaultdict", "deque"),
    *("CompletedProcess", "Future", "Match", "PathLike", "Pattern", "Popen", "Queue"),
}
"""Names that can be subscripted only since Python 3.9 (PEP 585), besides those in collections.abc."""
TYPING_SINCE_3_9 = {
    "Annotated",
    "Concatenate",
    "Never",
    "NotRequired",
    "ParamSpec",
    "Required",
    "Self",
    "TypeAlias",
    "TypeGuard",
    "Unpack",
    "assert_never",
    "override",
}


@pytest.mark.parametrize("folder", sampled(["doctor", "compat_tables", "scripts", "tests"], 1))
def test_no_module_uses_typing_names_that_python_3_8_lacks(folder: str) -> None:
    """For example, `set[str]()` would fail on Python 3.8, but only on machines that run this code."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        if ROOT / "tests/data" in path.parents:  # recorded
            continue
        text = path.read_text(encoding="utf-8")
        if "from typing_extensions" in text:  # for an SDK that needs Python 3.10
            continue
        nodes = list(_run_time(parsed(path)))
        taken = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        types = SUBSCRIPTED_SINCE_3_9 | {
            name.asname or name.name
            for node in taken
            if node.module == "collections.abc"
            for name in node.names
        }
        types -= {name.name for node in taken if node.module == "typing" for name in node.names}
        for node in nodes:
            if isinstance(node, ast.Subscript):
                name = getattr(node.value, "id", None) or getattr(node.value, "attr", None)
                assert name not in types, f"{path}:{node.lineno}: {name}[...]"
        for node in taken:
            lacking = {name.name for name in node.names} & TYPING_SINCE_3_9
            assert node.module != "typing" or not lacking, f"{path}:{node.lineno}: {lacking}"


def test_no_module_imports_packages_that_only_a_clone_contains() -> None:
    """scripts and tests are not in the wheel."""
    for path in _modules():
        text = path.read_text(encoding="utf-8")
        for node in imports_and_calls(path):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not {name.split(".")[0] for name in names} & {"scripts", "tests"}, path
        assert "-m scripts" not in text, path


IMPORTED_AS = {"nvidia-ml-py": "pynvml"}
GUARDED = {
    "ahocorasick",
    "cairosvg",
    "zstandard",
    "tensorflow",
    "numpy",
    "pip",
    "urllib3",
    "ray",
    "compat_tables",
    "doctor",
    "IPython",
    "mcp",
    "pydantic",
    "typing_extensions",
}
"""Packages that are imported only if they are installed (urllib3 comes with requests, which uses it for
connections), or in the examined interpreter; ray in the user's interpreter."""


@pytest.mark.skipif(sys.version_info < (3, 10), reason="sys.stdlib_module_names came with 3.10")
def test_every_imported_package_is_a_declared_dependency() -> None:
    declared = re.search(
        r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M | re.S
    )
    assert declared
    names = re.findall(r'"([\w-]+)', declared[1])
    asked = {IMPORTED_AS.get(name, name) for name in names}
    used: set[str] = set()
    for path in _modules():
        for node in imports_and_calls(path):
            if isinstance(node, ast.ImportFrom) and not node.level:
                used.add((node.module or "").split(".")[0])
            elif isinstance(node, ast.Import):
                used |= {alias.name.split(".")[0] for alias in node.names}
    assert used - sys.stdlib_module_names - GUARDED == asked


def _imported(*arguments: str) -> set[str]:
    code = "import sys; from doctor.cli import main; main(sys.argv[1:]); print('\\n@@', *sorted(sys.modules))"
    out = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    return set(out.stdout.rpartition("@@")[2].split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["code", "gpu-hidden"]], ids=" ".join)
def test_start_imports_nothing_slow(arguments: list[str]) -> None:
    loaded = _imported(*arguments)
    assert "doctor.cli" in loaded
    assert not loaded & {"rich", "requests", "packaging", "pynvml", "elftools", "tensorflow", "numpy"}


@pytest.mark.parametrize("arguments", [["explain", "README.md"], ["check"]], ids=" ".join)
def test_text_for_a_pipe_imports_nothing_slow(arguments: list[str]) -> None:
    """Importing one of these modules takes at least as long as starting Python."""
    loaded = _imported(*arguments)
    assert "doctor.render.terminal" in loaded
    assert "rich" not in loaded
    if sys.version_info < (3, 14):  # later, argparse imports them for its colours
        assert not loaded & {"dataclasses", "inspect"}


def test_no_folder_has_a_meaningless_name() -> None:
    vague = {"utils", "util", "helpers", "helper", "manager", "misc", "common"}
    assert not [p for p in PACKAGE.rglob("*") if p.stem in vague]
