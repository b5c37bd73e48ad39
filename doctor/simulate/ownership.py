"""Checks that only this user or root can have written the files in a folder. This matters because the files
will be loaded and run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

LINKS_LIMIT = 40


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents, with access only for this user. Raises OSError."""
    for place in (*reversed(folder.parents), folder):
        if not place.is_dir():
            place.mkdir(mode=0o700, exist_ok=True)


def stranger_at(folder: Path, names: Iterable[str] = ()) -> str:
    """A description of the first file or folder through which another user could have changed the files in a
    folder; "" if there is none.

    All folders on the path are examined, including links and their targets, then the existing files among
    `names`. A file or folder is safe if this user or root owns it and nobody else may write to it. A folder
    in which users may change only their own files (the sticky bit, as in /tmp) is also safe. Raises OSError
    if anything cannot be examined.
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
    """Every folder and link from "/" to a path, including those on the way to the targets of links."""
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
    """Say who else could have written to a file or folder; "" if nobody else could."""
    status = place.lstat()
    if status.st_uid not in (os.getuid(), 0):
        return f"{place} belongs to another user ({_user(status.st_uid)})"
    if stat.S_ISLNK(status.st_mode):
        return ""  # the permissions of the folder decide who may replace a link
    if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX:
        return ""
    mode = stat.filemode(status.st_mode)
    if status.st_mode & stat.S_IWOTH:
        return f"{place} can be written by everybody ({mode})"
    own = status.st_gid == os.getgid() == os.getuid()  # each user has a private group, and umask is 002
    if status.st_mode & stat.S_IWGRP and not own and status.st_gid != 0:
        return f"{place} can be written by its group ({mode})"
    return ""


def _user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
