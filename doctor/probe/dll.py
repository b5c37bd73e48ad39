"""CUDA and cuDNN on Windows: which DLL each name would open, and what else lies on the disk.

Windows looks into the program's folder, System32, the Windows folder, the current folder, then PATH (Microsoft,
"Dynamic-link library search order", standard order for unpackaged apps); TensorFlow asks by name alone. Nothing is
loaded, and the registry is not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from doctor.facts import (
    Absent,
    CudaVersion,
    CudnnVersion,
    Fact,
    LibraryFile,
    LibraryLoaded,
    LibraryNotLoaded,
    LibraryWanted,
    Source,
    Symptom,
    TensorFlowVersion,
)
from doctor.probe import pe
from doctor.probe.interpreter import Environment
from doctor.probe.machine import Machine
from doctor.probe.packages import Installed
from doctor.probe.wanted import platform_of, wanted
from doctor.tables import Tables

CUDA_DLL = re.compile(
    r"(?:cudart|cudnn|cublas|cublasLt|cufft|curand|cusolver|cusparse|cupti|nvcuda)64?_?\w*\.dll", re.IGNORECASE
)
OWN = re.compile(r"(?:cu\w+64_\w+|nvrtc\w*|zlibwapi|cudnn_\w+)\.dll", re.IGNORECASE)
"""Imported DLLs that are no part of Windows: those whose absence keeps a CUDA library from loading."""
RUNTIME = ("msvcp140.dll", "vcruntime140.dll")
RUNTIME_SINCE_2_1 = ("msvcp140_1.dll", "vcruntime140_1.dll")
TOOLKITS = "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA"
DEPTH = 4


class Search:
    """The DLL search of one process."""

    def __init__(self, machine: Machine, program: str | None) -> None:
        self.machine = machine
        windows = machine.env.get("SystemRoot") or machine.env.get("windir") or "C:\\Windows"
        own = [re.sub(r"[\\/][^\\/]*$", "", program)] if program else []
        path = [entry.strip('"') for entry in machine.env.get("PATH", machine.env.get("Path", "")).split(";")]
        self.system = f"{windows}\\System32"
        here = [machine.cwd] if machine.cwd else []
        folders = [*own, self.system, f"{windows}\\System", windows, *here, *path]
        self.folders = [entry.rstrip("\\/") for entry in dict.fromkeys(folders) if entry]
        self._names: dict[str, dict[str, str]] = {}

    def names(self, folder: str) -> dict[str, str]:
        """A folder's DLLs by lower-case name."""
        if folder not in self._names:
            try:
                self._names[folder] = {n.lower(): n for n in self.machine.names(folder) if n.lower().endswith(".dll")}
            except OSError:
                self._names[folder] = {}
        return self._names[folder]

    def find(self, name: str) -> list[str]:
        """Every file that answers to a name, in the order of the search."""
        return [
            f"{folder}\\{self.names(folder)[name.lower()]}"
            for folder in self.folders
            if name.lower() in self.names(folder)
        ]

    def fault(self, path: str, depth: int = DEPTH) -> tuple[str, str | None]:
        """Why a file would not load, and the DLL to blame; ("", None) where it would."""
        try:
            with self.machine.open(path) as file:
                header = pe.parse(file)
        except pe.NotPe as problem:
            return str(problem), None
        except OSError as problem:
            return problem.strerror or str(problem), None
        if header.machine != self.machine.processor:
            return f"made for {header.machine}, not {self.machine.processor}", None
        if header.missing_bytes > 0:
            return f"truncated: {header.missing_bytes} bytes of it are missing", None
        for name in header.imports if depth else ():
            if not OWN.fullmatch(name):
                continue
            found = self.find(name)
            if not found:
                return f"{name}, which it needs, is in none of the folders", name
            fault, culprit = self.fault(found[0], depth - 1)
            if fault:
                return f"{found[0]}, which it needs: {fault}", culprit or name
        return "", None


def examine(
    machine: Machine, environment: Environment, installed: Installed, facts: list[Fact], tables: Tables
) -> Iterator[Fact]:
    """Facts about the driver's DLL, the libraries that TensorFlow opens, and those on the disk."""
    search = Search(machine, environment.program or environment.executable)
    driver = search.find("nvcuda.dll")
    if driver:
        yield LibraryLoaded(Source(driver[0], None, "would be opened as nvcuda.dll"), "nvcuda.dll", driver[0])
    else:
        text = f"nvcuda.dll is not in {search.system}"
        yield LibraryNotLoaded(Source(search.system, None, text), "nvcuda.dll", text)
        yield Absent(Source(search.system, None, text), "nvidia driver")
    version = next((f for f in facts if isinstance(f, TensorFlowVersion)), None)
    if version is not None:
        yield from _runtime(search, version.version)
        needs = wanted(
            tables, version.version, version.package, platform_of("windows", machine.processor), installed.build
        )
        for name, needed in needs.names:
            yield LibraryWanted(Source(f"TensorFlow opens {name}", None, needs.known_by), name, needed)
            yield _called(search, name)
    yield from _files(machine, search)


