"""Finds the libraries that a TensorFlow build loads while it runs. To do so, it loads only TensorFlow's own
library and calls the loader functions in it.

TensorFlow composes the names ("libcudnn.so." + version) when it loads them, so they are not strings in the
file. This module loads the shipped library into a separate process, without running its initialisers. A
recorder replaces dlopen: for each call, it notes the name and reports that the library does not exist. Then
the initialisers run, and each function of TensorFlow's DsoLoader
(tensorflow/stream_executor/platform/default/dso_loader.cc to 2.5, tensorflow/compiler/xla/stream_executor/...
to 2.12, xla/tsl/... since) is called in a fork. This needs no GPU, no driver, no CUDA, and no Python of the
version that the wheel is for. The software installed on this machine cannot change the answer. It works only
on Linux x86-64.

`python -m doctor.tables.reading.dlopened FD` reads the library from the inherited file descriptor FD (and
changes its content!). It prints one JSON object per line: {"call": name of the function or "load", "names":
[...]}.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import platform
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from doctor import lazy
from doctor.tables.reading import elf

DT_RELA, DT_RELASZ, DT_JMPREL, DT_PLTRELSZ = 7, 8, 23, 2
DT_INIT, DT_INIT_ARRAY, DT_INIT_ARRAYSZ = 12, 25, 27
DT_SYMTAB, DT_STRTAB, DT_STRSZ = 6, 5, 10
IGNORED_TAG = 0x6000000D  # DT_LOOS: the loader ignores unknown tags in this range
R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT = 1, 6, 7
RTLD_LAZY = 1
LOADER_CALL = lazy.compile(r"DsoLoader\d{1,3}(?:Get\w{1,60}DsoHandle|(?:Maybe)?TryDlopen\w{1,60})E?v")
SYSTEM_LIBRARIES = lazy.compile(r"lib(?:c|m|dl|rt|pthread|gcc_s|stdc\+\+|util|resolv)\.so|ld-linux")
TIME_LIMIT_S = 180


class DlopenedError(Exception):
    """The functions of the library could not be called; the message says why."""


def supported() -> bool:
    """Whether this machine can load an x86-64 Linux library."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def ask(descriptor: int) -> dict[str, list[str]]:
    """Return, for each loader function in a library, the names of the libraries that it requests, in order.
    The key "load" has the names that the initialisers request.

    `descriptor` is an open file with the bytes of the library (a memfd); this function changes its content.
    Raises DlopenedError.
    """
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C", "TF_CPP_MIN_LOG_LEVEL": "3"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__, str(descriptor)],
            pass_fds=[descriptor],
            env=environment,
            cwd=Path(__file__).resolve().parents[3],  # the folder that contains the package doctor
            capture_output=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DlopenedError(f"no answer within {TIME_LIMIT_S} s") from error
    if done.returncode:
        messages = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise DlopenedError(messages[-1] if messages else f"status {done.returncode}")
    answers = (json.loads(line) for line in done.stdout.decode().splitlines())
    return {answer["call"]: answer["names"] for answer in answers}


class _Image:
    """The library as a mapped file, with its dynamic section, symbols and relocations."""

    def __init__(self, descriptor: int) -> None:
        self.bytes = mmap.mmap(descriptor, 0)
        self.segments = elf.program_headers(self.bytes[: 64 << 10])
        self.dynamic = next(segment for segment in self.segments if segment.kind == elf.PT_DYNAMIC)
        self.entries = elf.dynamic_entries(
            self.bytes[self.dynamic.offset : self.dynamic.offset + self.dynamic.size]
        )
        self.values = dict(self.entries)
        self.strings = elf.file_offset(self.segments, self.values[DT_STRTAB])

    def name(self, offset: int) -> str:
        start = self.strings + offset
        return self.bytes[start : self.bytes.find(b"\0", start)].decode("utf-8", "replace")

    def symbol_name(self, index: int) -> str:
        symbols = elf.file_offset(self.segments, self.values[DT_SYMTAB])
        return self.name(struct.unpack_from("<I", self.bytes, symbols + 24 * index)[0])

    def hold_back_initialisers(self) -> None:
        """Change the file so that it has no initialisers, needs only system libraries, and requires no
        symbols."""
        dropped = set()
        for index, (tag, value) in enumerate(self.entries):
            place = self.dynamic.offset + 16 * index
            if tag == DT_INIT_ARRAYSZ:
                struct.pack_into("<QQ", self.bytes, place, tag, 0)
            elif tag == DT_INIT:
                struct.pack_into("<QQ", self.bytes, place, IGNORED_TAG, value)
            elif tag == elf.DT_NEEDED and not SYSTEM_LIBRARIES.match(self.name(value)):
                dropped.add(self.name(value))
                struct.pack_into("<QQ", self.bytes, place, IGNORED_TAG, value)
        if dropped:
            self._forget_versions(dropped)
            self._weaken_undefined()

    def _forget_versions(self, dropped: set[str]) -> None:
        """Remove the version requirements on libraries that are no longer loaded, because they would make the
        loader fail."""
        if elf.DT_VERNEED not in self.values:
            return
        place = elf.file_offset(self.segments, self.values[elf.DT_VERNEED])
        before = None
        while True:
            file, _auxiliary, step = struct.unpack_from("<4xIII", self.bytes, place)
            if self.name(file) in dropped:
                if before is not None:
                    (to_here,) = struct.unpack_from("<I", self.bytes, before + 12)
                    struct.pack_into("<I", self.bytes, before + 12, to_here + step if step else 0)
                else:
                    index = [tag for tag, _ in self.entries].index(elf.DT_VERNEED)
                    address = self.values[elf.DT_VERNEED] + step
                    struct.pack_into(
                        "<QQ", self.bytes, self.dynamic.offset + 16 * index, elf.DT_VERNEED, address
                    )
                    self.values[elf.DT_VERNEED] = address
            else:
                before = place
            if not step:
                return
            place += step

    def _weaken_undefined(self) -> None:
        """Make undefined symbols weak (STB_WEAK), because the libraries that define them are not loaded, and
        weak symbols may stay undefined."""
        symbols = elf.file_offset(self.segments, self.values[DT_SYMTAB])
        for index in {info >> 32 for _, info in self._relocations()}:
            info, _other, section = struct.unpack_from("<BBH", self.bytes, symbols + 24 * index + 4)
            if section == 0 and info >> 4 == 1:
                self.bytes[symbols + 24 * index + 4] = 2 << 4 | info & 15

    def _relocations(self) -> Iterator[tuple[int, int]]:
        """Yield (address, info) for every relocation."""
        for table, size in ((DT_JMPREL, DT_PLTRELSZ), (DT_RELA, DT_RELASZ)):
            if table in self.values:
                start = elf.file_offset(self.segments, self.values[table])
                yield from struct.iter_unpack("<QQ8x", self.bytes[start : start + self.values[size]])

    def slots(self, wanted: Callable[[str], bool]) -> list[tuple[int, str]]:
        """Return (address, symbol) for each pointer that the loader fills with the address of a wanted
        symbol."""
        found = []
        names: dict[int, str] = {}
        for address, info in self._relocations():
            if info & 0xFFFFFFFF in (R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT):
                index = info >> 32
                if index not in names:
                    names[index] = self.symbol_name(index)
                if wanted(names[index]):
                    found.append((address, names[index]))
        return found

    def initialisers(self) -> tuple[int | None, int, int]:
        """Return the address of DT_INIT, and the address and length in bytes of DT_INIT_ARRAY."""
        return (
            self.values.get(DT_INIT),
            self.values.get(DT_INIT_ARRAY, 0),
            self.values.get(DT_INIT_ARRAYSZ, 0),
        )

    def exported_calls(self) -> list[str]:
        """Return the functions of TensorFlow's loader among the exported symbols, sorted."""
        size = self.values[DT_STRSZ]
        strings = self.bytes[self.strings : self.strings + size]
        return sorted(
            {
                match[0].decode()
                for match in re.finditer(rb"_ZN\w{0,200}DsoLoader\w*", strings)
                if LOADER_CALL.search(match[0].decode())
            }
        )


