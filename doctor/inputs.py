"""Opens the inputs that the command line names: files, folders, standard input and URLs.

`expand` turns the arguments of the command line into `Input`s, and `opened` returns a stream of bytes for
each. This module does not interpret their content.
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
    r"|o|a|lib|pyc|pyd|h5|hdf5|keras|pb|tflite|onnx|pt|pth|ckpt|index|data-\d+-of-\d+|npy|npz|pkl|pickle"
    r"|tfrecords?|mp4|avi|mov|mp3|wav|db|sqlite3?|docx?|xlsx?|pptx?|ttf|woff2?)$"
)
"""Extensions of files that are skipped in folders. Other files are skipped only if they contain no text."""


class Input(NamedTuple):
    """One input. name: a path, a URL or STDIN. listed: whether the file was found in a folder; then it need
    not be a report. comments: also read the comments of an issue."""

    name: str
    listed: bool = False
    comments: bool = False


def expand(words: Iterable[str], *, comments: bool = False) -> Iterator[Input]:
    """Yield every input that `words` refer to, in the order of the words. The files of a folder are sorted by
    name. comments: see `Input`."""
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
    """Return a stream with the bytes of an input; gzip is unpacked. The caller reads the stream once and
    closes it.

    Raises InputError, with the name and the reason, if the input cannot be read.
    """
    if item.name == STDIN:
        if sys.stdin is None:
            raise InputError("standard input is closed", "pass a file instead")
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
            import itertools

            # two names are not similar because of the same ending
            stems = {p.stem: p.name for p in itertools.islice(folder.iterdir(), 5000)}
            near = difflib.get_close_matches(Path(name).stem, stems, 1, cutoff=0.7)
            hint = f"did you mean `{folder / stems[near[0]]}`?" if near else ""
    elif isinstance(error, PermissionError):
        hint = "ask its owner for permission, or run: sudo cat FILE | tfgpu-doctor explain -"
    return InputError(f"cannot read `{name}`: {error.strerror or error}", hint)
