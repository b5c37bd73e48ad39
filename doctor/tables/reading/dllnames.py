"""Finds the DLLs that a Windows build of TensorFlow loads while it runs, from the machine code of its loader.

From 1.15 on a Windows build imports no CUDA library;
tensorflow/stream_executor/platform/default/dso_loader.cc loads each as FormatLibraryFileName(name, version),
which on Windows is name + version + ".dll" ("cudart" + "64_110"). The code cannot run on Linux, but its
strings can be read. Each of its functions makes two short strings, the name of the library and the version.
It loads them relative to the instruction pointer from .rdata or, where that is shorter, writes the bytes with
move instructions ("cusolver" in one 8-byte move, "64_8" in one 4-byte move; Microsoft's std::string builds a
string of up to 15 characters in place). So this module finds the functions by these loads and moves. If a
short run of instructions contains exactly one name and one version, they belong together.

build_info.py does not prove these names: in 2.5 to 2.10 it states cudart64_112.dll, but these releases load
cudart64_110.dll.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.tables.reading.archive import Member, inflate
from doctor.tables.reading.pe import Headers, Section, read_headers
from doctor.tables.reading.registry import IndexFile
from doctor.tables.reading.remote import Remote
from doctor.tables.reading.window import Window
from doctor.values import dataclass

if TYPE_CHECKING:
    from typing import TypeAlias

HEAD = 64 << 10
# 8-byte moves that occur only in the loader (compilers of 2.3 and later)
MOVED_NAME = lazy.compile(rb"\x48[\xb8-\xbf](cublasLt|cusolver|cusparse)")
MOVED_VERSION = lazy.compile(rb"64_\d")
# mov or lea of a register from [rip + disp32]: opcode, ModRM 00 reg 101
RELATIVE = lazy.compile(rb"(?:\x48\x8d|\x8b)[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]")
LEA_RDX = lazy.compile(rb"\x48\x8d\x15")
AROUND = 16 << 10
NAMES = frozenset(
    [
        "cudart",
        "cublas",
        "cublasLt",
        "cufft",
        "curand",
        "cusolver",
        "cusparse",
        "cudnn",
        "cupti",
        "nvinfer",
        "nvinfer_plugin",
        "nvcuda",
    ]
)
VERSION = lazy.compile(r"64_\d{1,4}")
WITHIN_FUNCTION = 0x60
"""The largest distance in bytes between the loads of a name and its version, in either order. The loads of
the next function are at least 0x110 bytes later."""

Finder: TypeAlias = "Callable[[bytes, int], Iterator[int]]"
"""The type of a function that finds the loader's code in some bytes. It takes the bytes and their file
offset, and yields the places."""


@dataclass(frozen=True)
class Composed:
    """The DLL names and versions in the code of a library. `names`: the DLLs, sorted; empty if the loader's
    code was not found. `versions`: the strings in .rdata that have the form of a version ("64_80")."""

    names: tuple[str, ...]
    versions: tuple[str, ...]


def read_composed(remote: Remote, file: IndexFile, member: Member) -> Composed:
    """Return the DLL names that one library composes, from its code and its constants, which come before the
    kernels. Raises RemoteError, ArchiveError, PeError."""
    stretches: list[tuple[int, bytes]] = []

    def moved(data: bytes, _start: int) -> Iterator[int]:
        return (match.start() for match in MOVED_NAME.finditer(data))

    window = Window(_near(inflate(remote, file.url, member), moved, stretches))
    headers = read_headers(window.read(0, HEAD))
    sections = {section.name: section for section in headers.sections}
    if ".text" not in sections or ".rdata" not in sections:
        return Composed((), ())
    text, rdata = sections[".text"], sections[".rdata"]
    kept = window.keep(rdata.offset, rdata.offset + rdata.size)
    window.skip_to(rdata.offset + rdata.size)
    constants = bytes(kept)
    strings = {
        rdata.address + match.start(1): match[1].decode()
        for match in re.finditer(rb"\x00(64_\d{1,4})(?=\x00)", constants)
    }
    if not stretches:
        versions = set(strings)

        def loaded(data: bytes, start: int) -> Iterator[int]:
            for match in LEA_RDX.finditer(data, 0, max(0, len(data) - 4)):
                (displacement,) = struct.unpack_from("<i", data, match.end())
                if text.address + start + match.end() + 4 - text.offset + displacement in versions:
                    yield match.start()

        again = Window(_near(inflate(remote, file.url, member), loaded, stretches))
        again.skip_to(text.offset + text.size)
    return Composed(tuple(pairs(headers, stretches, constants)), tuple(sorted(set(strings.values()))))


def _near(pieces: Iterator[bytes], finder: Finder, stretches: list[tuple[int, bytes]]) -> Iterator[bytes]:
    """Yield the pieces unchanged. Add each place that `finder` finds to `stretches`, with AROUND bytes on
    both sides, and merge overlapping stretches."""
    tail, start = b"", 0
    for piece in pieces:
        yield piece
        data = tail + piece
        for place in finder(data, start):
            low, high = max(0, place - AROUND), min(len(data), place + AROUND)
            if stretches and start + low <= stretches[-1][0] + len(stretches[-1][1]):
                offset, content = stretches[-1]
                new_from = offset + len(content) - start
                stretches[-1] = offset, content + data[new_from:high]
            else:
                stretches.append((start + low, data[low:high]))
        # places found in the next piece may need these bytes; a place within them is found again and merged
        tail = data[-2 * AROUND :]
        start += len(data) - len(tail)


def pairs(headers: Headers, stretches: list[tuple[int, bytes]], constants: bytes) -> list[str]:
    """Return the DLL names that the code in `stretches` composes. `constants` are the bytes of .rdata."""
    sections = {section.name: section for section in headers.sections}
    found = set()
    for offset, code in stretches:
        group: list[str] = []
        last = offset
        for place, token in [
            *sorted(set(_tokens(code, offset, sections[".text"], sections[".rdata"], constants))),
            (1 << 62, ""),
        ]:
            if place - last > WITHIN_FUNCTION:
                found |= _pair(group)
                group = []
            last = place
            group.append(token)
    return sorted(found)


def _pair(tokens: list[str]) -> set[str]:
    names = {token for token in tokens if token in NAMES}
    versions = {token for token in tokens if VERSION.fullmatch(token)}
    if len(names) == 1 and len(versions) == 1:
        return {f"{names.pop()}{versions.pop()}.dll"}
    return {"nvcuda.dll"} if names == {"nvcuda"} and not versions else set()


def _tokens(
    code: bytes, offset: int, text: Section, rdata: Section, constants: bytes
) -> Iterator[tuple[int, str]]:
    """Yield (file offset, string) for each name and version that the code makes."""
    for match in MOVED_NAME.finditer(code):
        yield offset + match.start(), match[1].decode()
    for match in MOVED_VERSION.finditer(code):
        yield offset + match.start(), match[0].decode()
    for match in RELATIVE.finditer(code, 0, max(0, len(code) - 4)):
        (displacement,) = struct.unpack_from("<i", code, match.end())
        place = text.address + offset + match.end() + 4 - text.offset + displacement - rdata.address
        if 0 <= place < len(constants):
            string = constants[place : place + 16].partition(b"\0")[0].decode("latin-1")
            if string in NAMES or VERSION.fullmatch(string):
                yield offset + match.start(), string
