"""Reads /etc/ld.so.cache in pure Python: which file the loader's cache lists for each library name.

Format: glibc, sysdeps/generic/dl-cache.h (struct cache_file, cache_file_new, file_entry_new, the extension
section for glibc-hwcaps). This module reads the current format, which starts with "glibc-ld.so.cache1.1", and
the older one, in which this header follows an "ld.so-1.7.0" table.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from doctor.values import dataclass

OLD_MAGIC = b"ld.so-1.7.0"
NEW_MAGIC = b"glibc-ld.so.cache1.1"
NEW_HEADER = 48
ENTRY = struct.Struct("<iIIIQ")
HWCAP_EXTENSION = 1 << 62
"""The flag in an entry's hwcap that says that its low 32 bits are an index into the glibc-hwcaps strings
(DL_CACHE_HWCAP_EXTENSION)."""
FLAGS = {"x86_64": 0x0303, "aarch64": 0x0A03, "ppc64le": 0x0503, "riscv": 0x1003}
"""By processor: FLAG_ELF_LIBC6 combined with the flag of the 64-bit ABI (dl-cache.h, elf/cache.c)."""


class NotCache(ValueError):  # noqa: N818
    """The file is not a readable ld.so cache."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One cache entry, a line of `ldconfig -p`. `hwcap`: the glibc-hwcaps folder ("x86-64-v3"), "" for the
    plain library."""

    name: str
    path: str
    flags: int
    hwcap: str = ""
    legacy_hwcap: bool = False


def parse(data: bytes) -> tuple[Entry, ...]:
    """The entries of the cache file, in its order. Raises NotCache."""
    start = data.find(NEW_MAGIC) if data.startswith((OLD_MAGIC, NEW_MAGIC)) else -1
    if start < 0 or len(data) < start + NEW_HEADER:
        raise NotCache("not a loader cache of glibc 2.2 or later")
    count, _, _, extension = struct.unpack_from("<IIB3xI", data, start + len(NEW_MAGIC))
    if start + NEW_HEADER + count * ENTRY.size > len(data):
        raise NotCache("the loader cache is cut off")

    def string(offset: int) -> str:
        at = start + offset
        end = data.find(b"\0", at)
        return data[at:end].decode("utf-8", "replace") if 0 <= at < len(data) and end >= 0 else ""

    hwcaps = _hwcap_strings(data, start, extension, string) if extension else []
    entries = []
    for index in range(count):
        flags, key, value, _, hwcap = ENTRY.unpack_from(data, start + NEW_HEADER + index * ENTRY.size)
        extended = bool(hwcap & HWCAP_EXTENSION)
        number = hwcap & 0xFFFFFFFF
        entries.append(
            Entry(
                string(key),
                string(value),
                flags,
                hwcaps[number] if extended and number < len(hwcaps) else "",
                legacy_hwcap=bool(hwcap) and not extended,
            )
        )
    return tuple(entries)


def _hwcap_strings(data: bytes, start: int, extension: int, string: Callable[[int], str]) -> list[str]:
    """The names of the glibc-hwcaps folders that entries refer to by number
    (cache_extension_tag_glibc_hwcaps)."""
    at = start + extension
    if at + 8 > len(data):
        return []
    magic, sections = struct.unpack_from("<II", data, at)
    if magic != 0xEAA42174:
        return []
    for index in range(min(sections, 64)):
        if at + 8 + 16 * (index + 1) > len(data):
            break
        tag, _, offset, size = struct.unpack_from("<IIII", data, at + 8 + 16 * index)
        if tag == 1:
            begin = start + offset
            count = min(size, max(0, len(data) - begin)) // 4
            numbers = struct.unpack_from(f"<{count}I", data, begin)
            return [string(number) for number in numbers]
    return []
