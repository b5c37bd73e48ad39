"""Finds the user's folders, and writes files completely or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from doctor.errors import InputError, UnableError

if TYPE_CHECKING:
    from pathlib import Path  # the functions import it themselves, because few runs need it

NO_HOME = "this user has no home folder (HOME is not set, and the list of users has no entry)"


def home() -> Path | None:
    """Return the user's home folder, or None if neither HOME nor the list of users has one, as in `docker run
    -u 12345`."""
    from pathlib import Path

    place = _home()
    return None if place is None else Path(place)


def _home() -> str | None:
    place = os.path.expanduser("~")  # noqa: PTH111
    return None if place == "~" else place


def expanded(path: str) -> Path:
    """Return the path with a leading ~ replaced by the home folder. Raises InputError if that folder is not
    known."""
    from pathlib import Path

    try:
        return Path(path).expanduser()
    except (RuntimeError, KeyError) as error:
        raise InputError(
            f"cannot resolve `{path}`: {NO_HOME}", "give the absolute path, or set HOME"
        ) from error


def cache_base() -> str | None:
    """Return the folder for caches, according to the rules of the platform (XDG Base Directory, Apple,
    Windows Known Folders), or None without a home folder."""
    return _base("XDG_CACHE_HOME", ".cache", "Library/Caches")


def data_base() -> str | None:
    """Return the folder for an application's data, according to the rules of the platform, or None without a
    home folder."""
    return _base("XDG_DATA_HOME", ".local/share", "Library/Application Support")


def _base(variable: str, below: str, on_macos: str) -> str | None:
    if sys.platform == "win32":
        variable, below = "LOCALAPPDATA", "AppData/Local"
    named = os.environ.get(variable) if sys.platform != "darwin" else None
    user = _home()
    if named or user is None:
        return named or None
    below = on_macos if sys.platform == "darwin" else below
    return os.path.join(user, *below.split("/"))  # noqa: PTH118


def temporary_folder() -> Path:
    """Return the folder for temporary files. Raises UnableError if no such folder is writable."""
    import tempfile
    from pathlib import Path

    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise UnableError(
            "no writable folder for temporary files was found", "choose one with TMPDIR=FOLDER"
        ) from error


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A context with a stream for the new content of a file. The file is replaced only after everything was
    written without an error: a reader sees either the old or the new content, and after an error (such as a
    full disk) the old content stays. Links are followed, and permissions are kept.

    Raises OSError.
    """
    import tempfile
    from pathlib import Path

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
    """Replace the content of a file atomically, as `replacing` does. Raises OSError."""
    with replacing(path) as stream:
        stream.write(content)


def cannot_write(path: str | os.PathLike[str], error: OSError) -> UnableError:
    """Return the error for a file that could not be written; its hint says what to do next."""
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "free space on its disk, or choose a file on another disk; the earlier file is unchanged"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        hint = "choose a file in a folder that this user may write to"
    elif error.errno == errno.ENOENT:
        hint = "create its folder first"
    else:
        hint = ""
    return UnableError(f"cannot write `{path}`: {error.strerror or error}", hint)


def _mode(target: Path) -> int:
    """Return the permissions of the file, or those that open() would give to a new file."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
