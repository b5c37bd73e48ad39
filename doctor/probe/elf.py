"""Reads the few fields of an ELF file that glibc's loader uses, in about a dozen small reads.

Layout: the ELF specification (System V gABI, chapters 4 and 5); symbol versions: the Linux Standard Base,
"Symbol Versioning". pyelftools reads the same fields (a test compares the two), but importing it takes twenty
times as long as this module takes to read all of TensorFlow's libraries.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from doctor.values import dataclass, replace

if TYPE_CHECKING:
    from doctor.probe.machine import Machine

HEADER_SIZE = {32: 52, 64: 64}
TABLE_LIMIT = 1 << 20
"""The maximum number of bytes to read from a dynamic section. In the largest TensorFlow library it has less
than 2 KiB."""
STRING_LIMIT = 1 << 16
"""The largest length in bytes of a string such as a RUNPATH. TensorFlow's RUNPATHs have up to 2 KiB."""
SHORT, WINDOW = 64, 4096
"""The number of bytes in which to look first for the end of a string, and the number to read at once."""

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 6, 10, 14, 15, 29
DT_GNU_HASH, DT_VERSYM, DT_FLAGS_1 = 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFB
DT_VERDEF, DT_VERDEFNUM, DT_VERNEED, DT_VERNEEDNUM = range(0x6FFFFFFC, 0x70000000)
DF_1_NODEFLIB = 0x800
VER_FLG_WEAK = 2

MACHINES = {
    3: "x86",
    20: "ppc",
    21: "ppc64",
    22: "s390",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    243: "riscv",
}


class NotElf(ValueError):  # noqa: N818
    """The loader cannot use the file as ELF; the text is the loader's own message.

    `header` contains the ELF class and the processor if they could be read; the loader examines them first.
    """

    def __init__(self, reason: str, header: Elf | None = None) -> None:
        super().__init__(reason)
        self.header = header


@dataclass(frozen=True, slots=True)
class Symbols:
    """Where a 64-bit file's dynamic symbols are: the offsets of the symbol table, names, GNU hash table and
    versions."""

    table: int
    strings: int
    hash: int
    versions: int | None


@dataclass(frozen=True, slots=True)
class Elf:
    """What the loader reads from a shared object or a program.

    bits: 32 or 64. machine: the processor ("x86_64"); kind: e_type (2 program, 3 shared object). needed,
    rpath, runpath: DT_NEEDED, DT_RPATH, DT_RUNPATH (None if absent, each split at colons). wants: symbol
    versions required from other libraries: ((library, version, weak) ...); gives: symbol versions that the
    file defines. missing_bytes: how many bytes of the loadable segments lie beyond the end of the file (0
    unless it is truncated). interpreter: the program's loader (PT_INTERP). symbols: None if there is no GNU
    hash table.
    """

    bits: int
    machine: str
    kind: int
    soname: str | None = None
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] | None = None
    runpath: tuple[str, ...] | None = None
    no_default_folders: bool = False
    wants: tuple[tuple[str, str, bool], ...] = ()
    gives: frozenset[str] = frozenset()
    missing_bytes: int = 0
    interpreter: str | None = None
    symbols: Symbols | None = None


def of(machine: Machine, path: str) -> Elf:
    """Read an ELF file on a machine. Raises NotElf, and OSError if it cannot be opened."""
    with machine.open(path) as file:
        return parse(file)


def parse(file: BinaryIO) -> Elf:
    """Read an open ELF file. Raises NotElf."""
    size = file.seek(0, 2)
    file.seek(0)
    head = file.read(64)
    if len(head) < HEADER_SIZE[64 if head[4:5] != b"\x01" else 32]:
        raise NotElf("file too short")
    if head[:4] != b"\x7fELF":
        raise NotElf("invalid ELF header")
    bits = {1: 32, 2: 64}.get(head[4])
    order = {1: "<", 2: ">"}.get(head[5])
    if bits is None or order is None:
        raise NotElf("invalid ELF header")
    kind, machine_number = struct.unpack_from(order + "HH", head, 16)
    machine = MACHINES.get(machine_number, f"machine {machine_number}")
    machine += "le" if machine == "ppc64" and order == "<" else ""
    if bits == 64:
        (phoff,) = struct.unpack_from(order + "Q", head, 32)
        phentsize, phnum = struct.unpack_from(order + "HH", head, 54)
    else:
        (phoff,) = struct.unpack_from(order + "I", head, 28)
        phentsize, phnum = struct.unpack_from(order + "HH", head, 42)
    bare = Elf(bits, machine, kind)
    if order == ">":
        return bare  # enough to refuse it: no TensorFlow build is big-endian
    if phentsize != (56 if bits == 64 else 32):
        raise NotElf("ELF file's phentsize not the expected size", bare)
    table = bytes_at(file, phoff, phentsize * phnum)
    if len(table) < phentsize * phnum:
        raise NotElf("cannot read file data", bare)
    segments: list[tuple[int, int, int, int]] = []  # type, offset, address, size in the file
    for at in range(0, len(table), phentsize):
        if bits == 64:
            p_type, _, offset, address, _, in_file = struct.unpack_from("<IIQQQQ", table, at)
        else:
            p_type, offset, address, _, in_file = struct.unpack_from("<IIIII", table, at)
        segments.append((p_type, offset, address, in_file))
    missing = max((o + n - size for t, o, _, n in segments if t == PT_LOAD), default=0)
    interpreter = None
    for p_type, offset, _, in_file in segments:
        if p_type == PT_INTERP:
            interpreter = bytes_at(file, offset, min(in_file, 4096)).rstrip(b"\0").decode("utf-8", "replace")
    header = replace(bare, missing_bytes=max(missing, 0), interpreter=interpreter)
    dynamic = next(((o, n) for t, o, _, n in segments if t == PT_DYNAMIC), None)
    if dynamic is not None:
        return _with_dynamic(file, header, segments, dynamic)
    if kind == 3:
        raise NotElf("object file has no dynamic section", bare)
    return header


