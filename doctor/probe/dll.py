"""Finds CUDA and cuDNN on Windows: which DLL would be loaded for each name, and which others are on the disk.

Windows searches the program's folder, System32, the Windows folder, the current folder, then PATH (Microsoft,
"Dynamic-link library search order", standard order for unpackaged apps); the registry may put the current
folder elsewhere. TensorFlow loads libraries by name alone. Nothing is loaded here. If PATH is unknown, a DLL
that may be on it is not reported missing, and PATH is assumed to contain the folders of CUDA toolkits,
because the CUDA installer adds them (CUDA Installation Guide for Microsoft Windows).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import (
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
    Unreadable,
)
from doctor.probe import pe
from doctor.probe.inside import reason
from doctor.probe.interpreter import Environment
from doctor.probe.machine import Machine
from doctor.probe.missing import missing
from doctor.probe.packages import Installed
from doctor.probe.python_paths import WALK, walked
from doctor.probe.toolkits import cudnn_headers, of_conda, stated_version
from doctor.probe.wanted import platform_of, wanted
from doctor.probe.windows_registry import current_folder_in_search, search_path
from doctor.tables import Tables, at_least

CUDA_DLL = lazy.compile(
    r"(?:cudart|cudnn|cublas|cublasLt|cufft|curand|cusolver|cusparse|cupti|nvcuda)64?_?\w*\.dll",
    re.IGNORECASE,
)
OWN = lazy.compile(r"(?:cu\w{1,40}64_\w{1,40}|nvrtc\w*|zlibwapi|cudnn_\w+)\.dll", re.IGNORECASE)
"""Imported DLLs that are not part of Windows; without them a CUDA library does not load."""
RUNTIME = ("msvcp140.dll", "vcruntime140.dll")
RUNTIME_SINCE_2_1 = ("msvcp140_1.dll", "vcruntime140_1.dll")
TOOLKITS = "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA"
CUDNNS = "C:\\Program Files\\NVIDIA\\CUDNN"
BY_INSTALLER = "the value of PATH is not known, but CUDA's installer adds this folder to it"
CONDA = ("", "Library\\mingw-w64\\bin", "Library\\usr\\bin", "Library\\bin", "Scripts", "bin")
"""The folders of an environment that conda's activation puts first on PATH (conda/activate.py,
_get_path_dirs)."""
DEPTH = 4


class Search:
    """The DLL search of one process."""

    def __init__(self, machine: Machine, environment: Environment) -> None:
        self.machine = machine
        program = environment.program or environment.executable
        windows = machine.env.get("SystemRoot") or machine.env.get("windir") or "C:\\Windows"
        own = re.sub(r"[\\/][^\\/]*$", "", program) if program else ""
        self.unseen: dict[str, str] = {}
        """The folders and registry files that could not be read, and why."""
        with machine.noting() as unseen:
            path, self.path_of = search_path(machine, environment.prefix)
        self.unseen.update(unseen)
        self.path_known = path is not None
        self.assumed: list[str] = []
        """Folders that PATH is assumed to contain."""
        if self.path_of != "PATH" and environment.conda and environment.prefix:
            path = [*(f"{environment.prefix}\\{part}" for part in CONDA), *(path or ())]
        self.system = f"{windows}\\System32"
        folders = [own, self.system, f"{windows}\\System", windows]
        here = current_folder_in_search(machine)
        if machine.cwd and here is not None:
            folders.insert(here, machine.cwd)
        if not self.path_known:
            self.assumed = [f"{TOOLKITS}\\{name}\\bin" for name in machine.names_seen(TOOLKITS)]
            path = [*(path or ()), *self.assumed]
        folders += path or []
        self.folders = [entry.replace("/", "\\").rstrip("\\") for entry in dict.fromkeys(folders) if entry]
        self._names: dict[str, dict[str, str]] = {}
        self._disk: list[tuple[str, set[str]]] | None = None

    def names(self, folder: str) -> dict[str, str]:
        """The DLLs in a folder, by lower-case name."""
        if folder not in self._names:
            with self.machine.noting() as unseen:
                names = self.machine.names_seen(folder)
            self.unseen.update(unseen)
            self._names[folder] = {n.lower(): n for n in names if n.lower().endswith(".dll")}
        return self._names[folder]

    def find(self, name: str) -> list[str]:
        """Every file with this name in the searched folders, in search order."""
        return [
            f"{folder}\\{self.names(folder)[name.lower()]}"
            for folder in self.folders
            if name.lower() in self.names(folder)
        ]

    def on_disk(self, name: str) -> str | None:
        """Find a folder that contains a DLL; Windows' own folders and package folders are not searched.
        Returns "" if there is none, None if there are too many folders to search."""
        if self._disk is None:
            self._disk = [(folder, {n.lower() for n in names}) for folder, names in walked(self.machine)]
        found = next((folder for folder, names in self._disk if name.lower() in names), None)
        return found or (None if len(self._disk) >= WALK else "")

    def fault(self, path: str, depth: int = DEPTH) -> tuple[str, str | None]:
        """Why a file would not load, and the DLL at fault; ("", None) if it would load."""
        try:
            with self.machine.open(path) as file:
                header = pe.parse(file)
        except pe.NotPe as problem:
            return str(problem), None
        except OSError as problem:
            return reason(problem), None
        if self.machine.processor and header.machine != self.machine.processor:
            return f"made for {header.machine}, not {self.machine.processor}", None
        if header.missing_bytes > 0:
            return f"truncated: {header.missing_bytes} bytes are missing", None
        for name in header.imports if depth else ():
            if not OWN.fullmatch(name):
                continue
            found = self.find(name)
            if not found:
                return f"{name}, which it needs, is in none of the searched folders", name
            fault, culprit = self.fault(found[0], depth - 1)
            if fault:
                return f"{found[0]}, which it needs, would not load: {fault}", culprit or name
        return "", None


def examine(
    machine: Machine, environment: Environment, installed: Installed, facts: list[Fact], tables: Tables
) -> Iterator[Fact]:
    """Facts about the driver's DLL, the libraries that TensorFlow loads, and the CUDA libraries on the
    disk."""
    search = Search(machine, environment)
    driver = search.find("nvcuda.dll")
    if driver:
        yield LibraryLoaded(Source(driver[0], None, "would be loaded as nvcuda.dll"), "nvcuda.dll", driver[0])
    else:
        text = f"nvcuda.dll is not in {search.system}"
        if not search.unseen:
            yield LibraryNotLoaded(Source(search.system, None, text), "nvcuda.dll", text)
        yield missing(Source(search.system, None, text), "nvidia driver", search.unseen)
    homes = _homes(machine, search)
    places = [f"{home}\\bin" for home in homes]
    if environment.conda and environment.prefix:
        places.append(f"{environment.prefix}\\Library\\bin".replace("/", "\\"))
    version = next((f for f in facts if isinstance(f, TensorFlowVersion)), None)
    opens_cudnn = False
    if version is not None:
        yield from _runtime(search, version.version)
        platform = platform_of("windows", machine.processor)
        needs = wanted(tables, version.version, version.package, platform, installed.build)
        opens_cudnn = any(name.lower().startswith("cudnn") for name, _ in needs.names)
        for name, needed in needs.names:
            yield LibraryWanted(Source(f"TensorFlow loads {name}", None, needs.known_by), name, needed)
            yield _called(search, name, places)
    if search.assumed and version is not None:
        yield Symptom(Source("PATH", None, BY_INSTALLER), "path-assumed", (("folder", search.assumed[0]),))
    yield from _cudnn(search, environment, installed, version, opens_cudnn)
    yield from _files(machine, search, homes, places)


def _called(search: Search, name: str, places: list[str]) -> Fact:
    """Return a fact that says which file LoadLibrary(name) would load, or why it would fail."""
    found = search.find(name)
    if not found:
        if search.unseen:
            return missing(Source("the DLL search"), "libraries", search.unseen)
        there = [place for place in places if name.lower() in search.names(place)]
        if not there and not search.path_known:
            there = list(filter(None, [search.on_disk(name)]))
        if there and not search.path_known:
            why = f"{name} is in {there[0]}; it is not known whether PATH contains that folder"
            return Unreadable(Source("PATH", None, why), "libraries", why)
        text = (
            f"{name} is in none of the {len(search.folders)} searched folders: the program's, Windows' own"
            " and those on PATH"
            if search.path_known
            else f"{name} is in no folder of Windows, the program or a CUDA toolkit; PATH is not known"
        )
        return LibraryNotLoaded(Source("the DLL search", None, text), name, f"{name} not found", "absent")
    fault, culprit = search.fault(found[0])
    if culprit and search.unseen:  # the DLL at fault may be in a folder that could not be listed
        return missing(Source("the DLL search"), "libraries", search.unseen)
    if fault:
        source = Source(found[0], None, f"{name} would not load: {fault}")
        return LibraryNotLoaded(source, name, fault, "broken", culprit)
    assumed = f"; {BY_INSTALLER}" if found[0].rpartition("\\")[0] in search.assumed else ""
    return LibraryLoaded(Source(found[0], None, f"would be loaded as {name}{assumed}"), name, found[0])


def _runtime(search: Search, version: str) -> Iterator[Fact]:
    """A symptom if the Visual C++ runtime is incomplete. TensorFlow 2.1 and later also need msvcp140_1.dll
    (build_info's msvcp_dll_names)."""
    names = RUNTIME if re.match(r"1\.|2\.0", version) else (*RUNTIME, *RUNTIME_SINCE_2_1)
    lacks = [name for name in names if not search.find(name)]
    # if System32 contains no DLL, the files do not include Windows itself
    if lacks and not search.unseen and search.names(search.system):
        text = f"{', '.join(lacks)} not found: the Visual C++ redistributable is missing or too old"
        yield Symptom(Source(search.system, None, text), "msvc-runtime", (("dll", lacks[0]),))


def _files(machine: Machine, search: Search, homes: list[str], more: list[str]) -> Iterator[Fact]:
    """CUDA's DLLs on the disk, and the versions of their toolkits."""
    places = [*search.folders, *more, *(f"{home}\\extras\\CUPTI\\lib64" for home in homes)]
    searched = {folder.lower() for folder in search.folders if folder not in search.assumed}
    stems: set[str] = set()  # such as "cudart"
    distinct: dict[str, str] = {}
    for place in places:
        distinct.setdefault(place.lower(), place)
    for lower, folder in distinct.items():
        on_path = True if lower in searched else False if search.path_known else None
        text = {
            True: "in a folder that is searched",
            False: "in a folder that is not on PATH",
            None: "in a folder that may or may not be on PATH: the value of PATH is not known",
        }[on_path]
        for name in search.names(folder).values():
            if CUDA_DLL.fullmatch(name) and name.lower() != "nvcuda.dll":
                path = f"{folder}\\{name}"
                problem = search.fault(path, 0)[0]
                yield LibraryFile(Source(path, None, text), name, path, None, on_path, problem)
                stems.add(re.split(r"64|_", name.lower())[0])
    versions = [fact for home in homes for fact in _toolkit(machine, home)]
    yield from sorted(versions, key=lambda fact: f"{fact.location}\\bin".lower() not in searched)
    if not any(isinstance(fact, CudaVersion) for fact in versions) and "cudart" not in stems:
        text = "no toolkit in this folder and no cudart64 DLL on PATH"
        yield missing(Source(TOOLKITS, None, text), "cuda", search.unseen)
    if "cudnn" not in stems:
        yield missing(Source("PATH", None, "no cudnn64 DLL on PATH or in a toolkit"), "cudnn", search.unseen)


def _homes(machine: Machine, search: Search) -> list[str]:
    """The folders of CUDA toolkits and those that NVIDIA's cuDNN installer creates."""
    homes = {
        value.rstrip("\\/")
        for key, value in machine.env.items()
        if re.fullmatch(r"CUDA_PATH(_V\d+_\d+)?", key)
    }
    with machine.noting() as unseen:
        for base in (TOOLKITS, CUDNNS):
            homes |= {f"{base}\\{name}" for name in machine.names_seen(base)}
    search.unseen.update(unseen)
    return sorted(homes)


def _cudnn(
    search: Search,
    environment: Environment,
    installed: Installed,
    version: TensorFlowVersion | None,
    opens_cudnn: bool,
) -> Iterator[Fact]:
    """Facts about the cuDNN version that would be loaded, and about a missing zlibwapi.dll, which cuDNN 8.3
    to 8.9 load themselves. zlibwapi.dll is not checked if TensorFlow does not load cuDNN."""
    opened = [path for major in ("8", "9", "7") for path in search.find(f"cudnn64_{major}.dll")][:1]
    if version is None or not opened:
        return
    folder = opened[0].rpartition("\\")[0]
    by_conda = environment.conda and folder.lower().startswith((environment.prefix or "?").lower())
    packages = of_conda(environment, installed, ("cudnn",), CudnnVersion) if by_conda else ()
    headers = cudnn_headers(search.machine, f"{folder.rpartition(chr(92))[0]}\\include")
    found = [*(fact.version for fact in packages), *(number for _, number in headers)]
    if not found:
        return
    stated = found[0]
    yield CudnnVersion(Source(opened[0], None, f"cuDNN {stated}"), stated, opened[0])
    needs_zlib = opens_cudnn and at_least(stated, "8.3") and not at_least(stated, "9")
    if not needs_zlib or search.find("zlibwapi.dll") or search.unseen:
        return
    if search.path_known or search.on_disk("zlibwapi.dll") == "":
        text = "zlibwapi.dll, which cuDNN 8 loads when it starts, is in none of the searched folders"
        yield LibraryNotLoaded(Source(opened[0], None, text), "zlibwapi.dll", text, "absent")


def _toolkit(machine: Machine, home: str) -> Iterator[CudaVersion | CudnnVersion]:
    """A toolkit's CUDA version, and the version of the cuDNN that was copied into it."""
    stated = stated_version(machine, home)
    named = re.search(r"[\\/]v(\d+\.\d+)$", home)
    if stated is not None:
        yield stated
    elif named and machine.is_dir(home):
        yield CudaVersion(Source(home, None, f"the folder's name, v{named[1]}"), named[1], home)
    for header, version in cudnn_headers(machine, f"{home}\\include"):
        yield CudnnVersion(Source(header, None, f"cuDNN {version}"), version, home)
