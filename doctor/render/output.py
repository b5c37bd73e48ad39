"""Where an answer goes: standard output, or a file that is there whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from doctor.errors import UnableError


@contextmanager
def destination(path: str | None) -> Iterator[TextIO]:
    """A stream to write to; a file takes its name only when all of it is written.

    Raises UnableError where the file cannot be written.
    """
    if path is None or path == "-":
        yield sys.stdout
        return
    try:
        if Path(path).exists() and not Path(path).is_file():  # a device or a pipe, such as /dev/stdout
            with open(path, "w", encoding="utf-8") as stream:
                yield stream
            return
        with _replacing(Path(path).resolve()) as stream:
            yield stream
    except OSError as error:
        if error.filename is None:  # not about a file: a pipe that broke while the answer was made
            raise
        raise UnableError(f"cannot write `{path}`: {error.strerror}") from error


@contextmanager
def _replacing(target: Path) -> Iterator[TextIO]:
    import tempfile

    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    draft = Path(name)
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as stream:
            yield stream
        draft.chmod(_mode(target))
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The permissions that the file has, or would get from open()."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
