"""Tests how the tool uses the installer's own resolver, in a dry run with an index on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.install import interpreters
from doctor.install.resolver import resolved
from doctor.plan import Outcome
from doctor.tables import Tables
from tests.install.jobs import HERE
from tests.plan.contexts import outcome


@pytest.fixture
def found(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    monkeypatch.setattr(interpreters, "uv", lambda: None)  # uv uses another index
    monkeypatch.setattr(interpreters, "find", lambda version: sys.executable)
    return outcome(tables, gpu="RTX 3080", python=HERE if HERE != "3.14" else "3.13")


@pytest.mark.slow
def test_conflict_among_plain_packages_is_a_finding_and_nothing_is_installed(
    found: Outcome, index: Callable[..., Path], tmp_path: Path
) -> None:
    index("alpha", "1.0", ("beta<2",))
    index("beta", "3.0")
    file = tmp_path / "requirements.txt"
    file.write_text("alpha\nbeta==3.0\n")
    after = resolved(found, [str(file)], quiet=True)
    assert not after.works
    assert after.findings[0].code == "python-dependency-conflict"
    assert "beta" in after.findings[0].evidence[0].text
    file.write_text("beta==3.0\n")
    assert resolved(found, [str(file)], quiet=True).works


@pytest.mark.slow
def test_a_missing_network_is_reported(
    found: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    file = tmp_path / "requirements.txt"
    file.write_text("beta==3.0\n")
    left_open(resolved(found, [str(file)], quiet=True), "could not be reached")


def left_open(after: Outcome, why: str) -> None:
    """Assert that there is no verdict on the file: neither an error nor "ok"."""
    assert after.works
    assert [why in f.title for f in after.unexamined] == [True]


def test_pip_cannot_resolve_what_it_cannot_read(found: Outcome, tmp_path: Path) -> None:
    left_open(resolved(found, [str(tmp_path / "environment.yml")], quiet=True), "by itself")


def test_a_missing_resolver_is_reported(
    found: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreters, "find", lambda version: None)
    left_open(resolved(found, [str(tmp_path / "requirements.txt")], quiet=True), "neither uv nor Python")


@pytest.mark.parametrize("script", [
    "echo 'No module named pip' >&2; exit 1", "exit 1", "kill -9 $$", "echo 'error: Failed to fetch: "
                                                                      "https://x' >&2; exit 2",
    "echo 'WARNING: Retrying (Retry(total=4)) after connection broken'; echo 'No matching distribution found "
    "for tensorflow'; exit 1",
])  # fmt: skip
def test_a_resolver_without_a_result_is_reported(
    found: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    monkeypatch.setattr(interpreters, "find", lambda version: str(python))
    left_open(resolved(found, [str(tmp_path / "requirements.txt")], quiet=True), "requirements.txt")
