"""Reads the dynamic section of an ELF library from a few ranges of its bytes, without reading the whole file.

Sources: System V ABI, "Object Files" and "Dynamic Linking"; Linux Standard Base, "Symbol Versioning".
"""

from __future__ import annotations

import struct

from doctor.values import dataclass

DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 6, 10, 14, 15, 29
DT_VERNEED, DT_VERNEEDNUM = 0x6FFFFFFE, 0x6FFFFFFF
PT_LOAD, PT_DYNAMIC = 1, 2
HEADER = 64


class ElfError(Exception):
    """The file is not a 64-bit little-endian ELF library, or is inconsistent."""


@dataclass(frozen=True)
class Segment:
    """A program header: it maps `size` bytes of the file to an address in memory."""

    kind: int
    offset: int
    address: int
    size: int


@dataclass(frozen=True)
class Dynamic:
    """The values in a dynamic section that the loader reads. `runpath` is None if there is neither DT_RUNPATH
    nor DT_RPATH. `versions` maps each needed library to the symbol versions that it must define."""

    needed: tuple[str, ...]
    runpath: tuple[str, ...] | None
    versions: dict[str, tuple[str, ...]]


def is_x86_64(start: bytes) -> bool:
    """Whether these are the first bytes of a 64-bit ELF file for x86-64 (e_machine is EM_X86_64)."""
    return start[:6] == b"\x7fELF\x02\x01" and struct.unpack_from("<H", start, 18) == (62,)


def program_headers(start: bytes) -> list[Segment]:
    """Return the program headers, from the first bytes of the file (HEADER and the table after it; both are
    within 4 KiB in all known libraries)."""
    if start[:6] != b"\x7fELF\x02\x01" or len(start) < HEADER:
        raise ElfError("not a 64-bit little-endian ELF file")
    (offset,) = struct.unpack_from("<Q", start, 32)
    entry_size, count = struct.unpack_from("<HH", start, 54)
    if entry_size != 56 or offset + entry_size * count > len(start):
        raise ElfError("the program headers are not at the file's beginning")
    segments = []
    for index in range(count):
        kind, _flags, place, address, _physical, size = struct.unpack_from(
            "<IIQQQQ", start, offset + index * 56
        )
        segments.append(Segment(kind, place, address, size))
    return segments


def dynamic_entries(section: bytes) -> list[tuple[int, int]]:
    """Return the (tag, value) pairs of a dynamic section, up to DT_NULL."""
    entries = []
    for tag, value in struct.iter_unpack("<QQ", section[: len(section) // 16 * 16]):
        if tag == 0:
            break
        entries.append((tag, value))
    return entries


def file_offset(segments: list[Segment], address: int) -> int:
    """Return the file offset of a virtual address. Raises ElfError."""
    for segment in segments:
        if segment.kind == PT_LOAD and segment.address <= address < segment.address + segment.size:
            return segment.offset + address - segment.address
    raise ElfError(f"no segment contains the address {address:#x}")


def ranges_needed(segments: list[Segment], entries: list[tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Return the file ranges that read_dynamic needs: "strings", and "versions" if the library needs symbol
    versions."""
    values = dict(entries)
    if DT_STRTAB not in values or DT_STRSZ not in values:
        raise ElfError("the dynamic section has no string table")
    strings = file_offset(segments, values[DT_STRTAB])
    ranges = {"strings": (strings, strings + values[DT_STRSZ])}
    if DT_VERNEED in values:
        versions = file_offset(segments, values[DT_VERNEED])
        # one record per library and per version, 16 bytes each; the number of versions is not known in
        # advance
        ranges["versions"] = (versions, versions + 16 * 16 * max(1, values.get(DT_VERNEEDNUM, 1)) + 4096)
    return ranges


def read_dynamic(entries: list[tuple[int, int]], strings: bytes, versions: bytes) -> Dynamic:
    """Return the values in a dynamic section. `strings` and `versions` are the bytes of the ranges from
    ranges_needed."""

    def string(offset: int) -> str:
        end = strings.find(b"\0", offset)
        if not 0 <= offset < len(strings) or end < 0:
            raise ElfError(f"the string table has no string at {offset}")
        return strings[offset:end].decode("utf-8", "replace")

    needed = tuple(string(value) for tag, value in entries if tag == DT_NEEDED)
    paths = [string(value) for tag, value in entries if tag == DT_RUNPATH] or [
        string(value) for tag, value in entries if tag == DT_RPATH
    ]
    runpath = tuple(part for path in paths for part in path.split(":")) if paths else None
    found: dict[str, tuple[str, ...]] = {}
    at = 0
    for _ in range(dict(entries).get(DT_VERNEEDNUM, 0)):
        if at + 16 > len(versions):
            raise ElfError("the version needs are cut off")
        _version, count, file, auxiliary, following = struct.unpack_from("<HHIII", versions, at)
        names, place = [], at + auxiliary
        for _ in range(count):
            if place + 16 > len(versions):
                raise ElfError("the version needs are cut off")
            _hash, _flags, _other, name, step = struct.unpack_from("<IHHII", versions, place)
            names.append(string(name))
            place += step
        found[string(file)] = tuple(names)
        if not following:
            break
        at += following
    return Dynamic(needed, runpath, found)


def newest_glibc(versions: list[str]) -> str | None:
    """Return the highest GLIBC_x.y among symbol versions, as "x.y"."""
    numbers = [
        tuple(int(part) for part in version[6:].split("."))
        for version in versions
        if version.startswith("GLIBC_") and version[6:].replace(".", "").isdigit()
    ]
    return ".".join(str(part) for part in max(numbers)) if numbers else None
