"""Tests the output of scripts/build_site: it is small, the same each time, and complete without the parts
that are left out."""

from __future__ import annotations

import gzip
import importlib.machinery
import importlib.util
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tests.site.conftest import ROOT

LIMIT = 8_000_000
IMPORT = re.compile(r"^(?:from ([\w.]+) import|import ([\w., ]+))", re.MULTILINE)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    sys.path.insert(0, str(ROOT / "scripts"))
    loader = importlib.machinery.SourceFileLoader("build_site", str(ROOT / "scripts" / "build_site"))
    spec = importlib.util.spec_from_loader("build_site", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.path.remove(str(ROOT / "scripts"))
    return module


def imported(text: str) -> set[str]:
    """Return the modules that a module imports when it is imported."""
    return {
        name.split()[0]
        for one, several in IMPORT.findall(text)
        for name in ([one] if one else several.split(","))
        if name.strip()
    }


@pytest.mark.page
@pytest.mark.slow
def test_the_site_is_small_and_complete(built: Path) -> None:
    files = {
        path.relative_to(built).as_posix(): path.read_bytes() for path in built.rglob("*") if path.is_file()
    }
    assert sum(min(len(data), len(gzip.compress(data, 9))) for data in files.values()) < LIMIT
    kept = re.search(r"const FILES = (\[.*?\]);", files["sw.js"].decode(), re.DOTALL)
    assert kept
    assert set(re.findall(r'"([^"]+)"', kept[1])) == set(files) - {"sw.js"} | {"./"}
    with zipfile.ZipFile(built / "judge.zip") as archive:
        names = archive.namelist()
    assert not [name for name in names if name.endswith(".py")]
    assert [name for name in names if name.startswith("licenses/packaging/")]


@pytest.mark.page
@pytest.mark.slow
def test_the_build_is_reproducible_and_does_not_overwrite_other_folders(built: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    shutil.copytree(built, again)
    (again / "of-an-earlier-build.html").write_text("old")
    subprocess.run(
        [sys.executable, str(ROOT / "scripts/build_site"), str(again)],
        capture_output=True,
        timeout=300,
        check=True,
    )
    files = {path.relative_to(built): path.read_bytes() for path in built.rglob("*") if path.is_file()}
    assert {
        path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()
    } == files
    assert [p.name for p in tmp_path.iterdir()] == ["again"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/build_site"), str(other)],
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1
    assert b"something else" in done.stderr
    assert (other / "thesis.txt").read_text() == "mine"


def test_the_site_contains_every_python_module_that_the_judge_imports(script: ModuleType) -> None:
    """The logs and plans in test_page.py test the modules that are imported only inside functions."""
    judge = [
        p
        for p in (ROOT / "doctor").rglob("*.py")
        if not p.relative_to(ROOT).as_posix().startswith(script.LEFT_OUT)
    ]
    assert len(judge) > 200
    for path in judge:
        for name in imported(path.read_text(encoding="utf-8")):
            assert not script.NOT_IN_PYTHON.match(name.replace(".", "/") + "/"), f"{path.name} imports {name}"
            for end in (".py", "/"):
                assert not f"{name.replace('.', '/')}{end}".startswith(script.LEFT_OUT), (
                    f"{path.name} imports {name}"
                )


def test_the_npm_lock_file_has_hashes_and_no_host() -> None:
    lock = (ROOT / "scripts/site/package-lock.json").read_text(encoding="utf-8")
    assert "://" not in lock
    assert lock.count('"integrity"') == lock.count('"node_modules/')