def _called(search: Search, name: str) -> Fact:
    """What LoadLibrary(name) would do."""
    found = search.find(name)
    if not found:
        text = f"{name} is in none of {len(search.folders)} folders: the program's, Windows' and those on PATH"
        return LibraryNotLoaded(Source("the DLL search", None, text), name, f"{name} not found", "absent")
    fault, culprit = search.fault(found[0])
    if fault:
        return LibraryNotLoaded(
            Source(found[0], None, f"{name} would not load: {fault}"), name, fault, "broken", culprit
        )
    return LibraryLoaded(Source(found[0], None, f"would be opened as {name}"), name, found[0])


def _runtime(search: Search, version: str) -> Iterator[Fact]:
    """The Visual C++ run time; from 2.1 on msvcp140_1.dll too (build_info's msvcp_dll_names)."""
    names = RUNTIME if re.match(r"1\.|2\.0", version) else (*RUNTIME, *RUNTIME_SINCE_2_1)
    missing = [name for name in names if not search.find(name)]
    if missing:
        text = f"{', '.join(missing)} not found: the Visual C++ redistributable is missing or too old"
        yield Symptom(Source(search.system, None, text), "msvc-runtime", (("dll", missing[0]),))


def _files(machine: Machine, search: Search) -> Iterator[Fact]:
    """CUDA's DLLs on the disk and the versions of the toolkits that they lie in."""
    homes = {value.rstrip("\\/") for key, value in machine.env.items() if re.fullmatch(r"CUDA_PATH(_V\d+_\d+)?", key)}
    try:
        homes |= {f"{TOOLKITS}\\{name}" for name in machine.names(TOOLKITS)}
    except OSError:
        homes |= set()
    places = [
        *search.folders,
        *(f"{home}\\bin" for home in sorted(homes)),
        *(f"{home}\\extras\\CUPTI\\lib64" for home in sorted(homes)),
    ]
    searched = {folder.lower() for folder in search.folders}
    anything: set[str] = set()
    for folder in dict.fromkeys(places):
        for name in search.names(folder).values():
            if CUDA_DLL.fullmatch(name) and name.lower() != "nvcuda.dll":
                looked = folder.lower() in searched
                said = "in a folder that is searched" if looked else "in a folder that is not on PATH"
                yield LibraryFile(Source(f"{folder}\\{name}", None, said), name, f"{folder}\\{name}", None, looked)
                anything.add(re.split(r"64|_", name.lower())[0])
    versions = [fact for home in sorted(homes) for fact in _toolkit(machine, home)]
    yield from sorted(versions, key=lambda fact: f"{fact.location}\\bin".lower() not in searched)
    if not any(isinstance(fact, CudaVersion) for fact in versions) and "cudart" not in anything:
        yield Absent(Source(TOOLKITS, None, "no toolkit there and no cudart64 DLL on PATH"), "cuda")
    if "cudnn" not in anything:
        yield Absent(Source("PATH", None, "no cudnn64 DLL in its folders or in a toolkit"), "cudnn")


def _toolkit(machine: Machine, home: str) -> Iterator[CudaVersion | CudnnVersion]:
    """A toolkit's CUDA version, and the cuDNN that was copied into it."""
    stated = None
    for name, pattern in (("version.json", ""), ("version.txt", r"CUDA Version (\d+(?:\.\d+)+)")):
        text = machine.text(f"{home}\\{name}")
        if text is None:
            continue
        if pattern:
            match = re.search(pattern, text)
            stated = match[1] if match else None
        else:
            try:
                stated = str(json.loads(text)["cuda"]["version"])
            except (ValueError, KeyError, TypeError):
                stated = None
        if stated:
            yield CudaVersion(Source(f"{home}\\{name}", None, f"CUDA {stated}"), stated, home)
            break
    else:
        match = re.search(r"[\\/]v(\d+\.\d+)$", home)
        if match and machine.is_dir(home):
            yield CudaVersion(Source(home, None, f"the folder's name, v{match[1]}"), match[1], home)
    text = machine.text(f"{home}\\include\\cudnn_version.h") or machine.text(f"{home}\\include\\cudnn.h") or ""
    parts = [re.search(rf"#define\s+CUDNN_{part}\s+(\d+)", text) for part in ("MAJOR", "MINOR", "PATCHLEVEL")]
    if all(parts):
        version = ".".join(match[1] for match in parts if match)
        yield CudnnVersion(Source(f"{home}\\include", None, f"header of cuDNN {version}"), version, home)
