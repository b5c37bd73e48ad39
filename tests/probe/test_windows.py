"""Tests Windows machines from their files: which DLL would be loaded for each name."""

from __future__ import annotations

import io
import json
import shutil
import struct
import sys
from pathlib import Path

import pytest

from doctor.diagnose import diagnose
from doctor.facts import (
    CudaVersion,
    DriverVersion,
    Facts,
    Gpu,
    LibraryFile,
    LibraryLoaded,
    LibraryNotLoaded,
    LibraryWanted,
    Package,
    Platform,
    PythonVersion,
    TensorFlowVersion,
)
from doctor.probe import examine, pe
from doctor.probe.hive import values
from doctor.probe.machine import RECORD, Machine
from doctor.tables import Tables
from tests.probe.hives import Tree, hive

CUDA = "Program Files/NVIDIA GPU Computing Toolkit/CUDA/v11.2"
NAMES = (
    "cudart64_110",
    "cublas64_11",
    "cublasLt64_11",
    "cufft64_10",
    "curand64_10",
    "cusolver64_11",
    "cusparse64_11",
)


def dll(imports: tuple[str, ...] = (), machine: int = 0x8664, size: int = 0) -> bytes:
    """Return a DLL with headers, one section and an import directory. size: the length at which it is cut
    off."""
    head = b"MZ" + bytes(58) + struct.pack("<I", 64)
    optional = struct.pack("<H", 0x20B) + bytes(110) + struct.pack("<II", 0, 0)
    base, raw = 0x1000, 512
    table = b"".join(
        bytes(12) + struct.pack("<II", base + 2048 + 64 * n, 1) for n in range(len(imports))
    ) + bytes(20)
    names = b"".join(name.encode().ljust(64, b"\0") for name in imports)
    section = (table.ljust(2048, b"\0") + names).ljust(8192, b"\0")
    optional += struct.pack("<II", base if imports else 0, len(table)) + bytes(112)
    coff = b"PE\0\0" + struct.pack("<HHIIIHH", machine, 1, 0, 0, 0, len(optional), 0x2022)
    header = b".rdata\0\0" + struct.pack("<IIII", len(section), base, len(section), raw) + bytes(16)
    whole = (head + coff + optional + header).ljust(raw, b"\0") + section
    return whole[: size or None]


class Windows:
    """A Windows machine in a folder, with TensorFlow 2.10 and CUDA 11.2."""

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
        (self.root / RECORD).write_text(
            json.dumps({"system": "windows", "processor": "x86_64", "env": self.env})
        )
        return examine(Machine.at(self.root))


def missed(facts: Facts) -> list[LibraryNotLoaded]:
    """Return the libraries that a GPU device needs but that would not load."""
    needed = {fact.name for fact in facts.of(LibraryWanted) if fact.needed}
    return [fact for fact in facts.of(LibraryNotLoaded) if fact.name in needed]


def test_every_dll_of_a_healthy_machine_is_found(tmp_path: Path) -> None:
    facts = Windows(tmp_path).facts()
    assert facts.of(Platform)[0].kind == "windows"
    opened = {fact.name for fact in facts.of(LibraryLoaded)}
    assert opened >= {f"{name}.dll" for name in NAMES} - {"cublasLt64_11.dll", "curand64_10.dll"} | {
        "cudnn64_8.dll"
    }
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


@pytest.mark.parametrize(("processor", "broken"), [(0x8664, False), (0xAA64, True), (None, False)])
def test_the_processor_of_a_windows_folder_is_that_of_its_kernel(
    tmp_path: Path, processor: int | None, broken: bool
) -> None:
    machine = Windows(tmp_path)
    if processor is not None:
        machine.write("Windows/System32/kernel32.dll", dll(machine=processor))
    (tmp_path / RECORD).write_text(json.dumps({"system": "windows", "env": machine.env}))
    assert bool(missed(examine(Machine.at(tmp_path)))) is broken


