"""Tests the installation with the real uv and an index on disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doctor.install.inside import MEMORY_GROWTH
from doctor.install.run import InstallFailedError, Log, run
from doctor.tables import Tables
from tests.install.jobs import imported, job
from tests.tensorflow_envs import package_env

if TYPE_CHECKING:
    from typing import TypeAlias

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform == "win32" or sys.version_info >= (3, 14),
        reason="TensorFlow has no final release for this Python",
    ),
]
Index: TypeAlias = "Callable[..., Path]"


@pytest.fixture(scope="module")
def folder() -> Path:
    """The folder in which uv is. uv is installed before the index on disk replaces the package index."""
    try:
        return package_env("uv", ["uv"]).parent
    except RuntimeError as problem:
        pytest.skip(f"uv is not available: {str(problem)[-200:]}")


@pytest.fixture
def uv(folder: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """An index on disk. uv is on PATH and uses no other index."""
    for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("UV_DEFAULT_INDEX", (tmp_path / "index").as_uri())
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    return index


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    made = Log(tmp_path / "install.log")
    yield made
    made.close()


def test_environment_is_made_by_real_uv(tables: Tables, tmp_path: Path, uv: Index, log: Log) -> None:
    uv("tensorflow", "2.20.0")
    made = job(tables, tmp_path / "tf", installer="uv", memory_growth=True)
    assert "uv venv" in made.actions[0].line
    assert run(made, log, quiet=True) == [str(made.site_packages / MEMORY_GROWTH)]
    assert imported(made) == ["2.20.0", "true"]
    assert not (made.site_packages / "pip").exists(), (
        "uv brings no pip, so nothing that is prescribed later may need it"
    )


def test_failing_package_leaves_nothing_behind_with_uv_either(
    tables: Tables, tmp_path: Path, uv: Index, log: Log
) -> None:
    uv("tensorflow", "2.20.0", ("no-such-package-at-all",))
    with pytest.raises(InstallFailedError, match="no-such-package-at-all"):
        run(job(tables, tmp_path / "tf", installer="uv"), log, quiet=True)
    assert not (tmp_path / "tf").exists()


def test_hash_mismatch_is_named_with_uv(
    tables: Tables, tmp_path: Path, uv: Index, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    uv("tensorflow", "2.20.0", hash="0" * 64)
    with pytest.raises(InstallFailedError, match="its hash differs"):
        run(job(tables, tmp_path / "tf", installer="uv"), log, quiet=True)
    assert not (tmp_path / "tf").exists()


def test_no_network_is_named_with_uv(
    tables: Tables, tmp_path: Path, uv: Index, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(InstallFailedError, match="could not be reached"):
        run(job(tables, tmp_path / "tf", installer="uv"), log, quiet=True)
    assert not (tmp_path / "tf").exists()
