"""Removes an environment's folder, but only if installers created everything in it."""

from __future__ import annotations

import contextlib
import csv
import os
import re
import shutil
import stat
import time
from pathlib import Path

TEMPORARY = "tfgpu-doctor-"
"""The prefix of the names of folders in which an installer unpacks."""
_MADE = frozenset(
    (
        "bin",
        "lib",
        "lib64",
        "include",
        "share",
        "etc",
        "man",
        "pyvenv.cfg",
        ".gitignore",
        "CACHEDIR.TAG",
        ".lock",
        "Scripts",
        "Lib",
        "Include",
    )
)
"""Names of the files and folders that venv, virtualenv, uv and pip create in an environment's folder."""


def foreign(env: Path, since: float | None = None) -> str | None:
    """Return a path in an environment's folder that no installer created, or None if there is none.

    since: a time in seconds since 1970; a file that was changed later is foreign, because the installer had
    already ended.
    """
    if env.is_symlink() or not env.is_dir():
        return str(env)
    own = _MADE | _data_files(env)
    for name in sorted(os.listdir(env)):  # noqa: PTH208
        if name not in own:
            return name
    if since is None:
        return None
    for where, folders, names in os.walk(env):
        for name in (*folders, *names):
            path = os.path.join(where, name)  # noqa: PTH118 thousands of files: strings are enough
            about = os.lstat(path)
            if max(about.st_mtime, about.st_ctime) > since:
                return os.path.relpath(path, env)
    return None


def _data_files(env: Path) -> set[str]:
    """Return the names that packages added to the environment's folder, from the lists of files that pip and
    uv write."""
    found = set()
    for listed in env.glob("[lL]ib/**/site-packages/*.dist-info/RECORD"):
        missing = contextlib.suppress(OSError, csv.Error)
        with missing, open(listed, encoding="utf-8", errors="replace") as file:
            for row in csv.reader(file):
                outside = re.fullmatch(r"(?:\.\./){1,20}([^/]{1,255})(?:/.{0,4000})?", row[0] if row else "")
                if outside:
                    found.add(outside[1])
    return found


def remove(folder: Path) -> None:
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            return
        time.sleep(0.2)


def clear_temporary(text: str) -> None:
    """Remove the folder in which an installer unpacked, but only if it has a name that this tool chooses and
    belongs to this user."""
    path = Path(text)
    with contextlib.suppress(OSError):
        about = os.lstat(path)
        own = os.name == "nt" or about.st_uid == os.geteuid()
        if path.name.startswith(TEMPORARY) and stat.S_ISDIR(about.st_mode) and own:
            shutil.rmtree(path, ignore_errors=True)
