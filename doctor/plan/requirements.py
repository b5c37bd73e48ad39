"""Reads requirement files line by line. This module itself reads requirements.txt; other modules read
pyproject.toml, environment.yml, Dockerfiles, compose files and lock files."""

from __future__ import annotations

import re
from collections.abc import Callable

from doctor import lazy
from doctor.plan import locks
from doctor.plan.asked import CONCERNS, LINE, LINES, Asked, Unread, Wanted, logical, requirement, unread
from doctor.plan.compose import compose
from doctor.plan.conda import conda
from doctor.plan.dockerfiles import dockerfile
from doctor.plan.projects import pipfile, pyproject
from doctor.values import replace

_TAKES_IN = lazy.compile(r"(?:-(?P<short>[rc])\s*|--(?P<long>requirement|constraint)[\s=]\s*)(?P<file>\S+)")
_INDEX = lazy.compile(r"(?:-[if]\s*|--(?:index-url|extra-index-url|find-links)[\s=]\s*)(?P<address>\S+)")


def read(text: str, name: str) -> Wanted:
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
        else Wanted(
            unread=(Unread(1, "", f"{base} is not a kind of requirement file that this tool can read"),)
        )
    )
    if len(lines) > most:
        too_long.append(
            Unread(most + 1, "", f"the file has {len(lines)} lines; only the first {most} were read")
        )
    return replace(wanted, unread=(*wanted.unread, *too_long))


def requirements(lines: list[str]) -> Wanted:
    """Read requirements.txt."""
    asked: list[Asked] = []
    unreadable: list[Unread] = []
    indexes: list[Asked] = []
    named: dict[str, list[str]] = {"r": [], "c": []}
    for number, line in logical(lines):
        line = line.strip()
        if len(line) > LINE:
            unreadable.append(unread(number, line))
            continue
        include, index = _TAKES_IN.match(line), _INDEX.match(line)
        if include:
            named[include["short"] or include["long"][0]].append(include["file"])
            if "://" in include["file"]:
                unreadable.append(Unread(number, line, "the file at this address was not downloaded"))
        elif index:
            indexes.append(Asked("", "", number, line, address=index["address"]))
        if not line or (line.startswith("-") and not CONCERNS.search(line)) or include or index:
            continue
        bare = re.sub(r"\s--\w[\w-]*[=\s]\S+", "", line)
        found = None if "$" in bare.partition(";")[0] else requirement(bare, number, line)
        if found is not None:
            asked.append(found)
        elif CONCERNS.search(line):
            known = re.search(r"://|^[./-]|\.whl", line)
            unreadable.append(
                unread(number, line, "the file at this address or path was not read" if known else "")
            )
    return Wanted(
        tuple(asked),
        includes=tuple(named["r"]),
        constraints=tuple(named["c"]),
        indexes=tuple(indexes),
        unread=tuple(unreadable),
    )


_READERS: tuple[tuple[str, Callable[[list[str]], Wanted] | None, int], ...] = (
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

__all__ = ["Asked", "Unread", "Wanted", "read", "requirement"]
