"""Opens the inputs that people name: files, folders, standard input, addresses.

In: the words of the command line. Out: `Input`s, and from each a stream of bytes. Their content is not
interpreted here.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple

from doctor.errors import InputError

STDIN = "-"
_ADDRESS = ("http://", "https://")
_SKIPPED_FOLDERS = {"__pycache__", "node_modules", "site-packages"}
_BINARY = (
    r"\.(?:png|jpe?g|gif|webp|bmp|ico|pdf|zip|7z|rar|tar|tgz|bz2|xz|zst|whl|egg|conda|so[.\d]*|dll|dylib|exe"
    r"|o|a|lib|pyc|pyd"
    r"|h5|hdf5|keras|pb|tflite|onnx|pt|pth|ckpt|index|data-\d+-of-\d+|npy|npz|pkl|pickle|tfrecords?|mp4|avi"
    r"|mov|mp3|wav|db"
    r"|sqlite3?|docx?|xlsx?|pptx?|ttf|woff2?)$"
)
"""Endings of files that are skipped in folders; other files are skipped if they contain no text."""


class Input(NamedTuple):
    """One report. `listed`: whether it was found in a folder rather than named by the caller, so that it may
    not be a report."""

    name: str
    listed: bool = False
    comments: bool = False


def expand(words: Iterable[str], *, comments: bool = False) -> Iterator[Input]:
    """Every report that the words name, in their order; the files of a folder are sorted by name.

    comments: also read the comments of an issue.
    """
    for word in words:
        if word != STDIN and not word.lower().startswith(_ADDRESS) and os.path.isdir(word):  # noqa: PTH112
            yield from (Input(path, True) for path in _files(word))
        else:
            yield Input(word, False, comments)


def _files(folder: str) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            path = os.path.join(where, name)  # noqa: PTH118 thousands of names: strings are enough
            if (
                not name.startswith(".")
                and not re.search(_BINARY, name, re.IGNORECASE)
                and os.path.isfile(path)  # noqa: PTH113
            ):
                yield path


def opened(item: Input) -> IO[bytes]:
    """The bytes of a report, which the caller reads once and closes; gzip is unpacked.

    Raises InputError, with the name and the reason, if it cannot be read.
    """
    if item.name == STDIN:
        if sys.stdin is None:
            raise InputError("standard input is closed", "name a file")
        return sys.stdin.buffer
    if item.name.lower().startswith(_ADDRESS):
        from doctor.addresses import fetch

        return fetch(item.name, comments=item.comments)
    try:
        stream = open(item.name, "rb")  # noqa: SIM115 closed by the caller
        packed = stream.peek(2)[:2] == b"\x1f\x8b"
    except OSError as error:
        raise _unreadable(item.name, error) from error
    except ValueError as error:  # a name that no file can have
        raise InputError(f"cannot read `{item.name}`: {error}") from error
    if packed and os.path.isfile(item.name):  # noqa: PTH113
        import gzip

        stream.close()
        return gzip.open(item.name, "rb")  # type: ignore[return-value]  # a stream of bytes in all but name
    return stream


def _unreadable(name: str, error: OSError) -> InputError:
    hint = ""
    if isinstance(error, FileNotFoundError):
        from pathlib import Path

        folder = Path(name).parent
        if folder.is_dir():
            import difflib

            near = difflib.get_close_matches(Path(name).name, [p.name for p in folder.iterdir()][:5000], 1)
            hint = f"did you mean `{folder / near[0]}`?" if near else ""
    elif isinstance(error, PermissionError):
        hint = "its owner may let you read it, or pipe it in: sudo cat FILE | tfgpu-doctor explain"
    return InputError(f"cannot read `{name}`: {error.strerror or error}", hint)
