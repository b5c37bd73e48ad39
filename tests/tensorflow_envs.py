"""Makes environments with one TensorFlow release each, for the tests that run TensorFlow (marker
`tensorflow`).

They are made once and kept in $TFGPU_DOCTOR_TEST_ENVS, by default in the user's cache folder, and are never
changed by a test. Making an environment needs the package index and 1 to 2 GB of disk space.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

NEWEST = "2.21.0"
OLDER = "2.15.1"
_PYTHONS = {
    "2.12": (8, 11),
    "2.15": (9, 11),
    "2.16": (9, 12),
    "2.18": (9, 12),
    "2.21": (10, 13),
}  # the lowest and highest minor version of Python 3


def tensorflow_env(version: str) -> Path:
    """Return the Python interpreter of an environment with this TensorFlow release and nvidia-ml-py. The
    environment is made if it is missing. Raises RuntimeError if no Python version for which the release has a
    wheel is installed here, or if the release cannot be installed.
    """
    lowest, highest = _PYTHONS.get(
        ".".join(version.split(".")[:2]), (sys.version_info.minor, sys.version_info.minor)
    )
    return package_env(version, [f"tensorflow=={version}", "nvidia-ml-py"], lowest, highest)


def package_env(name: str, packages: Sequence[str], lowest: int = 10, highest: int = 99) -> Path:
    """Return the interpreter of an environment called `name` with these packages. It is made, if it is
    missing, with a Python from 3.`lowest` to 3.`highest`."""
    with kept(name) as folder:
        python = folder / "bin" / "python"
        if not python.exists() or _is_unfinished(folder):
            shutil.rmtree(folder, ignore_errors=True)
            _make(folder, packages, _interpreter(name, lowest, highest))
    return python


@contextlib.contextmanager
def kept(name: str) -> Iterator[Path]:
    """Yield the path under which something with this name is made once and kept. A lock ensures that no other
    process makes it at the same time."""
    base = os.environ.get("TFGPU_DOCTOR_TEST_ENVS")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = (Path(base) if base else cache / "tfgpu-doctor" / "test-environments") / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def _is_unfinished(folder: Path) -> bool:
    return (folder / ".unfinished").exists()


def _interpreter(name: str, lowest: int, highest: int) -> str:
    if lowest <= sys.version_info.minor <= highest:
        return sys.executable
    for minor in range(min(highest, 13), lowest - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if (
            found
            and subprocess.run([found, "-c", "import venv"], capture_output=True, check=False).returncode == 0
        ):
            return found
    raise RuntimeError(f"{name} needs Python 3.{lowest} to 3.{highest}, and none of them is on PATH")


def _make(folder: Path, packages: Sequence[str], interpreter: str) -> None:
    uv = shutil.which("uv")
    if uv:
        _run([uv, "venv", "--quiet", "--python", interpreter, str(folder)])
        (folder / ".unfinished").touch()
        if packages:
            _run([uv, "pip", "install", "--quiet", "--python", str(folder / "bin/python"), *packages])
    else:
        _run([interpreter, "-m", "venv", str(folder)])
        (folder / ".unfinished").touch()
        pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if packages:
            _run([*pip, *packages])
    (folder / ".unfinished").unlink()


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr[-2000:]}")
