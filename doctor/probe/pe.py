"""Reads the few fields of a Windows DLL that decide whether it loads: processor, imported DLLs, completeness.

Layout: Microsoft, "PE Format" (MS-DOS stub, COFF header, optional header, section table, import directory).
"""

from __future__ import annotations

import struct
from typing import BinaryIO

from doctor.values import dataclass

MACHINES = {0x14C: "x86", 0x8664: "x86_64", 0xAA64: "aarch64"}
IMPORTS_LIMIT = 512
NAME_LIMIT = 260
RESOURCES_LIMIT = 4 << 20
FIXED_INFO = b"\xbd\x04\xef\xfe"
"""The signature of VS_FIXEDFILEINFO; the structure's version and the file's version follow it."""


class NotPe(ValueError):  # noqa: N818
    """Windows could not load the file as a DLL; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Pe:
    """A DLL's processor, the DLLs that it imports, and how many bytes of its sections are missing because the
    file is cut short."""

    machine: str
    imports: tuple[str, ...] = ()
    missing_bytes: int = 0


def parse(file: BinaryIO) -> Pe:
    """Read the headers of an open DLL. Raises NotPe."""
    size = file.seek(0, 2)
    head = _at(file, 0, 64)
    if len(head) < 64:
        raise NotPe("the file is too short")
    if head[:2] != b"MZ":
        raise NotPe("not a DLL: it does not begin with MZ")
    (start,) = struct.unpack_from("<I", head, 60)
    coff = _at(file, start, 24)
    if len(coff) < 24 or coff[:4] != b"PE\0\0":
        raise NotPe("no PE header")
    machine, sections, _, _, _, optional_size, _ = struct.unpack("<HHIIIHH", coff[4:24])
    name = MACHINES.get(machine, f"machine {machine:#x}")
    optional = _at(file, start + 24, optional_size)
    if len(optional) < 2 or len(optional) < optional_size:
        raise NotPe("the header is cut off")
    directories = {0x10B: 96, 0x20B: 112}.get(struct.unpack_from("<H", optional)[0])
    table = _at(file, start + 24 + optional_size, 40 * sections)
    spans: list[tuple[int, int, int]] = []  # address, size in the file, offset
    missing = 0
    for at in range(0, len(table) - 39, 40):
        _, address, raw_size, raw = struct.unpack_from("<IIII", table, at + 8)
        spans.append((address, raw_size, raw))
        missing = max(missing, raw + raw_size - size if raw_size else 0)
    imports: list[str] = []
    if directories is not None and len(optional) >= directories + 16:
        address, _ = struct.unpack_from("<II", optional, directories + 8)
        offset = _offset(spans, address)
        for index in range(IMPORTS_LIMIT if address and offset is not None else 0):
            entry = _at(file, (offset or 0) + 20 * index, 20)
            if len(entry) < 20 or not any(entry):
                break
            where = _offset(spans, struct.unpack_from("<I", entry, 12)[0])
            text = _at(file, where, NAME_LIMIT).partition(b"\0")[0] if where is not None else b""
            if text:
                imports.append(text.decode("ascii", "replace"))
    return Pe(name, tuple(imports), missing)


def file_version(file: BinaryIO) -> str | None:
    """The file version in a file's resources, "31.0.15.3623"; None if it has none. Raises NotPe."""
    parse(file)
    (start,) = struct.unpack("<I", _at(file, 60, 4))
    sections, size = struct.unpack_from("<H12xH", _at(file, start + 6, 16))
    table = _at(file, start + 24 + size, 40 * sections)
    for at in range(0, len(table) - 39, 40):
        if table[at : at + 5] == b".rsrc":
            raw_size, raw = struct.unpack_from("<II", table, at + 16)
            found = _at(file, raw, min(raw_size, RESOURCES_LIMIT)).partition(FIXED_INFO)
            if len(found[2]) >= 12:
                high, low = struct.unpack_from("<II", found[2], 4)
                return f"{high >> 16}.{high & 0xFFFF}.{low >> 16}.{low & 0xFFFF}"
    return None


def _offset(spans: list[tuple[int, int, int]], address: int) -> int | None:
    return next(
        (raw + address - start for start, size, raw in spans if start <= address < start + size), None
    )


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)
