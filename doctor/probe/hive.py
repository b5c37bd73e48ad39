"""Reads values from the file of a Windows registry hive. It supports only what this package reads from a
machine that is not running.

Format: Windows registry file format specification (M. Suhanov), sections on the base block, cells, key nodes,
values.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

BINS = 4096
"""The file offset, after the base block, to which all cell offsets are relative."""
KEYS_LIMIT = 4096
VALUES_LIMIT = 512
DATA_LIMIT = 16344
"""The largest size in bytes of a value in one cell; PATH may have 2047 characters."""
TEXT = (1, 2)
"""REG_SZ and REG_EXPAND_SZ."""
NUMBER = 4
"""REG_DWORD."""
ASCII_KEY, ASCII_VALUE = 0x20, 1


class NotHiveError(ValueError):
    """The file is not a hive, or is damaged."""


def values(file: BinaryIO, *path: str) -> dict[str, str | int]:
    """The text and number values of a key, by their names in lower case; {} if there is no such key.

    Raises NotHiveError, and OSError if the file cannot be read.
    """
    try:
        return _values(file, path)
    except (struct.error, RecursionError) as problem:
        raise NotHiveError(f"a cell is cut short: {problem}") from problem


def names(file: BinaryIO, *path: str) -> list[str]:
    """The names of the keys below a key, in lower case; [] if there is no such key. Raises the same errors as
    `values`."""
    try:
        node = _node(file, path)
        return [_name(key, 72, 76, 2, ASCII_KEY) for key in _keys(file, node)] if node is not None else []
    except (struct.error, RecursionError) as problem:
        raise NotHiveError(f"a cell is cut short: {problem}") from problem


def _values(file: BinaryIO, path: tuple[str, ...]) -> dict[str, str | int]:
    node = _node(file, path)
    if node is None:
        return {}
    count, listed = struct.unpack_from("<II", node, 36)
    found: dict[str, str | int] = {}
    if not count:
        return found
    for at in struct.unpack_from(f"<{min(count, VALUES_LIMIT)}I", _cell(file, listed)):
        value = _cell(file, at)
        if value[:2] != b"vk":
            raise NotHiveError("the file is damaged: a cell that must hold a value holds something else")
        size, place, kind = struct.unpack_from("<III", value, 4)
        data = value[8:12][: size & 7] if size >> 31 else _cell(file, place)[: min(size, DATA_LIMIT)]
        name = _name(value, 2, 20, 16, ASCII_VALUE)
        if kind in TEXT:
            found[name] = data.decode("utf-16-le", "replace").rstrip("\0")
        elif kind == NUMBER and len(data) == 4:
            found[name] = struct.unpack("<I", data)[0]
    return found


def _node(file: BinaryIO, path: tuple[str, ...]) -> bytes | None:
    """The cell of a key; None if there is none."""
    file.seek(0)
    base = file.read(BINS)
    if base[:4] != b"regf" or len(base) < 48:
        raise NotHiveError("not a registry hive")
    (at,) = struct.unpack_from("<I", base, 36)
    node = _cell(file, at)
    for name in path:
        following = next(
            (key for key in _keys(file, node) if _name(key, 72, 76, 2, ASCII_KEY) == name.lower()), None
        )
        if following is None:
            return None
        node = following
    return node


def _cell(file: BinaryIO, at: int) -> bytes:
    """The content of a cell."""
    file.seek(BINS + at)
    (size,) = struct.unpack("<i", file.read(4))
    return file.read(min(abs(size), 1 << 20) - 4)


def _name(cell: bytes, length_at: int, text_at: int, flags_at: int, ascii_flag: int) -> str:
    """The name of a key or value, in lower case."""
    (length,) = struct.unpack_from("<H", cell, length_at)
    (flags,) = struct.unpack_from("<H", cell, flags_at)
    text = cell[text_at : text_at + length]
    return text.decode("latin-1" if flags & ascii_flag else "utf-16-le", "replace").lower()


def _keys(file: BinaryIO, node: bytes) -> Iterator[bytes]:
    """The keys below a key."""
    if node[:2] != b"nk":
        raise NotHiveError("the file is damaged: a cell that must hold a key holds something else")
    count, _, listed = struct.unpack_from("<III", node, 20)
    if not count:
        return
    lists = [_cell(file, listed)]
    if lists[0][:2] == b"ri":
        (parts,) = struct.unpack_from("<H", lists[0], 2)
        lists = [_cell(file, at) for at in struct.unpack_from(f"<{parts}I", lists[0], 4)]
    seen = 0
    for entries in lists:
        (number,) = struct.unpack_from("<H", entries, 2)
        step = 4 if entries[:2] == b"li" else 8  # lf and lh: with a hash
        for n in range(number):
            seen += 1
            if seen > KEYS_LIMIT:
                return
            yield _cell(file, struct.unpack_from("<I", entries, 4 + step * n)[0])