def _with_dynamic(
    file: BinaryIO, header: Elf, segments: list[tuple[int, int, int, int]], dynamic: tuple[int, int]
) -> Elf:
    """The header with the entries of the dynamic section, and with the strings and versions to which they
    point. dynamic: the offset and size of the section."""
    data = bytes_at(file, dynamic[0], min(dynamic[1], TABLE_LIMIT))
    tables, texts = _Window(file), _Window(file)
    step, shape = (16, "<QQ") if header.bits == 64 else (8, "<II")
    entries: list[tuple[int, int]] = []
    for at in range(0, len(data) - step + 1, step):
        tag, value = struct.unpack_from(shape, data, at)
        if tag == 0:
            break
        entries.append((tag, value))
    first = dict(reversed(entries))

    def offset_of(address: int) -> int | None:
        return next(
            (o + address - a for t, o, a, n in segments if t == PT_LOAD and a <= address < a + n), None
        )

    strings_at = offset_of(first.get(DT_STRTAB, 0))
    strings_size = first.get(DT_STRSZ, 0)
    known: dict[int, str] = {}

    def string(index: int) -> str:
        if index not in known:
            inside = strings_at is not None and 0 <= index < strings_size
            size = min(STRING_LIMIT, strings_size - index) if inside else 0
            known[index] = texts.text((strings_at or 0) + index, size)
        return known[index]

    def path(tag: int) -> tuple[str, ...] | None:
        return tuple(string(first[tag]).split(":")) if tag in first else None

    def place(tag: int) -> int | None:
        return offset_of(first[tag]) if tag in first else None

    wants: list[tuple[str, str, bool]] = []
    for at, (_, count, library, aux, _) in _chain(
        tables, place(DT_VERNEED), "<HHIII", min(first.get(DT_VERNEEDNUM, 0), 256)
    ):
        for _, (_, flags, _, name, _) in _chain(tables, at + aux, "<IHHII", min(count, 512)):
            wants.append((string(library), string(name), bool(flags & VER_FLG_WEAK)))
    gives: set[str] = set()
    for at, record in _chain(tables, place(DT_VERDEF), "<HHHHIII", min(first.get(DT_VERDEFNUM, 0), 512)):
        entry = tables.bytes(at + record[5], 8)
        if len(entry) == 8:
            gives.add(string(struct.unpack("<II", entry)[0]))
    symbols = None
    table, hashes = place(DT_SYMTAB), place(DT_GNU_HASH)
    if header.bits == 64 and table is not None and hashes is not None and strings_at is not None:
        symbols = Symbols(table, strings_at, hashes, place(DT_VERSYM))
    return replace(
        header,
        soname=string(first[DT_SONAME]) if DT_SONAME in first else None,
        needed=tuple(string(value) for tag, value in entries if tag == DT_NEEDED),
        # "If both RUNPATH and RPATH are given, the latter is ignored" (glibc, elf/get-dynamic-info.h)
        rpath=None if DT_RUNPATH in first else path(DT_RPATH),
        runpath=path(DT_RUNPATH),
        no_default_folders=bool(first.get(DT_FLAGS_1, 0) & DF_1_NODEFLIB),
        wants=tuple(wants),
        gives=frozenset(gives),
        symbols=symbols,
    )


class _Window:
    """A file with a cache of the part that was read last, because the data of one table are close
    together."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._start, self._data = file, 0, b""

    def bytes(self, offset: int, size: int) -> bytes:
        """Bytes at an offset; fewer if the file ends earlier."""
        at = offset - self._start
        if not 0 <= at <= len(self._data) - size:
            self._start, self._data, at = offset, bytes_at(self._file, offset, max(size, WINDOW)), 0
        return self._data[at : at + size]

    def text(self, offset: int, size: int) -> str:
        """The string at an offset, up to its NUL; "" if there is no NUL within `size` bytes."""
        for most in (min(size, SHORT), size):
            found, end, _ = self.bytes(offset, most).partition(b"\0")
            if end:
                return found.decode("utf-8", "replace")
        return ""


def _chain(file: _Window, start: int | None, shape: str, limit: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The records of a linked list, each as (offset, fields); the last field is the distance to the next
    record, 0 at the end. start: the first record's offset; None if there is no list."""
    if start is None:
        return
    size = struct.calcsize(shape)
    at = start
    for _ in range(limit):
        record = file.bytes(at, size)
        if len(record) < size:
            return
        values = struct.unpack(shape, record)
        yield at, values
        if not values[-1]:
            return
        at += values[-1]


def bytes_at(file: BinaryIO, offset: int, size: int) -> bytes:
    """Bytes at an offset; fewer if the file ends earlier."""
    if not 0 <= offset < 1 << 62:
        return b""
    file.seek(offset)
    return file.read(max(size, 0))
