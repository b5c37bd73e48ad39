"""Options and fixtures for all tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.tables import Tables

# No test may depend on tables that somebody refreshed on this machine.
os.environ["TFGPU_DOCTOR_TABLES"] = ""
pytest_plugins: list[str] = []

# What is started in the background of a script gets SIGINT ignored, and hands that on to its children: the tests that
# press Ctrl-C would then wait for ever. A handler of this process's own is put back to the default in each child.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

BUILDS_LIBRARIES = ("devices/test_command.py", "devices/test_visibility.py", "reproduce/test_native.py", "probe/test_simulated_faults.py")
"""Test files that run on the simulated GPU, beside those in tests/simulate."""

ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--online", action="store_true", help="run tests that need the package registry")
    parser.addoption("--gpu", action="store_true", help="run tests that need an NVIDIA GPU")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for marker in ("online", "gpu"):
        if config.getoption(f"--{marker}"):
            continue
        skip = pytest.mark.skip(reason=f"needs --{marker}")
        for item in items:
            if item.get_closest_marker(marker) is not None:  # not item.keywords: a parameter may be called gpu
                item.add_marker(skip)
    if not any(shutil.which(name) for name in ("cc", "gcc", "clang")):
        skip = pytest.mark.skip(reason="the simulated GPU is built with a C compiler, and there is none (apt install gcc)")
        for item in items:
            if item.path.is_relative_to(ROOT / "tests/simulate") or item.path.relative_to(ROOT / "tests").as_posix() in BUILDS_LIBRARIES:
                item.add_marker(skip)


@pytest.fixture(scope="session")
def tables() -> Tables:
    """The bundled tables."""
    return Tables.bundled()


@pytest.fixture
def cli(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run the command as a process of its own: cli("explain", "-", input=b"...")."""

    def run(*arguments: str, input: bytes = b"", env: dict[str, str] | None = None, **more: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "doctor", *arguments],
            input=input,
            capture_output=True,
            timeout=60,
            cwd=more.pop("cwd", ROOT),  # type: ignore[arg-type]
            env={**os.environ, "TFGPU_DOCTOR_TABLES": "", **(env or {})},
            check=False,
        )

    return run
