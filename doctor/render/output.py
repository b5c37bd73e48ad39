"""The destination of an answer: standard output, or a file that is written completely or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TextIO


@contextmanager
def destination(path: str | None) -> Iterator[TextIO]:
    """A context with a stream to write to. path: a file, or None or "-" for standard output. A file gets its
    final name only when it is complete.

    Raises UnableError if the file cannot be written.
    """
    if path is None or path == "-":
        yield sys.stdout
        return
    from doctor.files import cannot_write, replacing

    stream: TextIO | None = None
    try:
        # a device or a pipe, such as /dev/stdout
        if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113
            with open(path, "w", encoding="utf-8") as stream:
                yield stream
            return
        with replacing(path) as raw:
            stream = TextIOWrapper(raw, encoding="utf-8", newline="\n", write_through=True)
            yield stream
            stream.flush()
            stream.detach()
    except OSError as error:
        # an error without a file name comes from writing to a stream: to this file if the disk caused the
        # error, otherwise to another stream, such as a broken pipe
        if error.filename is None and not _of_the_disk(error):
            raise
        raise cannot_write(path, error) from error


def write(path: str | None, text: str) -> None:
    """Write a whole answer to standard output or to a file. Raises UnableError if the file cannot be
    written."""
    with destination(path) as stream:
        stream.write(text)


def _of_the_disk(error: OSError) -> bool:
    import errno

    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
