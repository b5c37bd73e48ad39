"""Tests reading libraries: ELF, PE, Mach-O, fatbins, and the names that a loader composes."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.backports import removeprefix
from doctor.tables.reading import dllnames, dlopened, elf, fatbin, macho, pe
from doctor.tables.reading.window import Window
from tests.sampling import each
from tests.tables_build import made_wheels as made

needs_compiler = pytest.mark.skipif(not made.HAVE_COMPILER, reason="needs gcc")
needs_linux = pytest.mark.skipif(not dlopened.supported(), reason="loads an x86-64 Linux library")
PTX = b"//\n// Generated\n//\n\n.version %s\n.target %s\n.address_size 64\n" + b"// kernel\n" * 300


def pieces(content: bytes, size: int = 1000) -> Iterator[bytes]:
    return (content[at : at + size] for at in range(0, len(content), size))


def scanned(content: bytes, size: int = 1000) -> fatbin.Fatbins:
    found = fatbin.Fatbins()
    fatbin.scan(Window(pieces(content, size)), found)
    return found


@pytest.mark.parametrize("size", [7, 1000, 1 << 20])
def test_a_window_finds_reads_and_keeps_across_piece_borders(size: int) -> None:
    content = (
        random.Random(1).getrandbits(400_000).to_bytes(50_000, "little").replace(b"NEEDLE", b"")
        + b"NEEDLE"
        + bytes(1000)
        + b"NEEDLE"
        + b"end"
    )
    window = Window(pieces(content, size))
    kept = window.keep(20_000, 20_100)
    first = window.find(b"NEEDLE", 0)
    assert window.read(first, 6) == b"NEEDLE"
    second = window.find(b"NEEDLE", first + 6)
    assert content[first:].startswith(b"NEEDLE")
    assert second == content.rindex(b"NEEDLE")
    assert window.read(second + 6, 100) == b"end"
    assert window.find(b"NEEDLE", second + 6) == -1
    assert kept == content[20_000:20_100]


@pytest.mark.parametrize("size", [64, 999, 1 << 20])
def test_cubins_and_ptx_are_counted_with_target_and_isa(size: int) -> None:
    first = made.fatbin(
        made.fatbin_entry(2, 60, b"\x7fELF" + bytes(60)),
        made.fatbin_entry(2, 80, b"\x7fELF" + bytes(60)),
        made.fatbin_entry(1, 80, PTX % (b"8.1", b"sm_80"), version=(8, 1)),
    )
    second = made.fatbin(
        made.fatbin_entry(1, 90, made.lz4_literals(PTX % (b"8.5", b"sm_90a")), flags=0x2000, version=(8, 5)),
        made.fatbin_entry(2, 60, b"\x7fELF" + bytes(60)),
    )
    found = scanned(bytes(333) + first + bytes(8) + second + bytes(5000), size)
    assert found.cubins == {"6.0": 2, "8.0": 1}
    assert found.ptx == {("8.0", "8.1"): 1, ("9.0a", "8.5"): 1}
    assert (found.malformed, found.unreadable) == (0, 0)


def test_the_magic_number_alone_is_not_a_fatbin() -> None:
    found = scanned(fatbin.MAGIC + bytes(100) + fatbin.MAGIC + b"\xff" * 100 + fatbin.MAGIC)
    assert found.to_json()["entries"] == 0


def test_an_entry_that_contradicts_itself_is_counted_as_malformed() -> None:
    good = made.fatbin_entry(2, 70, bytes(64))
    bad = made.fatbin_entry(7, 70, bytes(64))
    found = scanned(made.fatbin(good, bad) + bytes(100))
    assert found.cubins == {"7.0": 1}
    assert found.malformed == 1


def test_ptx_that_cannot_be_unpacked_is_counted_by_its_header() -> None:
    found = scanned(
        made.fatbin(made.fatbin_entry(1, 80, b"\xff" * 80, flags=0x2000, version=(7, 4))) + bytes(64)
    )
    assert found.ptx == {("8.0", "7.4"): 1}
    assert found.unreadable == 1


def test_lz4_matches_are_copied_even_if_they_overlap() -> None:
    # two literals, then 4 + 15 + 6 bytes from two bytes back, then three literals
    packed = bytes([0x2F]) + b"ab" + struct.pack("<H", 2) + bytes([6]) + bytes([0x30]) + b"xyz"
    assert fatbin.lz4_head(packed, 100) == b"ab" + b"ab" * 12 + b"a" + b"xyz"
    assert fatbin.lz4_head(packed, 5) == b"ababa"


@each("seed", range(50))
def test_lz4_of_noise_ends(seed: int) -> None:
    assert (
        len(fatbin.lz4_head(random.Random(seed).getrandbits(24_000).to_bytes(3000, "little"), 1536)) <= 1536
    )


@pytest.fixture
def framework(tmp_path: Path) -> Path:
    kernels = made.fatbin_section(tmp_path, made.fatbin_entry(2, 70, bytes(64)))
    return made.compile_library(
        tmp_path,
        "libtensorflow_framework.so.2",
        made.LOADER + kernels,
        "-Wl,--enable-new-dtags,-rpath,$ORIGIN/:$ORIGIN/../nvidia/cudnn/lib",
    )


def dynamic_of(path: Path) -> elf.Dynamic:
    content = path.read_bytes()
    segments = elf.program_headers(content[: 64 << 10])
    dynamic = next(segment for segment in segments if segment.kind == elf.PT_DYNAMIC)
    entries = elf.dynamic_entries(content[dynamic.offset : dynamic.offset + dynamic.size])
    ranges = {
        name: content[start:stop] for name, (start, stop) in elf.ranges_needed(segments, entries).items()
    }
    return elf.read_dynamic(entries, ranges["strings"], ranges["versions"])


@needs_compiler
def test_elf_needs_and_runpath_agree_with_readelf(framework: Path) -> None:
    dynamic = dynamic_of(framework)
    listed = subprocess.run(["readelf", "-dVW", framework], capture_output=True, text=True, check=True).stdout
    assert all(f"Shared library: [{name}]" in listed for name in dynamic.needed)
    assert listed.count("Shared library:") == len(dynamic.needed)
    assert dynamic.runpath == ("$ORIGIN/", "$ORIGIN/../nvidia/cudnn/lib")
    names = [name for versions in dynamic.versions.values() for name in versions]
    assert names
    assert all(f"Name: {name} " in listed for name in names)
    assert elf.newest_glibc(names) in {removeprefix(name, "GLIBC_") for name in names}


def test_glibc_versions_are_compared_as_numbers() -> None:
    assert (
        elf.newest_glibc(["GLIBC_2.9", "GLIBC_2.17", "GLIBC_2.2.5", "GLIBC_PRIVATE", "GLIBCXX_3.4.30"])
        == "2.17"
    )
    assert elf.newest_glibc(["GLIBCXX_3.4"]) is None


@pytest.mark.parametrize(
    "content", [b"", b"MZ", b"\x7fELF\x01\x01" + bytes(100), b"\x7fELF\x02\x01" + b"\xff" * 100]
)
def test_a_file_that_is_not_64_bit_elf_is_an_error(content: bytes) -> None:
    with pytest.raises(elf.ElfError):
        elf.program_headers(content)


def asked(path: Path) -> dict[str, list[str]]:
    descriptor = os.open(path, os.O_RDWR)
    try:
        return dlopened.ask(descriptor)
    finally:
        os.close(descriptor)


@needs_compiler
@needs_linux
def test_the_names_are_those_that_the_loader_composes_and_nothing_is_opened(
    framework: Path, tmp_path: Path
) -> None:
    # a libcudart that really exists must not change the answer
    made.compile_library(
        tmp_path,
        "libcudart.so.12",
        "#include <stdlib.h>\n__attribute__((constructor)) static void die(void) { abort(); }\n",
    )
    answers = asked(framework)
    assert answers.pop("load") == ["libcudart.so.12"]
    by_function = {
        name.rpartition("DsoLoader")[2].lstrip("0123456789"): names for name, names in answers.items()
    }
    assert by_function == {
        "GetCudnnDsoHandleEv": ["libcudnn.so.9"],
        "GetCuptiDsoHandleEv": ["libcupti.so.12", "libcupti.so"],
        "GetRocblasDsoHandleEv": ["librocblas.so"],
        "MaybeTryDlopenGPULibrariesEv": ["libcudart.so.12", "libcublas.so.12", "libcudnn.so.9"],
    }


@needs_compiler
@needs_linux
@pytest.mark.parametrize("binding", ["-Wl,-z,now", "-Wl,-z,lazy"])
def test_a_build_that_needs_a_cuda_library_is_asked_without_it(tmp_path: Path, binding: str) -> None:
    script = tmp_path / "versions.map"
    script.write_text("libcudart.so.8.0 { global: *; };\n")
    runtime = made.compile_library(
        tmp_path, "libcudart.so.8.0", "int cudaMalloc(void) { return 0; }\n",
        f"-Wl,--version-script={script},-soname,libcudart.so.8.0",
    )  # fmt: skip
    source = (
        "int cudaMalloc(void);\n"
        + made.LOADER
        + """
    __attribute__((constructor)) static void uses_cuda(void) { cudaMalloc(); }
    """
    )
    library = made.compile_library(tmp_path, "_pywrap_tensorflow.so", source, str(runtime), binding)
    runtime.unlink()
    answers = asked(library)
    assert answers["load"] == ["libcudart.so.12"]
    assert answers["_ZN3tsl8internal9DsoLoader17GetCudnnDsoHandleEv"] == ["libcudnn.so.9"]


@needs_compiler
@needs_linux
def test_a_function_that_crashes_loses_only_its_own_answer(tmp_path: Path) -> None:
    source = (
        made.LOADER
        + "void _ZN3tsl8internal9DsoLoader15GetNvmDsoHandleEv(void *o) { *(volatile int *)0 = 1; }\n"
    )
    answers = asked(made.compile_library(tmp_path, "libtensorflow_framework.so.2", source))
    assert "_ZN3tsl8internal9DsoLoader15GetNvmDsoHandleEv" not in answers
    assert answers["_ZN3tsl8internal9DsoLoader17GetCudnnDsoHandleEv"] == ["libcudnn.so.9"]


@needs_linux
def test_a_library_that_cannot_be_loaded_is_an_error_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes(b"\x7fELF" + bytes(200))
    with pytest.raises(dlopened.DlopenedError, match="not a 64-bit"):
        asked(tmp_path / "a.so")


def test_the_import_table_of_a_windows_library_is_read() -> None:
    content = made.windows_library(("KERNEL32.dll", "cudart64_100.dll", "MSVCP140.dll"))
    headers = pe.read_headers(content)
    ranges = [(start, content[start:stop]) for start, stop in pe.import_ranges(headers)]
    assert pe.imported_dlls(headers, ranges) == ["cudart64_100.dll", "kernel32.dll", "msvcp140.dll"]


@pytest.mark.parametrize("content", [b"", b"MZ", b"MZ" + bytes(200), b"\x7fELF" + bytes(300)])
def test_a_file_that_is_not_a_windows_library_is_an_error(content: bytes) -> None:
    with pytest.raises(pe.PeError):
        pe.read_headers(content)


def relative(opcode: bytes, at: int, target: int) -> bytes:
    """Return an instruction at the address `at` that refers to the address `target`, relative to the next
    instruction."""
    return opcode + struct.pack("<i", target - (at + len(opcode) + 4))


def test_dll_names_are_composed_of_the_name_and_version_of_one_function() -> None:
    constants = b"\0cudart\0\x0064_110\0\x0064_10\0cufft\0nvcuda\0"
    text, rdata = 0x1000, 0x2000
    code = bytearray(b"\xcc" * 0x800)

    def put(place: int, instruction: bytes) -> None:
        code[place : place + len(instruction)] = instruction

    def load(place: int, string: bytes, opcode: bytes = b"\x8b\x05") -> None:
        put(place, relative(opcode, text + place, rdata + constants.index(b"\0" + string + b"\0") + 1))

    load(0x000, b"cudart")  # name first, as in 2.3
    load(0x028, b"64_110")
    load(0x110, b"64_10")  # version first, as in 2.10
    load(0x140, b"cufft", b"\x48\x8d\x15")
    put(0x220, b"\xc7\x44\x24\x2064_8")  # a version in a move instruction, beside an unknown name
    put(0x330, b"\xc7\x44\x24\x2064_7")
    put(0x350, b"\x48\xb8cusolver")
    load(0x440, b"nvcuda")
    content = made.windows_library((), bytes(code), constants)
    headers = pe.read_headers(content)
    start = headers.sections[0].offset
    found = dllnames.pairs(headers, [(start, bytes(code))], constants)
    assert found == ["cudart64_110.dll", "cufft64_10.dll", "cusolver64_7.dll", "nvcuda.dll"]


def test_the_load_commands_of_a_mac_library_are_read() -> None:
    def command(kind: int, name: bytes) -> bytes:
        padded = name + bytes(8 - len(name) % 8)
        return struct.pack("<IIIIII", kind, 24 + len(padded), 24, 0, 0, 0) + padded

    commands = (
        command(0xC, b"@rpath/libcudart.8.0.dylib")
        + command(0x1D, b"x")
        + command(0x80000018, b"/usr/lib/libz.dylib")
    )
    start = struct.pack("<IIIIIIII", macho.MAGIC_64, 0, 0, 6, 3, len(commands), 0, 0) + commands
    assert macho.needed_libraries(start) == ["libcudart.8.0.dylib", "libz.dylib"]
    assert macho.needed_libraries(start[:40]) == []
    assert macho.needed_libraries(b"\x7fELF" + bytes(100)) == []
