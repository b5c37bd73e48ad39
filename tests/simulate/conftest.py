"""Provides simulated machines for the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doctor.simulate import environment, prepare

if TYPE_CHECKING:
    from typing import TypeAlias

Inside: TypeAlias = "Callable[..., subprocess.CompletedProcess[str]]"


@pytest.fixture
def inside() -> Inside:
    """A function that runs Python code on a simulated machine: inside(code, gpus=…, faults=…,
    variables=…)."""

    def run(
        code: str, *, variables: dict[str, str] | None = None, **wishes: object
    ) -> subprocess.CompletedProcess[str]:
        scenario = prepare(**wishes)  # type: ignore[arg-type]
        with environment(scenario) as simulation:
            return subprocess.run(
                [sys.executable, "-c", code],
                env={**simulation.environment, **(variables or {})},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )

    return run


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give each test its own folder for simulations. When the test ends, there must be no simulation left in
    the folder."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    yield folder
    # TensorFlow's autograph writes modules into the temporary folder, and leaves the folder with their
    # bytecode there
    assert [name for name in os.listdir(folder) if name != "__pycache__"] == []  # noqa: PTH208
