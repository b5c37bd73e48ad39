"""Reads requirement files line by line. This module itself reads requirements.txt; other modules read
pyproject.toml, environment.yml, Dockerfiles, compose files and lock files."""

from __future__ import annotations

import re
from collections.abc import Callable

from doctor.plan import locks
from doctor.plan.compose import compose
from doctor.plan.conda import conda
from doctor.plan.dockerfiles import dockerfile
from doctor.plan.projects import pipfile, pyproject
from doctor.plan.requested import LINE, LINES, FileContents, Unread, logical, pip_lines, unread
from doctor.values import replace


def read(text: str, name: str) -> FileContents:
    """Read the text of a file with the reader for its name (see _READERS)."""
    base = re.split(r"[\\/]", name)[-1].lower()
    reader, most = next((reader, most) for pattern, reader, most in _READERS if re.fullmatch(pattern, base))
    lines = text.splitlines()
    too_long = [unread(at, line) for at, line in enumerate(lines[:most], 1) if len(line) > LINE]
    kept = ["" if len(line) > LINE else line for line in lines[:most]]
    if base.endswith(".lock") and "@EXPLICIT" in kept:
        reader = locks.explicit
    wanted = (
        reader(kept)
        if reader
        else FileContents(
            unread=(Unread(1, "", f"{base} is not a kind of requirement file that this tool can read"),)
        )
    )
    if len(lines) > most:
        too_long.append(
            Unread(most + 1, "", f"the file has {len(lines)} lines; only the first {most} were read")
        )
    return replace(wanted, unread=(*wanted.unread, *too_long))


def requirements(lines: list[str]) -> FileContents:
    """Read requirements.txt."""
    return pip_lines((number, line.strip(), line.strip()) for number, line in logical(lines))


_READERS: tuple[tuple[str, Callable[[list[str]], FileContents] | None, int], ...] = (
    (r"(?:uv|poetry)\.lock|pylock(?:\..*)?\.toml", locks.toml_lock, locks.LINES),
    (r".*conda-lock.*\.ya?ml", locks.conda_lock, locks.LINES),
    (r"pixi\.lock", locks.pixi_lock, locks.LINES),
    (r"(?:docker-)?compose[\w.-]*\.ya?ml", compose, LINES),
    (r"pipfile", pipfile, LINES),
    (r".*\.toml", pyproject, LINES),
    (r".*\.ya?ml", conda, LINES),
    (r".*(?:dockerfile|containerfile).*", dockerfile, LINES),
    (r"setup\.(?:py|cfg)|.*\.(?:lock|json|py|ipynb|cfg|ini|sh)", None, LINES),
    (r".*", requirements, LINES),
)
"""For each pattern for file names (the first that fits counts), the reader and the number of lines that it
reads. None: this kind of file is not supported."""
