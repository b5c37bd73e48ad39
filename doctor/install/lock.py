"""A file that only one process can lock at a time; the kernel releases the lock when the process ends."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from doctor.errors import UnableError

OTHER_FOLDER = "choose another folder with --env"
"""The hint for a folder that cannot be used."""
LIMIT = 1 << 16
"""The maximum number of bytes to read from a file that another process holds."""


class LockedError(Exception):
    """Another process has locked the file. `words`: the content of the file."""

    def __init__(self, words: bytes) -> None:
        super().__init__("locked")
        self.words = words


@contextlib.contextmanager
def lock(path: Path) -> Iterator[IO[bytes]]:
    """Open a file of this user, creating it if necessary, and lock it.

    The holder may remove the file. Raises LockedError if another process holds it, UnableError if it cannot
    be opened or locked, is a link, or belongs to another user.
    """
    while True:
        try:
            file = _opened(path)
        except OSError as problem:
            raise UnableError(f"{path} cannot be opened: {problem.strerror}", OTHER_FOLDER) from problem
        with file:
            if not _try(file, path):
                file.seek(0)
                raise LockedError(file.read(LIMIT))
            if _is_still(file, path):  # otherwise the earlier holder removed the file in the meantime
                yield file
                return


def _opened(path: Path) -> IO[bytes]:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600), "r+b")
    about = os.fstat(file.fileno())
    if not stat.S_ISREG(about.st_mode) or (os.name == "posix" and about.st_uid != os.geteuid()):
        file.close()
        raise UnableError(f"{path} belongs to another user, or is not a file", OTHER_FOLDER)
    return file


def _try(file: IO[bytes], path: Path) -> bool:
    """Try to lock the file. Returns False if another process holds it. Raises UnableError if the disk does
    not support locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(1 << 30)  # beyond the content, which other processes must be able to read
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as problem:
        raise UnableError(
            f"{path} cannot be locked: {problem.strerror}", "choose a folder on another disk with --env"
        ) from problem
    return True


def _is_still(file: IO[bytes], path: Path) -> bool:
    """Whether the open file is the one at its path."""
    try:
        now = os.lstat(path)
    except OSError:
        return False
    return os.path.samestat(now, os.fstat(file.fileno()))
