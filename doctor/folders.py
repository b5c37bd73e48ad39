"""Finds the user's folders: home, caches, data, temporary files."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

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

    from doctor.errors import InputError

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

    from doctor.errors import UnableError

    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise UnableError(
            "no writable folder for temporary files was found", "choose one with TMPDIR=FOLDER"
        ) from error
