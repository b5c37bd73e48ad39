"""Finds a Python interpreter of a certain version on this machine, or uv, which can install one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from doctor.files import home

_PROBE = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2], sys.maxsize > 2**32)"


def find(version: str) -> str | None:
    """Return the path of a 64-bit CPython `version` ("3.12") that can create virtual environments, or None if
    there is none."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    names = [sys.executable] if version == own and sys.prefix == sys.base_prefix else []
    names += [f"python{version}", "python3", "python"]
    if version == own:
        base = Path(sys.base_prefix) / ("python.exe" if os.name == "nt" else f"bin/python{version}")
        names.append(str(base))
    own_folder = home()
    if own_folder is not None:
        found = sorted(own_folder.glob(f".pyenv/versions/{version}.*/bin/python{version}"), reverse=True)
        found += sorted(own_folder.glob(f".local/share/uv/python/cpython-{version}.*/bin/python{version}"))
        names += map(str, found)
    for name in dict.fromkeys(names):
        path = shutil.which(name)
        if path is not None and _is_version([path], version):
            return path
    if os.name == "nt" and shutil.which("py") and _is_version(["py", f"-{version}"], version):
        done = subprocess.run(["py", f"-{version}", "-c", "import sys; print(sys.executable)"],
                              capture_output=True, text=True, timeout=30, check=False)  # fmt: skip
        return done.stdout.strip() or None
    return None


def _is_version(command: list[str], version: str) -> bool:
    try:
        done = subprocess.run(
            [*command, "-c", _PROBE], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.split() == [version, "True"]


def uv() -> str | None:
    """Return the path of uv, or None if it is not on PATH."""
    return shutil.which("uv")
