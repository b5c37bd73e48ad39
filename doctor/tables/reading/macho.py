"""Reads from the first bytes of a macOS library which other libraries it needs.

Source: Apple, <mach-o/loader.h>: mach_header_64, LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB.
"""

from __future__ import annotations

import struct

MAGIC_64 = 0xFEEDFACF
LOAD = {0xC, 0x80000018, 0x8000001F}


def needed_libraries(start: bytes) -> list[str]:
    """Return the base names of the needed libraries, or [] if the file is not a thin 64-bit file or `start`
    does not contain all load commands."""
    if len(start) < 32 or struct.unpack_from("<I", start) != (MAGIC_64,):
        return []
    count, size = struct.unpack_from("<II", start, 16)
    names, at = [], 32
    for _ in range(count):
        if at + 8 > min(len(start), 32 + size):
            return []
        command, length = struct.unpack_from("<II", start, at)
        if at + length > len(start):
            return []
        if command in LOAD:
            (name,) = struct.unpack_from("<I", start, at + 8)
            path = start[at + name : at + length].partition(b"\0")[0].decode("utf-8", "replace")
            names.append(path.rpartition("/")[2])
        at += max(8, length)
    return names
