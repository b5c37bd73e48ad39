"""Tests that patterns are compiled and modules imported only when they are used, because each command needs
only a few of them."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from doctor import lazy
from tests.conftest import ROOT

COMPILED_AT_IMPORT = """
import importlib, pkgutil, re, sys
import doctor

ours, compiled = re.compile, []

def noting(pattern, flags=0):
    module = sys._getframe(1).f_globals["__name__"]
    if module.startswith("doctor.") and module != "doctor.lazy":
        compiled.append(f"{module}: {pattern}")
    return ours(pattern, flags)

re.compile = noting
for module in pkgutil.walk_packages(doctor.__path__, "doctor."):
    if "._" not in module.name:  # what begins so is a program for another interpreter
        try:
            importlib.import_module(module.name)
        except ImportError:  # an extra that is not installed
            pass
print("\\n".join(compiled))
"""


def test_a_lazy_pattern_behaves_like_a_compiled_pattern() -> None:
    pattern = lazy.compile(r"(?P<name>\w+)=(\d+)", re.IGNORECASE)
    same = re.compile(r"(?P<name>\w+)=(\d+)", re.IGNORECASE)
    text = "a=1 and B=22"
    assert [m.groups() for m in pattern.finditer(text)] == [m.groups() for m in same.finditer(text)]
    assert pattern.sub(r"\g<name>", text) == same.sub(r"\g<name>", text) == "a and B"
    assert (pattern.pattern, pattern.flags, pattern.groups) == (same.pattern, same.flags, same.groups)
    assert lazy.compile(rb"\d+").findall(b"1 22") == [b"1", b"22"]


def test_an_invalid_pattern_fails_at_its_first_use() -> None:
    pattern = lazy.compile("(")
    with pytest.raises(re.error):
        pattern.search("x")


@pytest.mark.slow  # only the time of a short call depends on it
def test_no_module_compiles_a_pattern_when_it_is_imported() -> None:
    """Outside of functions, `lazy.compile` must be used instead of `re.compile`."""
    done = subprocess.run(
        [sys.executable, "-c", COMPILED_AT_IMPORT],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("package", ["doctor.compat", "doctor.remedies", "doctor.remedies.code"])
def test_each_lazy_name_of_a_package_is_in_its_module(package: str) -> None:
    promised = _for_the_type_checker(package)
    assert promised
    found = importlib.import_module(package)
    for name, module in promised.items():
        first = getattr(found, name)  # before something else imports its module
        real = importlib.import_module(module)
        expected = importlib.import_module(f"{package}.{name}") if module == package else getattr(real, name)
        assert first is expected or first.__name__ == expected.__name__


def _for_the_type_checker(package: str) -> dict[str, str]:
    """Return a dictionary from each name that a package declares for the type checker to the module from
    which the name comes."""
    source = Path(importlib.import_module(package).__file__ or "").read_text(encoding="utf-8")
    block = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    assert "TYPE_CHECKING" in ast.dump(block.test)
    return {
        alias.name: node.module or ""
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_an_unknown_name_of_a_package_is_an_attribute_error() -> None:
    from doctor import compat

    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        compat.no_such_name  # noqa: B018
