"""Finds a Python interpreter of a certain version on this machine, or uv, which can install one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from doctor.folders import home

_PROBE = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2], sys.maxsize > 2**32)"


def find(version: str) -> str | None:
    """Return the path of a 64-bit Python `version` ("3.12") that can create virtual environments, or None if
    there is none."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    names = [sys.executable] if version == own and sys.prefix == sys.base_prefix else []
    names += [f"python{version}", "python3", "python"]
    if version == own:
        base = Path(sys.base_prefix) / ("python.exe" if os.name == "nt" else f"bin/python{version}")
        names.append(str(base))
    if folder := home():
        found = sorted(folder.glob(f".pyenv/versions/{version}.*/bin/python{version}"), reverse=True)
        found += sorted(folder.glob(f".local/share/uv/python/cpython-{version}.*/bin/python{version}"))
        names += map(str, found)
    for name in dict.fromkeys(names):
        path = shutil.which(name)
        if path is not None and _printed([path], _PROBE) == f"{version} True":
            return path
    if os.name == "nt" and shutil.which("py"):
        start = ["py", f"-{version}"]
        if _printed(start, _PROBE) == f"{version} True":
            return _printed(start, "import sys; print(sys.executable)") or None
    return None


def _printed(command: list[str], code: str) -> str:
    """Return what Python code prints, "" if it fails. command: the words that start the interpreter."""
    try:
        done = subprocess.run([*command, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def uv() -> str | None:
    """Return the path of uv, or None if it is not on PATH."""
    return shutil.which("uv")
