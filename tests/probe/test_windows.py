"""Windows from its files: which DLL each name would open."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from doctor.diagnose import diagnose
from doctor.facts import CudaVersion, Facts, LibraryFile, LibraryLoaded, LibraryNotLoaded, LibraryWanted, Platform
from doctor.probe import examine, pe
from doctor.probe.machine import RECORD, Machine
from doctor.tables import Tables

CUDA = "Program Files/NVIDIA GPU Computing Toolkit/CUDA/v11.2"
NAMES = ("cudart64_110", "cublas64_11", "cublasLt64_11", "cufft64_10", "curand64_10", "cusolver64_11", "cusparse64_11")


def dll(imports: tuple[str, ...] = (), machine: int = 0x8664, size: int = 0) -> bytes:
    """A DLL with headers, one section and an import directory; `size` cuts it short."""
    head = b"MZ" + bytes(58) + struct.pack("<I", 64)
    optional = struct.pack("<H", 0x20B) + bytes(110) + struct.pack("<II", 0, 0)
    base, raw = 0x1000, 512
    table = b"".join(bytes(12) + struct.pack("<II", base + 2048 + 64 * n, 1) for n in range(len(imports))) + bytes(20)
    names = b"".join(name.encode().ljust(64, b"\0") for name in imports)
    section = (table.ljust(2048, b"\0") + names).ljust(8192, b"\0")
    optional += struct.pack("<II", base if imports else 0, len(table)) + bytes(112)
    coff = b"PE\0\0" + struct.pack("<HHIIIHH", machine, 1, 0, 0, 0, len(optional), 0x2022)
    header = b".rdata\0\0" + struct.pack("<IIII", len(section), base, len(section), raw) + bytes(16)
    whole = (head + coff + optional + header).ljust(raw, b"\0") + section
    return whole[: size or None]


class Windows:
    """A Windows machine under a folder, with TensorFlow 2.10 and CUDA 11.2."""

    def __init__(self, root: Path, *, path: bool = True) -> None:
        self.root = root
        for name in ("nvcuda", "msvcp140", "msvcp140_1", "vcruntime140", "vcruntime140_1"):
            self.write(f"Windows/System32/{name}.dll", dll())
        for name in NAMES:
            self.write(f"{CUDA}/bin/{name}.dll", dll(("cublasLt64_11.dll",) if name == "cublas64_11" else ()))
        self.write(f"{CUDA}/bin/cudnn64_8.dll", dll(("cudnn_ops_infer64_8.dll",)))
        self.write(f"{CUDA}/bin/cudnn_ops_infer64_8.dll", dll(("zlibwapi.dll", "KERNEL32.dll")))
        self.write(f"{CUDA}/bin/zlibwapi.dll", dll())
        site = "venv/Lib/site-packages"
        self.write("venv/Scripts/python.exe", b"MZ")
        self.write("venv/pyvenv.cfg", b"home = C:\\Python310\nversion = 3.10.11\n")
        self.write(f"{site}/tensorflow/__init__.py", b"raise RuntimeError\n")
        info = b"build_info = {'is_cuda_build': True, 'cuda_version': '64_112', 'cudnn_version': '64_8'}\n"
        self.write(f"{site}/tensorflow/python/platform/build_info.py", info)
        self.write(f"{site}/tensorflow-2.10.0.dist-info/METADATA", b"Version: 2.10.0\n")
        self.env = {"VIRTUAL_ENV": "C:/venv", "SystemRoot": "C:\\Windows", "PATH": "C:\\Windows;"}
        if path:
            self.env["PATH"] += "C:\\" + CUDA.replace("/", "\\") + "\\bin"

    def write(self, path: str, data: bytes) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    def facts(self) -> Facts:
        (self.root / RECORD).write_text(json.dumps({"system": "windows", "processor": "x86_64", "env": self.env}))
        return examine(Machine.at(self.root))


def missed(facts: Facts) -> list[LibraryNotLoaded]:
    """The libraries that a GPU device needs and that would not load."""
    needed = {fact.name for fact in facts.of(LibraryWanted) if fact.needed}
    return [fact for fact in facts.of(LibraryNotLoaded) if fact.name in needed]


def test_every_dll_of_a_healthy_machine_is_found(tmp_path: Path) -> None:
    facts = Windows(tmp_path).facts()
    assert facts.of(Platform)[0].kind == "windows"
    opened = {fact.name for fact in facts.of(LibraryLoaded)}
    assert opened >= {f"{name}.dll" for name in NAMES} - {"cublasLt64_11.dll", "curand64_10.dll"} | {"cudnn64_8.dll"}
    assert not missed(facts)
    assert [fact.version for fact in facts.of(CudaVersion)] == ["11.2"]


def test_a_toolkit_that_is_not_on_path_is_library_path(tmp_path: Path) -> None:
    facts = Windows(tmp_path, path=False).facts()
    assert {fact.searched for fact in facts.of(LibraryFile)} == {False}
    assert diagnose(facts, Tables.bundled()).verdict.code == "library-path"


def test_cudnn_without_zlibwapi_is_broken_and_names_it(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    (tmp_path / CUDA / "bin/zlibwapi.dll").unlink()
    (fact,) = missed(machine.facts())
    assert (fact.name, fact.cause, fact.culprit) == ("cudnn64_8.dll", "broken", "zlibwapi.dll")
    assert diagnose(machine.facts(), Tables.bundled()).verdict.code == "library-broken"


def test_a_dll_cut_short_or_for_another_processor_is_broken(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    machine.write(f"{CUDA}/bin/cudnn64_8.dll", dll(size=4000))
    machine.write(f"{CUDA}/bin/cufft64_10.dll", dll(machine=0x14C))
    broken = {fact.name: fact.error for fact in machine.facts().of(LibraryNotLoaded)}
    assert "truncated" in broken["cudnn64_8.dll"]
    assert broken["cufft64_10.dll"] == "made for x86, not x86_64"


def test_a_missing_visual_c_runtime_is_seen(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    (tmp_path / "Windows/System32/msvcp140_1.dll").unlink()
    assert [fact.get("dll") for fact in machine.facts().symptoms("msvc-runtime")] == ["msvcp140_1.dll"]


def test_imports_are_read_from_the_import_directory(tmp_path: Path) -> None:
    (tmp_path / "a.dll").write_bytes(dll(("one.dll", "two.dll")))
    assert pe.read(str(tmp_path / "a.dll")).imports == ("one.dll", "two.dll")
