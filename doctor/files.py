"""Writes files completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from doctor.errors import UnableError

if TYPE_CHECKING:
    from pathlib import Path


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
