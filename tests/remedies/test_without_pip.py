"""Tests that the steps work in an environment without pip, such as one that uv made."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from typing import TypeAlias

Cli: TypeAlias = "Callable[..., subprocess.CompletedProcess[bytes]]"
pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX paths"),
    pytest.mark.skipif(sys.version_info >= (3, 14), reason="TensorFlow has no final release for this Python"),
]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """An environment that contains one package but no pip."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True, timeout=120)
    site = next((tmp_path / "env").glob("lib/python3*/site-packages"))
    (site / "numpy-1.26.4.dist-info").mkdir()
    (site / "numpy-1.26.4.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: numpy\nVersion: 1.26.4\n"
    )
    (site / "numpy-1.26.4.dist-info/INSTALLER").write_text("uv")
    return tmp_path / "env"


def prescribed(cli: Cli, env: Path) -> list[str]:
    found = json.loads(cli("check", "--python", str(env), "--format", "json").stdout)["findings"]
    return [step["text"] for finding in found for step in finding["prescription"] if step["kind"] == "shell"]


def test_environment_without_pip_gets_uv_or_ensurepip_first(cli: Cli, bare: Path) -> None:
    text = "\n".join(prescribed(cli, bare))
    assert f"uv pip install --python {bare}/bin/python" in text
    assert f"{bare}/bin/python -m pip" not in text


@pytest.mark.slow
def test_after_ensurepip_the_steps_use_the_environments_pip(cli: Cli, bare: Path) -> None:
    done = subprocess.run(
        [bare / "bin/python", "-m", "ensurepip"], capture_output=True, check=False, timeout=180
    )
    if done.returncode:
        pytest.skip("this Python has no ensurepip (Debian has a separate package for it)")
    text = "\n".join(prescribed(cli, bare))
    assert f"{bare}/bin/python -m pip install" in text
    assert "uv pip" not in text
