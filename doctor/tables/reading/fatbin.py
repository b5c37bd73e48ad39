"""Reads the GPU code in a library: the entries of its fatbins, which nvcc and clang embed for each kernel
file.

NVIDIA does not publish the format. The description below was derived from wheels and checked against the
output of cuobjdump: the header is magic 0xBA55ED50, u16 version, u16 header size, u64 size of the entries.
Each entry is u16 kind (1 PTX, 2 cubin), u16, u32 header size, u64 payload size, u32 packed size, u32, u16
minor and u16 major of the code's version, u32 compute capability times ten, u32, u32, u64 flags (0x2000: LZ4,
0x8000: zstd), u64, u64 unpacked size. The first lines of a PTX text state its ISA and its target (NVIDIA,
"PTX ISA", directives .version and .target).
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from typing import Any

from doctor.tables.reading.window import Window
from doctor.values import dataclass, field

MAGIC = b"\x50\xed\x55\xba"
PTX, CUBIN = 1, 2
LZ4_FLAG, ZSTD_FLAG = 0x2000, 0x8000
HEAD = 1536
# EF_CUDA_ACCELERATORS in the e_flags of a cubin stands for the "a" of sm_90a. ELF ABI version 8 (CUDA 12.8
# on, for Blackwell) moved the architecture to bits 8 to 15, and this flag to another bit (LLVM,
# include/llvm/BinaryFormat/ELF.h).
ACCELERATORS_ABI_7, ACCELERATORS_ABI_8 = 0x800, 0x8


@dataclass
class Fatbins:
    """The number of fatbin entries per target. The key for a cubin is its target ("8.0"); the key for PTX is
    its target and ISA version ("8.0", "7.1"). `unreadable` counts PTX entries whose compressed beginning
    could not be read; their target and ISA come from the entry's header."""

    cubins: Counter[str] = field(default_factory=Counter)
    ptx: Counter[tuple[str, str]] = field(default_factory=Counter)
    malformed: int = 0
    unreadable: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON: compiled maps target -> count, ptx maps target -> ISA version ->
        count."""
        isa: dict[str, dict[str, int]] = {}
        for (target, version), count in sorted(self.ptx.items()):
            isa.setdefault(target, {})[version] = count
        return {
            "entries": sum(self.cubins.values()) + sum(self.ptx.values()),
            "compiled": dict(sorted(self.cubins.items())),
            "ptx": isa,
            "malformed": self.malformed,
            "unreadable": self.unreadable,
        }


def scan(window: Window, found: Fatbins) -> None:
    """Read the stream to its end, and add every fatbin in it to `found`."""
    at = 0
    while (at := window.find(MAGIC, at)) >= 0:
        at = _scan_one(window, at, found)


def _scan_one(window: Window, start: int, found: Fatbins) -> int:
    """Read one fatbin. Returns the offset at which to continue the search."""
    header = window.read(start, 16)
    if len(header) < 16:
        return start + 4
    version: int
    header_size: int
    size: int
    version, header_size, size = struct.unpack_from("<HHQ", header, 4)
    if version != 1 or not 16 <= header_size <= 64 or size < 64 or size > 1 << 31:
        return start + 4  # the four bytes occur by chance, or in code that writes them
    at, stop = start + header_size, start + header_size + size
    while at + 64 <= stop:
        entry = window.read(at, 64)
        if len(entry) < 64:
            found.malformed += 1
            return at
        kind, entry_header, payload, packed = struct.unpack_from("<H2xIQI", entry)
        minor, major, arch = struct.unpack_from("<HHI", entry, 24)
        (flags,) = struct.unpack_from("<Q", entry, 40)
        if (
            kind not in (PTX, CUBIN)
            or not 64 <= entry_header <= 4096
            or payload > stop - at
            or not 20 <= arch < 1000
        ):
            found.malformed += 1
            return start + 4
        head = window.read(at + entry_header, min(HEAD, payload))
        _count(kind, arch, f"{major}.{minor}", _unpacked_head(head[: packed or None], flags), found)
        at += entry_header + payload
        window.skip_to(at)
    return at


def _count(kind: int, arch: int, version: str, head: bytes | None, found: Fatbins) -> None:
    target = f"{arch // 10}.{arch % 10}"
    if kind == CUBIN:
        if arch >= 90 and head and len(head) >= 52 and head[:4] == b"\x7fELF":
            (elf_flags,) = struct.unpack_from("<I", head, 48)
            accelerators = ACCELERATORS_ABI_8 if head[8] >= 8 else ACCELERATORS_ABI_7
            target += "a" if elf_flags & accelerators else ""
        found.cubins[target] += 1
        return
    text = re.search(
        rb"\.version\s+(\d+\.\d+)\s.{0,400}?\.target\s+sm_(\d+)(\d)([af]?)", head or b"", re.DOTALL
    )
    if text is None:
        found.unreadable += 1
        found.ptx[target, version] += 1
    else:
        found.ptx[f"{text[2].decode()}.{text[3].decode()}{text[4].decode()}", text[1].decode()] += 1


def _unpacked_head(head: bytes, flags: int) -> bytes | None:
    if flags & LZ4_FLAG:
        return lz4_head(head, HEAD)
    if flags & ZSTD_FLAG:
        try:
            import zstandard  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            return None
        try:
            return bytes(zstandard.ZstdDecompressor().decompressobj().decompress(head))[:HEAD]
        except zstandard.ZstdError:
            return None
    return head


def lz4_head(packed: bytes, wanted: int) -> bytes:
    """Return the first `wanted` unpacked bytes of an LZ4 block, or fewer if `packed` is cut off or broken.

    Source: lz4_Block_format.md of the LZ4 project.
    """
    out = bytearray()
    at = 0
    try:
        while len(out) < wanted and at < len(packed):
            token = packed[at]
            at += 1
            literals = token >> 4
            if literals == 15:
                while True:
                    literals += packed[at]
                    at += 1
                    if packed[at - 1] != 255:
                        break
            out += packed[at : at + literals]
            at += literals
            if at + 2 > len(packed):
                break
            distance = packed[at] | packed[at + 1] << 8
            at += 2
            length = (token & 15) + 4
            if token & 15 == 15:
                while True:
                    length += packed[at]
                    at += 1
                    if packed[at - 1] != 255:
                        break
            if not 0 < distance <= len(out):
                break
            for _ in range(min(length, wanted)):
                out.append(out[-distance])
    except IndexError:
        pass
    return bytes(out[:wanted])
