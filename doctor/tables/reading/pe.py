"""Reads which DLLs a Windows library imports, from a stream of its bytes.

Source: Microsoft, "PE Format": optional header, data directories 1 (import) and 13 (delay import).
"""

from __future__ import annotations

import struct

from doctor.values import dataclass

NAMES_WITHIN = 16 << 20


class PeError(Exception):
    """The file is not a 64-bit PE library."""


@dataclass(frozen=True)
class Section:
    """A section: `size` bytes at `offset` in the file are mapped to the relative address `address` in
    memory."""

    name: str
    address: int
    offset: int
    size: int


@dataclass(frozen=True)
class Headers:
    """The headers of a library. An import table is given as (relative address, size), with size 0 for
    none."""

    sections: tuple[Section, ...]
    imports: tuple[int, int]
    delayed: tuple[int, int]


def read_headers(start: bytes) -> Headers:
    """Return the headers, from the first 4 KiB of the file. Raises PeError."""
    if start[:2] != b"MZ" or len(start) < 0x40:
        raise PeError("not a Windows library")
    (at,) = struct.unpack_from("<I", start, 0x3C)
    if start[at : at + 4] != b"PE\0\0" or len(start) < at + 264:
        raise PeError("not a Windows library")
    count, optional_size = struct.unpack_from("<H12xH", start, at + 6)
    optional = at + 24
    if struct.unpack_from("<H", start, optional) != (0x20B,):
        raise PeError("not a 64-bit Windows library")
    imports = struct.unpack_from("<II", start, optional + 112 + 8)
    delayed = struct.unpack_from("<II", start, optional + 112 + 13 * 8)
    sections = []
    for index in range(count):
        place = optional + optional_size + 40 * index
        if place + 40 > len(start):
            raise PeError("the section table is cut off")
        name, _virtual, address, size, offset = struct.unpack_from("<8sIIII", start, place)
        sections.append(Section(name.rstrip(b"\0").decode("latin-1"), address, offset, size))
    return Headers(tuple(sections), (imports[0], imports[1]), (delayed[0], delayed[1]))


def import_ranges(headers: Headers) -> list[tuple[int, int]]:
    """Return the file ranges that imported_dlls needs. The names follow the tables in the same section (the
    linker sorts .idata$2 to .idata$6 in this way), so the range of each table is extended by NAMES_WITHIN
    bytes."""
    ranges = []
    for address, size in (headers.imports, headers.delayed):
        for section in headers.sections:
            if size and section.address <= address < section.address + section.size:
                start = section.offset + address - section.address
                ranges.append((start, min(section.offset + section.size, start + size + NAMES_WITHIN)))
    return ranges


def imported_dlls(headers: Headers, content: list[tuple[int, bytes]]) -> list[str]:
    """Return the names of the imported DLLs in lower case, sorted. `content` contains the ranges from
    import_ranges, each as (start, bytes)."""

    def at(address: int, length: int) -> bytes:
        for section in headers.sections:
            if section.address <= address < section.address + section.size:
                place = section.offset + address - section.address
                for start, data in content:
                    if start <= place < start + len(data):
                        return bytes(data[place - start : place - start + length])
        raise PeError(f"the address {address:#x} is in none of the ranges that were read")

    names = set()
    for (table, size), step, name_at in ((headers.imports, 20, 12), (headers.delayed, 32, 4)):
        for index in range(size // step):
            record = at(table + index * step, step)
            if len(record) < step or not any(record):
                break
            (name,) = struct.unpack_from("<I", record, name_at)
            names.add(at(name, 256).partition(b"\0")[0].decode("latin-1").lower())
    return sorted(names)
