"""Finds the folders for the user's files, and writes files completely or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from doctor.errors import InputError, UnableError

NO_HOME = "this user has no home folder (HOME is not set, and there is no entry in the list of users)"


def home() -> Path | None:
    """The user's home folder; None if neither HOME nor the list of users names one, as in `docker run -u
    12345`."""
    try:
        return Path.home()
    except (RuntimeError, KeyError):  # KeyError: until Python 3.9
        return None


def expanded(path: str) -> Path:
    """A path in which a leading ~ is the home folder. Raises InputError if that is not known."""
    try:
        return Path(path).expanduser()
    except (RuntimeError, KeyError) as error:
        raise InputError(
            f"cannot resolve `{path}`: {NO_HOME}", "give the absolute path, or set HOME"
        ) from error


def cache_base() -> Path | None:
    """The folder for caches by the platform's rule (XDG Base Directory, Apple, Windows Known Folders); None
    without a home folder."""
    return _base("XDG_CACHE_HOME", ".cache", "Library/Caches")


def data_base() -> Path | None:
    """The folder for an application's data by the platform's rule; None without a home folder."""
    return _base("XDG_DATA_HOME", ".local/share", "Library/Application Support")


def _base(variable: str, below: str, on_macos: str) -> Path | None:
    user = home()
    if sys.platform == "win32":
        named = os.environ.get("LOCALAPPDATA")
        return Path(named) if named else user and user / "AppData" / "Local"
    if sys.platform == "darwin":
        return user and user / on_macos
    named = os.environ.get(variable)
    return Path(named) if named else user and user / below


def temporary_folder() -> Path:
    """The folder for temporary files. Raises UnableError if none can be written."""
    import tempfile

    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise UnableError(
            "no writable folder for temporary files was found", "TMPDIR=FOLDER names one"
        ) from error


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A stream for a file's new content. The file is replaced when everything is written without an error: a
    reader sees either the old content or the new, and an error (a full disk) leaves the old. Links are
    followed, permissions stay.

    Raises OSError.
    """
    import tempfile

    target = Path(path).resolve()
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
    draft = Path(name)
    try:
        with open(handle, "wb") as stream:
            yield stream
        draft.chmod(_mode(target))
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace a file's content at once (`replacing`). Raises OSError."""
    with replacing(path) as stream:
        stream.write(content)


def cannot_write(path: str | os.PathLike[str], error: OSError) -> UnableError:
    """The error for a file that could not be written, with what to do next."""
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "free space there, or name a file on another disk; the earlier file is unchanged"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        hint = "name a file in a folder that this user may write to"
    elif error.errno == errno.ENOENT:
        hint = "make its folder first"
    else:
        hint = ""
    return UnableError(f"cannot write `{path}`: {error.strerror or error}", hint)


def _mode(target: Path) -> int:
    """The permissions that the file has, or would get from open()."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
