"""Defines options and fixtures for all tests."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from doctor.tables import Tables
from tests.in_process import called

if hasattr(signal, "SIGHUP"):  # nohup ignores it, and the children would inherit that
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# No test may depend on tables that somebody refreshed on this machine.
os.environ["TFGPU_DOCTOR_TABLES"] = ""
pytest_plugins: list[str] = []
collect_ignore = ["data"]
"""The folder of recorded machines and logs: a thousand folders without tests, in which pytest would search
for tests."""

# The time of one example depends more on the other work of the machine than on the code; the budgets have
# their own tests.
settings.register_profile("any machine", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=25)  # scripts/test --fast
settings.load_profile("any machine")

# A program that a script starts in the background ignores SIGINT, and its children inherit that: the tests
# that press Ctrl-C would wait for ever. If this process has a handler of its own, each child starts with the
# default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

BUILDS_LIBRARIES = (
    "devices/test_command.py",
    "devices/test_visibility.py",
    "reproduce/test_native.py",
    "probe/test_simulated_faults.py",
)
"""Test files outside of tests/simulate that run on the simulated GPU."""

os.environ.pop("COLUMNS", None)  # set by pytest-xdist; without it, lines to a pipe stay whole
ROOT = Path(__file__).resolve().parent.parent
BUNDLED = ROOT / "compat_tables"
"""The tables that ship with the tool, as a folder."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--online", action="store_true", help="run tests that need the package registry")
    parser.addoption("--gpu", action="store_true", help="run tests that need an NVIDIA GPU")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a long text by its beginning, so that a list of tests is readable and a name fits into an
    environment variable."""
    return f"{val[:60]!a}..." if isinstance(val, (str, bytes)) and len(val) > 300 else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Freeze the collected tests: they exist until the end, so the garbage collector does not have to examine
    them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for marker in ("online", "gpu"):
        if config.getoption(f"--{marker}"):
            continue
        skip = pytest.mark.skip(reason=f"needs --{marker}")
        for item in items:
            if (
                item.get_closest_marker(marker) is not None
            ):  # not item.keywords: a parameter may be called gpu
                item.add_marker(skip)
    if not any(shutil.which(name) for name in ("cc", "gcc", "clang")):
        skip = pytest.mark.skip(
            reason="the simulated GPU needs a C compiler, and there is none (apt install gcc)"
        )
        for item in items:
            if (
                ROOT / "tests/simulate" in item.path.parents
                or item.path.relative_to(ROOT / "tests").as_posix() in BUILDS_LIBRARIES
            ):
                item.add_marker(skip)


def program(name: str) -> str:
    """Return the path of a program that a package installed, either beside this Python interpreter or on
    PATH. Skips the test if it is in neither place."""
    found = shutil.which(
        name, path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    )
    if found is None:
        pytest.skip(f"needs {name} (pip install '.[places]')")
    return found


@pytest.fixture(scope="session")
def tables() -> Tables:
    """The bundled tables."""
    return Tables.bundled()


@pytest.fixture
def cli() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Call the command: cli("explain", "-", input=b"..."). env: additional environment variables."""

    def run(
        *words: str, env: dict[str, str] | None = None, **more: Any
    ) -> subprocess.CompletedProcess[bytes]:
        return called(*words, env={**os.environ, **(env or {})}, **more)

    return run


GROUP = 6
"""How many times `python -c pass` runs for one measurement of its time."""


@pytest.fixture
def times_pass(tmp_path: Path) -> Callable[..., float]:
    """Measure the processor time of a command and its children, as a multiple of the time of `python -c
    pass`: times_pass("check").

    The two run in turn, and the lowest time of each counts: a second of processor time is not the same amount
    of work on all machines, and other programs can only make the time longer. `pass` is measured in groups
    that last about as long as the command, because a single short run is more likely to happen in a quiet
    moment. While other tests run, twelve such measurements of a command that takes 26 times as long as `pass`
    differ by 8 %. With a single `pass`, they differ by 12 %, and are always too high. `python -c pass` took
    10 ms on the machine on which the budgets were set. Bytecode is kept, as for an installed tool; the first
    run, which writes it, does not count. The tool examines the Python interpreter of the tests, which is not
    started through shell scripts. bytecode=False: the tool's modules have no bytecode and none is written, as
    if uv or `pip --no-compile` had installed them into a folder that the user cannot write.
    """
    resource = pytest.importorskip(
        "resource", reason="the processor time of a child is read with POSIX functions"
    )
    kept = {"PYTHONPYCACHEPREFIX": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": ""}
    none = {"PYTHONPYCACHEPREFIX": "", "PYTHONDONTWRITEBYTECODE": "1"}

    def seconds(*words: str, bytecode: bool) -> float:
        folder = ROOT if bytecode else _bare_copy(tmp_path / "bare")
        env = {
            **os.environ,
            **(kept if bytecode else none),
            "PYTHONPATH": str(folder),
            "VIRTUAL_ENV": sys.prefix,
        }
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, *words], cwd=folder, env=env, capture_output=True, timeout=120, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode in (0, 1), done.stderr.decode()
        return float(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    def measure(*words: str, runs: int = 7, bytecode: bool = True) -> float:
        command = ("-m", "doctor", *words)
        seconds(*command, bytecode=bytecode)
        ours, bare = zip(*(
            (
                seconds(*command, bytecode=bytecode),
                sum(seconds("-c", "pass", bytecode=bytecode) for _ in range(GROUP)) / GROUP,
            )
            for _ in range(runs)
        ))  # fmt: skip
        return float(min(ours) / min(bare))

    return measure


def _bare_copy(folder: Path) -> Path:
    """Make a copy of the tool's modules without bytecode, unless there is one. Returns its folder."""
    if not folder.exists():
        for name in ("doctor", "compat_tables"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder
