"""Checks that only this user and root can have written the files in a folder, because they will be loaded and
run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

LINKS_LIMIT = 40


def make_private(folder: Path) -> None:
    """Make a folder and its missing parents, for this user alone. Raises OSError."""
    for place in (*reversed(folder.parents), folder):
        if not place.is_dir():
            place.mkdir(mode=0o700, exist_ok=True)


def stranger_at(folder: Path, names: Iterable[str] = ()) -> str:
    """The first file or folder through which another user could have changed the files in a folder, in words;
    "" if there is none.

    All folders on the path are examined, including links and their targets, then those of the files `names`
    that exist. A place is safe if this user or root owns it and nobody else may write to it; so is a folder
    in which users may only change their own files (the sticky bit, as in /tmp). Raises OSError if that cannot
    be examined.
    """
    for place in _way(Path(os.path.abspath(folder))):  # noqa: PTH100  not resolve(): the links count
        if said := _stranger(place):
            return said
    for name in names:
        place = folder / name
        try:
            status = place.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(status.st_mode):
            return f"{place} is not a regular file"
        if said := _stranger(place):
            return said
    return ""


def _way(path: Path) -> list[Path]:
    """Every folder and link from "/" to a path, including those that links lead through."""
    seen: dict[Path, None] = {}
    todo = [path]
    links = 0
    while todo:
        whole = todo.pop()
        for place in (*reversed(whole.parents), whole):
            if place in seen:
                continue
            seen[place] = None
            if place.is_symlink() and links < LINKS_LIMIT:
                links += 1
                todo.append(Path(os.path.normpath(place.parent / os.readlink(place))))
    return list(seen)


def _stranger(place: Path) -> str:
    """Who else may have written to a place, in words; "" if nobody."""
    status = place.lstat()
    if status.st_uid not in (os.getuid(), 0):
        return f"{place} belongs to another user ({_user(status.st_uid)})"
    if stat.S_ISLNK(status.st_mode):
        return ""  # who may replace it is a matter of its folder
    if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX:
        return ""
    mode = stat.filemode(status.st_mode)
    if status.st_mode & stat.S_IWOTH:
        return f"{place} can be written by everybody ({mode})"
    own = status.st_gid == os.getgid() == os.getuid()  # a group of its own for each user, with umask 002
    if status.st_mode & stat.S_IWGRP and not own and status.st_gid != 0:
        return f"{place} can be written by its group ({mode})"
    return ""


def _user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
