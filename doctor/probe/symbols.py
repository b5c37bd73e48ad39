"""Finds symbols that a library needs but nothing in the process defines; dlopen fails because of them.

TensorFlow loads its libraries with RTLD_NOW (tsl/platform/default/load_library.cc, LoadDynamicLibrary), so
every symbol is looked up immediately, whatever the library's own flags say about lazy binding. Only symbols
without a version are examined. Two small reads show that a library does not define a symbol. The symbols of
NVIDIA's libraries and of glibc have versions, which the loader compares before names (elf/dl-version.c).

Layout: System V gABI, "Symbol Table"; the hash table is GNU's (elf/dl-lookup.c, do_lookup_x).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

from doctor.probe.elf import Elf, bytes_at

if TYPE_CHECKING:
    from doctor.probe.machine import Machine

SYMBOL = struct.Struct("<IBBHQQ")
SYMBOLS_LIMIT = 1 << 16
"""The maximum number of undefined symbols to examine; TensorFlow's CUDA libraries have fewer than two
thousand."""
NAME_LIMIT = 4096
GLOBAL, UNDEFINED, UNVERSIONED = 1, 0, 1


def unresolved(machine: Machine, path: str, header: Elf, scope: Sequence[tuple[str, Elf]]) -> str | None:
    """The first symbol without a version that a library needs and that nothing in `scope` defines.

    scope: the path and header of every object in the process, including the library and its dependencies.
    None if there is no such symbol, or if this is not known: there is no GNU hash table, or a file cannot be
    read.
    """
    try:
        with machine.open(path) as file:
            wanted = _undefined(file, header)
        for name in wanted:
            if not any(_defines(machine, other, its, name) for other, its in scope):
                return name.decode("utf-8", "replace")
    except (OSError, ValueError, struct.error):
        return None
    return None


def _undefined(file: BinaryIO, header: Elf) -> list[bytes]:
    """The names of the undefined strong symbols without a version. In the symbol table they come before the
    symbols that the hash table lists."""
    where = header.symbols
    if where is None:
        return []
    first_hashed = min(struct.unpack("<I", bytes_at(file, where.hash + 4, 4))[0], SYMBOLS_LIMIT)
    table = bytes_at(file, where.table, first_hashed * SYMBOL.size)
    versions = bytes_at(file, where.versions, first_hashed * 2) if where.versions is not None else b""
    names = []
    for index in range(1, len(table) // SYMBOL.size):
        name, info, _, section, _, _ = SYMBOL.unpack_from(table, index * SYMBOL.size)
        if section != UNDEFINED or info >> 4 != GLOBAL or not name:
            continue
        version = versions[2 * index : 2 * index + 2]
        if version and int.from_bytes(version, "little") & 0x7FFF > UNVERSIONED:
            continue
        names.append(bytes_at(file, where.strings + name, NAME_LIMIT).partition(b"\0")[0])
    return names


def _defines(machine: Machine, path: str, header: Elf, name: bytes) -> bool:
    """Whether a library or program exports a symbol. Raises ValueError if this is not known."""
    where = header.symbols
    if where is None:
        raise ValueError(f"{path} has no hash table")
    with machine.open(path) as file:
        buckets, first, words, shift = struct.unpack("<IIII", bytes_at(file, where.hash, 16))
        if not buckets or not words:
            return False
        hashed = 5381
        for letter in name:
            hashed = (hashed * 33 + letter) & 0xFFFFFFFF
        (word,) = struct.unpack("<Q", bytes_at(file, where.hash + 16 + 8 * (hashed // 64 % words), 8))
        if not (word >> hashed % 64 & 1 and word >> (hashed >> shift) % 64 & 1):
            return False
        start = where.hash + 16 + 8 * words
        (chain,) = struct.unpack("<I", bytes_at(file, start + 4 * (hashed % buckets), 4))
        for index in range(chain, chain + SYMBOLS_LIMIT) if chain >= first else ():
            (other,) = struct.unpack("<I", bytes_at(file, start + 4 * (buckets + index - first), 4))
            if other | 1 == hashed | 1:
                entry = SYMBOL.unpack(bytes_at(file, where.table + index * SYMBOL.size, SYMBOL.size))
                if (
                    entry[3] != UNDEFINED
                    and bytes_at(file, where.strings + entry[0], len(name) + 1) == name + b"\0"
                ):
                    return True
            if other & 1:
                return False
    return False
