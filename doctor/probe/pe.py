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


@dataclass(frozen=True, slots=True)
class _Headers:
    """The headers of a DLL: the number of its processor, the optional header, and the sections, each as
    (name, address, size in the file, offset)."""

    machine: int
    optional: bytes
    sections: list[tuple[bytes, int, int, int]]


def _headers(file: BinaryIO) -> _Headers:
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
    optional = _at(file, start + 24, optional_size)
    if len(optional) < 2 or len(optional) < optional_size:
        raise NotPe("the header is cut off")
    table = _at(file, start + 24 + optional_size, 40 * sections)
    listed = [struct.unpack_from("<8s4xIII", table, at) for at in range(0, len(table) - 39, 40)]
    return _Headers(machine, optional, listed)


def parse(file: BinaryIO) -> Pe:
    """Read the headers of an open DLL. Raises NotPe."""
    headers = _headers(file)
    size = file.seek(0, 2)
    missing = max((raw + raw_size - size for _, _, raw_size, raw in headers.sections if raw_size), default=0)
    optional = headers.optional
    directories = {0x10B: 96, 0x20B: 112}.get(struct.unpack_from("<H", optional)[0])
    imports: list[str] = []
    if directories is not None and len(optional) >= directories + 16:
        address, _ = struct.unpack_from("<II", optional, directories + 8)
        offset = _offset(headers, address)
        for index in range(IMPORTS_LIMIT if address and offset is not None else 0):
            entry = _at(file, (offset or 0) + 20 * index, 20)
            if len(entry) < 20 or not any(entry):
                break
            where = _offset(headers, struct.unpack_from("<I", entry, 12)[0])
            text = _at(file, where, NAME_LIMIT).partition(b"\0")[0] if where is not None else b""
            if text:
                imports.append(text.decode("ascii", "replace"))
    name = MACHINES.get(headers.machine, f"machine {headers.machine:#x}")
    return Pe(name, tuple(imports), max(missing, 0))


def file_version(file: BinaryIO) -> str | None:
    """The file version in a file's resources, "31.0.15.3623"; None if it has none. Raises NotPe."""
    for name, _, raw_size, raw in _headers(file).sections:
        if name.startswith(b".rsrc"):
            found = _at(file, raw, min(raw_size, RESOURCES_LIMIT)).partition(FIXED_INFO)
            if len(found[2]) >= 12:
                high, low = struct.unpack_from("<II", found[2], 4)
                return f"{high >> 16}.{high & 0xFFFF}.{low >> 16}.{low & 0xFFFF}"
    return None


def _offset(headers: _Headers, address: int) -> int | None:
    """The offset in the file that is loaded at an address; None if no section contains it."""
    spans = (span for span in headers.sections if span[1] <= address < span[1] + span[2])
    return next((raw + address - start for _, start, _, raw in spans), None)


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)