def test_a_package_name_with_a_hyphen_in_its_folder_is_read_whole(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    site = "venv/Lib/site-packages"
    machine.write(f"{site}/Keras_Preprocessing-1.1.2.dist-info/METADATA", b"Version: 1.1.2\n")
    machine.write(f"{site}/Keras-Applications-1.0.8.dist-info/METADATA", b"Version: 1.0.8\n")
    machine.write(f"{site}/keras-2.10.0.dist-info/METADATA", b"Version: 2.10.0\n")
    names = {(package.name, package.version) for package in machine.facts().of(Package)}
    assert {("keras-preprocessing", "1.1.2"), ("keras-applications", "1.0.8"), ("keras", "2.10.0")} <= names


def test_a_missing_visual_c_runtime_is_seen(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    (tmp_path / "Windows/System32/msvcp140_1.dll").unlink()
    assert [fact.get("dll") for fact in machine.facts().symptoms("msvc-runtime")] == ["msvcp140_1.dll"]


def test_imports_are_read_from_the_import_directory() -> None:
    assert pe.parse(io.BytesIO(dll(("one.dll", "two.dll")))).imports == ("one.dll", "two.dll")


# --- where packages lie

STORE = "PythonSoftwareFoundation.Python.3.10"
PROGRAM = f"Program Files/WindowsApps/{STORE}_3.10.3056.0_x64__qbz5n2kfra8p0"
PLACES = {
    "the Store's": (PROGRAM, f"AppData/Local/Packages/{STORE}_qbz5n2kfra8p0/LocalCache/local-packages"),
    "the Store's, by its alias": (
        "Users/me/AppData/Local/Microsoft/WindowsApps",
        f"AppData/Local/Packages/{STORE}_qbz5n2kfra8p0/LocalCache/local-packages",
    ),
    "a user's": ("Python310", "AppData/Roaming/Python"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("named", [False, True])
def test_a_user_s_packages_are_found(place: str, named: bool, tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    program, base = PLACES[place]
    site = tmp_path / f"Users/me/{base}/Python310/site-packages"
    site.parent.mkdir(parents=True)
    (tmp_path / "venv/Lib/site-packages").rename(site)
    shutil.rmtree(tmp_path / "venv")
    machine.write(f"{program}/python.exe", b"MZ")
    if place == "the Store's, by its alias":
        machine.write(f"{program}/{STORE}_qbz5n2kfra8p0/python.exe", b"MZ")
    else:
        machine.write(f"{program}/python310.dll", dll())
    (tmp_path / RECORD).write_text(json.dumps({"system": "windows", "processor": "x86_64"}))
    facts = examine(Machine.at(tmp_path), f"/{program}/python.exe" if named else None)
    assert [(fact.version, fact.package) for fact in facts.of(TensorFlowVersion)] == [
        ("2.10.0", "tensorflow")
    ]
    assert [fact.version for fact in facts.of(PythonVersion)] == ["3.10"]


# --- where PATH comes from

FOLDER = "C:\\" + CUDA.replace("/", "\\") + "\\bin"


def in_registry(
    machine: Windows, *folders: str, user: str = "", device: str = "2484", driver: str = "31.0.15.3623"
) -> Windows:
    """A machine whose PATH is only in its registry. device, driver: the device id and the driver of its
    NVIDIA GPU, by default an RTX 3070."""
    path = ";".join(("%SystemRoot%\\system32", "%SystemRoot%", *folders))
    display = "{4d36e968-e325-11ce-bfc1-08002be10318}"
    adapter: Tree = {
        "ClassGUID": display,
        "Driver": f"{display}\\0000",
        "DeviceDesc": "@oem1.inf,%x%;NVIDIA GeForce RTX 3070",
    }
    audio: Tree = {"ClassGUID": "{4d36e96c-e325-11ce-bfc1-08002be10318}"}
    devices: Tree = {
        f"VEN_10DE&DEV_{device.upper()}&SUBSYS_1": {"4&1": adapter},
        "VEN_10DE&DEV_228B&SUBSYS_1": {"4&2": audio},
    }
    system: Tree = {
        "Control": {
            "Session Manager": {"Environment": {"Path": path, "OS": "Windows_NT"}},
            "Class": {display: {"0000": {"DriverVersion": driver}}},
        },
        "Enum": {"PCI": devices},
    }
    machine.write("Windows/System32/config/SYSTEM", hive({"Select": {"Current": 1}, "ControlSet001": system}))
    if user:
        machine.write("Users/me/NTUSER.DAT", hive({"Environment": {"Path": user}}))
    machine.env.pop("PATH")
    return machine


def test_path_is_read_from_the_registry_if_no_process_shows_it(tmp_path: Path) -> None:
    facts = in_registry(Windows(tmp_path), FOLDER).facts()
    assert not missed(facts)
    assert diagnose(facts, Tables.bundled()).verdict.code == "healthy"


def test_the_gpus_and_their_driver_are_read_from_the_registry(tmp_path: Path) -> None:
    facts = in_registry(Windows(tmp_path), FOLDER).facts()
    assert [(gpu.pci_id, gpu.compute_capability) for gpu in facts.of(Gpu)] == [("10de:2484", "8.6")]
    assert [driver.version for driver in facts.of(DriverVersion)] == ["536.23"]


def test_the_user_s_part_of_path_counts(tmp_path: Path) -> None:
    assert not missed(in_registry(Windows(tmp_path), user=FOLDER).facts())


def test_a_path_in_the_registry_without_the_toolkit_is_library_path(tmp_path: Path) -> None:
    facts = in_registry(Windows(tmp_path), "C:\\tools").facts()
    assert diagnose(facts, Tables.bundled()).verdict.code == "library-path"


def test_an_unknown_path_is_not_an_empty_path(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    machine.write("Windows/System32/nvcuda.dll", versioned((31, 0, 15, 4633)))
    machine.env.pop("PATH")
    facts = machine.facts()
    assert not missed(facts)
    assert {fact.searched for fact in facts.of(LibraryFile)} == {None}
    verdict = diagnose(facts, Tables.bundled()).verdict
    assert verdict.code == "healthy"
    assert "The value of PATH is not known" in verdict.explanation


def test_an_unknown_path_is_assumed_to_contain_only_the_installers_folder(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    machine.env.pop("PATH")
    (tmp_path / CUDA).rename(tmp_path / "elsewhere")
    machine.env["CUDA_PATH"] = "C:\\elsewhere"
    facts = machine.facts()
    assert not missed(facts)
    assert diagnose(facts, Tables.bundled()).verdict.code == "undetermined"


@pytest.mark.parametrize("there", [True, False])
def test_a_dll_in_any_folder_may_be_on_an_unknown_path(there: bool, tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    machine.env.pop("PATH")
    (tmp_path / CUDA / "bin/cudnn64_8.dll").unlink()
    if there:
        machine.write("tools/cuda/bin/cudnn64_8.dll", dll())
    code = diagnose(machine.facts(), Tables.bundled()).verdict.code
    assert code == ("undetermined" if there else "cudnn-missing")


@pytest.mark.parametrize("there", [True, False])
def test_zlib_may_be_in_any_folder_of_an_unknown_path(there: bool, tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    machine.env.pop("PATH")
    machine.write(f"{CUDA}/bin/cudnn64_8.dll", dll())
    header = b"#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 6\n#define CUDNN_PATCHLEVEL 0\n"
    machine.write(f"{CUDA}/include/cudnn_version.h", header)
    (tmp_path / CUDA / "bin/zlibwapi.dll").unlink()
    if there:
        machine.write("zlib/dll_x64/zlibwapi.dll", dll())
    found = [finding.code for finding in diagnose(machine.facts(), Tables.bundled()).findings]
    assert ("library-broken" in found) is not there


def test_a_driver_implies_a_gpu(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    assert diagnose(machine.facts(), Tables.bundled()).verdict.code == "undetermined"  # and no version
    machine.write("Windows/System32/nvcuda.dll", versioned((31, 0, 15, 4633)))
    verdict = diagnose(machine.facts(), Tables.bundled()).verdict
    assert verdict.code == "healthy"
    assert "do not name it" in verdict.explanation


def test_without_path_a_library_that_is_in_no_toolkit_is_missing(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    machine.env.pop("PATH")
    (tmp_path / CUDA / "bin/cudnn64_8.dll").unlink()
    assert {fact.name for fact in missed(machine.facts())} == {"cudnn64_8.dll"}


def test_a_hive_that_is_damaged_leaves_path_unknown(tmp_path: Path) -> None:
    machine = in_registry(Windows(tmp_path), FOLDER)
    file = tmp_path / "Windows/System32/config/SYSTEM"
    for size in (0, 100, 4096, 4200, 4400):
        file.write_bytes(hive({"Select": {"Current": 1}})[:size])
        assert diagnose(machine.facts(), Tables.bundled()).verdict.code == "undetermined"


@pytest.mark.parametrize("listing", ["lf", "lh", "li", "ri"])
@pytest.mark.parametrize("wide", [False, True])
def test_every_kind_of_list_and_name_in_a_hive_is_read(listing: str, wide: bool) -> None:
    tree: Tree = {"a": {"b c": {"Path": "C:\\x;%Y%", "Short": "1", "Number": 7}}, "d": {"e": {}}}
    file = io.BytesIO(hive(tree, listing=listing, wide=wide))
    assert values(file, "A", "B C") == {"path": "C:\\x;%Y%", "short": "1", "number": 7}
    assert values(file, "a", "none") == {}


# --- conda, companions, cuDNN


def conda(root: Path, *, path: str | None) -> Windows:
    """conda's cudatoolkit and cudnn with TensorFlow 2.10. path: PATH; None if it is not known."""
    machine = Windows(root)
    (root / "Program Files").rename(root / "elsewhere")
    (root / "venv").rename(root / "conda")
    (root / "conda/pyvenv.cfg").unlink()
    machine.write("conda/python.exe", b"MZ")
    machine.write("conda/conda-meta/python-3.10.11-h4de0772_0.json", b"{}")
    machine.write("conda/conda-meta/cudnn-8.1.0.77-h3e0f4f4_0.json", b"{}")
    for name in (*NAMES, "cudnn64_8"):
        machine.write(f"conda/Library/bin/{name}.dll", dll())
    machine.env = {"CONDA_PREFIX": "C:\\conda", "SystemRoot": "C:\\Windows"}
    if path is not None:
        machine.env["PATH"] = path
    return machine


def test_an_activated_conda_environment_finds_its_libraries(tmp_path: Path) -> None:
    assert not missed(conda(tmp_path, path="C:\\conda;C:\\conda\\Library\\bin;C:\\Windows").facts())


def test_the_folders_that_activation_adds_count_if_path_is_unknown(tmp_path: Path) -> None:
    assert not missed(conda(tmp_path, path=None).facts())


def test_a_conda_environment_that_is_not_activated_is_library_path(tmp_path: Path) -> None:
    facts = conda(tmp_path, path="C:\\Windows;C:\\conda").facts()
    assert diagnose(facts, Tables.bundled()).verdict.code == "library-path"


def test_tensorflow_over_tensorflow_intel_is_one_installation_without_gpu_support(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    site = "venv/Lib/site-packages"
    shutil.rmtree(tmp_path / f"{site}/tensorflow-2.10.0.dist-info")
    machine.write(
        f"{site}/tensorflow/python/platform/build_info.py", b"build_info = {'is_cuda_build': False}\n"
    )
    pin = (
        b"Name: tensorflow\nVersion: 2.15.0\nRequires-Dist: tensorflow-intel ==2.15.0 ; platform_system =="
        b" 'Windows'\n"
    )
    machine.write(f"{site}/tensorflow-2.15.0.dist-info/METADATA", pin)
    machine.write(f"{site}/tensorflow-2.15.0.dist-info/RECORD", b"tensorflow-2.15.0.dist-info/METADATA,,\n")
    machine.write(
        f"{site}/tensorflow_intel-2.15.0.dist-info/METADATA", b"Name: tensorflow-intel\nVersion: 2.15.0\n"
    )
    machine.write(f"{site}/tensorflow_intel-2.15.0.dist-info/RECORD", b"tensorflow/__init__.py,,\n")
    facts = machine.facts()
    assert not facts.symptoms("tensorflow-several", "tensorflow-files-missing")
    diagnosis = diagnose(facts, Tables.bundled())
    assert [finding.code for finding in diagnosis.findings if finding.severity == "error"] == [
        "tf-windows-native"
    ]


@pytest.mark.parametrize(("version", "found"), [("8.1.1", True), ("8.6.0", False), ("8.9.7", False)])
def test_a_cudnn_that_loads_zlib_itself_needs_it(version: str, found: bool, tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    (tmp_path / CUDA / "bin/zlibwapi.dll").unlink()
    machine.write(f"{CUDA}/bin/cudnn64_8.dll", dll())
    major, minor, patch = version.split(".")
    header = f"#define CUDNN_MAJOR {major}\n#define CUDNN_MINOR {minor}\n#define CUDNN_PATCHLEVEL {patch}\n"
    machine.write(f"{CUDA}/include/cudnn_version.h", header.encode())
    broken = "library-broken" in [f.code for f in diagnose(machine.facts(), Tables.bundled()).findings]
    assert broken is not found


def test_a_build_without_cuda_does_not_need_zlib(tmp_path: Path) -> None:
    """A toolkit with cuDNN 8.9 is no reason to blame zlibwapi.dll if TensorFlow does not load cuDNN."""
    machine = Windows(tmp_path)
    (tmp_path / CUDA / "bin/zlibwapi.dll").unlink()
    machine.write(f"{CUDA}/bin/cudnn64_8.dll", dll())
    header = b"#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 9\n#define CUDNN_PATCHLEVEL 4\n"
    machine.write(f"{CUDA}/include/cudnn_version.h", header)
    site = "venv/Lib/site-packages"
    build_info = b"build_info = {'is_cuda_build': False}\n"
    machine.write(f"{site}/tensorflow/python/platform/build_info.py", build_info)
    shutil.rmtree(tmp_path / f"{site}/tensorflow-2.10.0.dist-info")
    metadata = b"Name: tensorflow-intel\nVersion: 2.15.0\n"
    machine.write(f"{site}/tensorflow_intel-2.15.0.dist-info/METADATA", metadata)
    codes = [finding.code for finding in diagnose(machine.facts(), Tables.bundled()).findings]
    assert codes[0] == "tf-windows-native"
    assert "library-broken" not in codes


def test_an_older_cudnn_than_the_compiled_one_is_a_mismatch(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    header = b"#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 0\n#define CUDNN_PATCHLEVEL 5\n"
    machine.write(f"{CUDA}/include/cudnn_version.h", header)
    assert diagnose(machine.facts(), Tables.bundled()).verdict.code == "cudnn-version-mismatch"


def test_the_runtime_in_the_folder_of_a_venvs_base_python_counts(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    for name in ("vcruntime140", "vcruntime140_1"):
        (tmp_path / f"Windows/System32/{name}.dll").rename(tmp_path / f"{name}.dll")
        machine.write(f"Python310/{name}.dll", dll())
    assert not machine.facts().has("msvc-runtime")


def test_a_broken_dll_outside_path_is_not_a_problem_of_path(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    machine.write(f"{CUDA}/bin/cudnn64_8.dll", b"version https://git-lfs.github.com/spec/v1\n")
    (tmp_path / CUDA / "bin/cudnn64_8.dll").rename(tmp_path / "Windows/cudnn64_8.dll")
    assert diagnose(machine.facts(), Tables.bundled()).verdict.code == "library-broken"


@pytest.mark.parametrize(
    ("setting", "first"),
    [({}, "System32"), ({"SafeDllSearchMode": 1}, "System32"), ({"SafeDllSearchMode": 0}, "work"),
     ({"SafeDllSearchMode": 0, "CWDIllegalInDllSearch": 0xFFFFFFFF}, "System32")],
)  # fmt: skip
def test_the_registry_decides_when_the_current_folder_is_searched(
    setting: dict[str, int], first: str, tmp_path: Path
) -> None:
    machine = Windows(tmp_path)
    tree: Tree = {"Select": {"Current": 1}, "ControlSet001": {"Control": {"Session Manager": dict(setting)}}}
    machine.write("Windows/System32/config/SYSTEM", hive(tree))
    for folder in ("Windows/System32", "work"):
        machine.write(f"{folder}/cudart64_110.dll", dll())
    record = {"system": "windows", "processor": "x86_64", "env": machine.env, "cwd": "C:\\work"}
    (tmp_path / RECORD).write_text(json.dumps(record))
    loaded = {fact.name: fact.path for fact in examine(Machine.at(tmp_path)).of(LibraryLoaded)}
    assert first in loaded["cudart64_110.dll"]


def test_the_current_folder_is_not_searched_if_the_registry_forbids_it(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    (tmp_path / CUDA / "bin/cudart64_110.dll").unlink()
    machine.write("work/cudart64_110.dll", dll())
    tree: Tree = {
        "Select": {"Current": 1},
        "ControlSet001": {"Control": {"Session Manager": {"CWDIllegalInDllSearch": 0xFFFFFFFF}}},
    }
    record = {"system": "windows", "processor": "x86_64", "env": machine.env, "cwd": "C:\\work"}
    (tmp_path / RECORD).write_text(json.dumps(record))
    assert not missed(examine(Machine.at(tmp_path)))
    machine.write("Windows/System32/config/SYSTEM", hive(tree))
    assert [fact.name for fact in missed(examine(Machine.at(tmp_path)))] == ["cudart64_110.dll"]


class Registry:
    """Replaces the module winreg of a running Windows; it has one registry key."""

    HKEY_LOCAL_MACHINE = 0

    def __init__(self, **values: object) -> None:
        self.values, self.asked = list(values.items()), ""

    def OpenKey(self, root: int, name: str) -> Registry:
        self.asked = name
        return self

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def QueryInfoKey(self, key: object) -> tuple[int, int, int]:
        return 0, len(self.values), 0

    def EnumValue(self, key: object, number: int) -> tuple[str, object, int]:
        if number >= len(self.values):
            raise OSError("no more data")
        return (*self.values[number], 4)


@pytest.mark.parametrize(
    ("values", "place"),
    [({}, 4), ({"SafeDllSearchMode": 0}, 1), ({"CWDIllegalInDllSearch": 0xFFFFFFFF, "Other": b""}, None)],
)
def test_a_running_windows_reports_the_order_of_the_search(
    values: dict[str, object], place: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from doctor.probe.windows_registry import current_folder_in_search

    registry = Registry(**values)
    monkeypatch.setitem(sys.modules, "winreg", registry)
    assert current_folder_in_search(Machine("/", {}, "windows", "x86_64", runner=lambda *_: None)) == place
    assert registry.asked == "SYSTEM\\CurrentControlSet\\Control\\Session Manager"


# --- no registry that can be read


def versioned(version: tuple[int, int, int, int]) -> bytes:
    """A DLL with a version resource."""
    info = pe.FIXED_INFO + struct.pack(
        "<III", 0x10000, version[0] << 16 | version[1], version[2] << 16 | version[3]
    )
    return dll().replace(b".rdata\0\0", b".rsrc\0\0\0")[:-8192] + info.ljust(8192, b"\0")


LOG = """\
>>>  [Device Install (Hardware initiated) - PCI\\VEN_10DE&DEV_1C03&SUBSYS_11D3&REV_A1\\4&1]
>>>  Section start 2019/11/02 19:04:11.013
     ndv:      Driver Version         - 23.21.13.9135
<<<  [Exit status: SUCCESS]
>>>  [Device Install (Hardware initiated) - PCI\\VEN_10DE&DEV_2484&SUBSYS_3903&REV_A1\\4&2]
>>>  Section start 2023/11/02 19:04:11.013
     dvi:           Driver INF      - \
C:\\Windows\\System32\\DriverStore\\FileRepository\\nv_dispi.inf_amd64_0a\\nv_dispi.inf
     ndv:      Driver Version         - 31.0.15.3623
<<<  [Exit status: SUCCESS]
>>>  [Device Install (Hardware initiated) - HDAUDIO\\FUNC_01&VEN_10DE&DEV_009F\\5&3]
<<<  [Exit status: SUCCESS]
"""
INF = (
    b'[Version]\r\nSignature = "$Windows NT$"\r\nClass = Display\r\nDriverVer = 03/13/2023, 31.0.15.3118\r\n'
)


def unreadable_registry(root: Path, log: str = LOG) -> Windows:
    machine = Windows(root)
    machine.write("Windows/INF/setupapi.dev.log", log.encode())
    return machine


def stated(facts: Facts) -> tuple[list[str | None], list[str]]:
    return [gpu.pci_id for gpu in facts.of(Gpu)], [driver.version for driver in facts.of(DriverVersion)]


def test_the_gpu_that_was_installed_last_is_read_from_the_log(tmp_path: Path) -> None:
    facts = unreadable_registry(tmp_path).facts()
    assert stated(facts) == (["10de:2484"], ["536.23"])
    assert diagnose(facts, Tables.bundled()).verdict.code == "healthy"


def test_the_version_of_the_drivers_dll_outranks_driver_store_and_log(tmp_path: Path) -> None:
    machine = unreadable_registry(tmp_path)
    store = "Windows/System32/DriverStore/FileRepository"
    machine.write(f"{store}/nv_dispi.inf_amd64_0b/nv_dispi.inf", INF)
    assert stated(machine.facts())[1] == ["531.18"]
    machine.write("Windows/System32/nvcuda.dll", versioned((27, 21, 14, 6089)))
    assert stated(machine.facts())[1] == ["460.89"]
    assert diagnose(machine.facts(), Tables.bundled()).verdict.code == "healthy"


def test_an_old_driver_is_seen_without_a_registry(tmp_path: Path) -> None:
    machine = unreadable_registry(tmp_path)
    machine.write("Windows/System32/nvcuda.dll", versioned((26, 21, 14, 4120)))
    assert diagnose(machine.facts(), Tables.bundled()).verdict.code == "driver-too-old"


def test_two_drivers_in_the_driver_store_do_not_show_which_is_used(tmp_path: Path) -> None:
    machine = Windows(tmp_path)
    store = "Windows/System32/DriverStore/FileRepository"
    machine.write(f"{store}/nv_dispi.inf_amd64_0b/nv_dispi.inf", INF)
    machine.write(f"{store}/nvlti.inf_amd64_0c/nvlti.inf", INF.replace(b"3118", b"3623"))
    assert stated(machine.facts()) == ([], [])


def test_without_registry_and_log_the_gpu_is_unknown(tmp_path: Path) -> None:
    facts = Windows(tmp_path).facts()
    assert stated(facts) == ([], [])
    assert "gpu-absent" not in [f.code for f in diagnose(facts, Tables.bundled()).findings]