def _ask_here(descriptor: int) -> None:
    """Print the answers on standard output. Runs in the separate process."""
    image = _Image(descriptor)
    image.hold_back_initialisers()
    image.bytes.flush()
    process = ctypes.CDLL(None)
    process.dlopen.restype = ctypes.c_void_p
    process.dlopen.argtypes = [ctypes.c_char_p, ctypes.c_int]
    process.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    process.dlerror.restype = ctypes.c_char_p
    handle = process.dlopen(f"/proc/self/fd/{descriptor}".encode(), RTLD_LAZY)
    if not handle:
        raise DlopenedError(f"cannot be loaded: {process.dlerror().decode()}")
    base = ctypes.c_uint64.from_address(handle).value  # struct link_map begins with l_addr
    names: list[str] = []

    def record(name: bytes | None, flags: int) -> int | None:
        if name is None:
            found: int | None = process.dlopen(None, flags)
            return found
        names.append(os.fsdecode(name).rpartition("/")[2])
        # open a name that cannot exist, so that dlerror has a message
        nothing: int | None = process.dlopen(b"/nonexistent/" + names[-1].encode(), flags)
        return nothing

    recorder = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int)(record)
    nothing_done = ctypes.CFUNCTYPE(ctypes.c_uint64)(lambda: 0)

    def absent(symbol: str) -> bool:
        return re.match(r"(__)?cu[a-z]*[A-Z]|cudnn", symbol) is not None

    for address, symbol in image.slots(lambda symbol: symbol == "dlopen" or absent(symbol)):
        replacement = recorder if symbol == "dlopen" else nothing_done
        _write_pointer(process, base + address, ctypes.cast(replacement, ctypes.c_void_p).value or 0)
    init, array, size = image.initialisers()
    call = ctypes.CFUNCTYPE(None)
    if init:
        call(base + init)()
    for index in range(size // 8):
        function = ctypes.c_uint64.from_address(base + array + 8 * index).value
        if function not in (0, 0xFFFFFFFFFFFFFFFF):
            call(function)()
    _tell("load", names)
    library = ctypes.CDLL(f"/proc/self/fd/{descriptor}", handle=handle)
    for symbol in image.exported_calls():
        # one fork for each function: handles are cached, and a crash in one must not lose the other answers
        child = os.fork()
        if child == 0:
            names.clear()
            # memory for the Status or StatusOr that the function returns
            getattr(library, symbol)(ctypes.create_string_buffer(4096))
            _tell(symbol, names)
            os._exit(0)
        os.waitpid(child, 0)


def _write_pointer(process: ctypes.CDLL, address: int, value: int) -> None:
    page = address & ~0xFFF
    if process.mprotect(page, 0x2000, 3):  # read and write: after relocation the table may be read-only
        raise DlopenedError("the table of imported functions cannot be changed")
    ctypes.c_uint64.from_address(address).value = value


def _tell(name: str, names: list[str]) -> None:
    sys.stdout.write(json.dumps({"call": name, "names": list(dict.fromkeys(names))}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        _ask_here(int(sys.argv[1]))
    except (DlopenedError, elf.ElfError) as error:
        sys.exit(str(error))
    # do not run TensorFlow's exit handlers
    os._exit(0)
