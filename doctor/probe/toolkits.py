"""Finds the installed CUDA and cuDNN versions and their folders, from toolkits, file names, wheels and conda
packages.

The versions that TensorFlow would load come first.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping

from doctor import lazy
from doctor.facts import CudaVersion, CudnnVersion, Fact, Source
from doctor.probe.distribution import Distribution
from doctor.probe.interpreter import Environment
from doctor.probe.machine import Machine
from doctor.probe.missing import missing
from doctor.probe.packages import Installed
from doctor.probe.places import Found, toolkits

HEADERS = ("include/cuda.h", "targets/x86_64-linux/include/cuda.h", "targets/sbsa-linux/include/cuda.h")
RUNTIME = lazy.compile(r"nvidia-cuda-runtime(?:-cu\d+)?")
CUDNN = lazy.compile(r"nvidia-cudnn(?:-cu\d+)?")
HEADER_LIMIT = 2 << 20
CUDNN_HEADERS = ("cudnn_version.h", "cudnn.h")
"""The headers that define cuDNN's version; up to cuDNN 7, the second header defines it."""
PLACES = "wheels, conda, /usr/local/cuda*, system folders"


def versions(
    machine: Machine,
    environment: Environment,
    installed: Installed,
    files: list[Found],
    opened: set[str],
    searched: set[str],
    unseen: Mapping[str, str],
    opened_cudnn: str | None,
) -> list[Fact]:
    """CudaVersion and CudnnVersion facts, one for each place; an Absent or Unreadable fact if there is none.

    opened, searched: the real folders from which TensorFlow would load a library, and those that the loader
    searches; unseen: places that could not be examined, with the reason; opened_cudnn: the libcudnn that
    would be loaded.
    """
    cuda = [*_wheels(installed.distributions, RUNTIME, "cuda_runtime", CudaVersion)]
    cuda += of_conda(environment, installed, ("cudatoolkit", "cuda-cudart", "cuda-version"), CudaVersion)
    for home in toolkits(machine):
        cuda += _toolkit(machine, home)
    cuda += _from_files(machine, files, "libcudart.so", CudaVersion, cuda)
    cudnn = [*_wheels(installed.distributions, CUDNN, "cudnn", CudnnVersion)]
    cudnn += of_conda(environment, installed, ("cudnn",), CudnnVersion)
    cudnn += _from_files(machine, files, "libcudnn.so", CudnnVersion, cudnn)
    cudnn = _of_opened(machine, opened_cudnn, cudnn) + cudnn

    def rank(fact: CudaVersion | CudnnVersion) -> tuple[bool, bool]:
        folder = machine.resolve(fact.location or "")
        parts = ("", "/lib", "/lib64", f"/targets/{machine.processor}-linux/lib")
        below = {f"{folder}{part}" for part in parts}
        return not opened & below, not searched & below

    own = [fact for fact in cudnn if fact.location == opened_cudnn]
    others = [fact for fact in cudnn if fact not in own]
    facts: list[Fact] = [*sorted(cuda, key=rank), *own, *sorted(others, key=rank)]
    if not cuda:
        facts.append(missing(Source(PLACES, None, "no libcudart and no toolkit"), "cuda", unseen))
    if not cudnn:
        facts.append(missing(Source(PLACES, None, "no libcudnn"), "cudnn", unseen))
    return facts


def _wheels(
    distributions: tuple[Distribution, ...],
    wanted: re.Pattern[str],
    folder: str,
    kind: type[CudaVersion] | type[CudnnVersion],
) -> Iterator[CudaVersion | CudnnVersion]:
    """The CUDA or cuDNN versions of NVIDIA's installed wheels: a wheel has the same version as the library in
    it."""
    for entry in distributions:
        if wanted.fullmatch(entry.name) and entry.version:
            text = f"{entry.name} {entry.version}"
            place = f"{entry.folder}/nvidia/{folder}/lib"
            if entry.name == "nvidia-cuda-runtime":  # since CUDA 13, all libraries share one folder
                place = f"{entry.folder}/nvidia/cu{entry.version.partition('.')[0]}/lib"
            yield kind(Source(entry.info, None, text), entry.version, place)


def of_conda(
    environment: Environment,
    installed: Installed,
    names: tuple[str, ...],
    kind: type[CudaVersion] | type[CudnnVersion],
) -> Iterator[CudaVersion | CudnnVersion]:
    """The version of the first of these conda packages that is installed, as a fact of this kind; nothing if
    none is."""
    for wanted in names:
        for name, version, build in installed.conda:
            if name == wanted:
                path = f"{environment.prefix}/conda-meta/{name}-{version}-{build}.json"
                yield kind(Source(path, None, f"{name} {version}"), version, f"{environment.prefix}/lib")
                return


def _toolkit(machine: Machine, home: str) -> Iterator[CudaVersion]:
    """The version that a toolkit's folder states in version.json, version.txt or cuda.h; nothing if none of
    them states it."""
    stated = stated_version(machine, home)
    if stated is not None:
        yield stated
        return
    for header in HEADERS:
        text = machine.text(f"{home}/{header}", HEADER_LIMIT)
        match = re.search(r"#define\s+CUDA_VERSION\s+(\d{4,5})", text or "")
        if match:
            number = int(match[1])
            version = f"{number // 1000}.{number % 1000 // 10}"
            yield CudaVersion(Source(f"{home}/{header}", None, match[0]), version, home)
            return


def stated_version(machine: Machine, home: str) -> CudaVersion | None:
    """The version that a toolkit's folder states in version.json (since CUDA 11.1) or version.txt (up to
    10.x); None if it states none."""
    path = _below(machine, home, "version.json")
    try:
        stated = json.loads(machine.text(path) or "null")["cuda"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        stated = None
    if isinstance(stated, str):
        return CudaVersion(Source(path, None, f"CUDA {stated}"), stated, home)
    path = _below(machine, home, "version.txt")
    match = re.search(r"CUDA Version (\d+(?:\.\d+)+)", machine.text(path) or "")
    return CudaVersion(Source(path, 1, match[0]), match[1], home) if match else None


def _below(machine: Machine, folder: str, name: str) -> str:
    return f"{folder}\\{name}" if machine.system == "windows" else f"{folder}/{name}"


def _of_opened(
    machine: Machine, path: str | None, known: list[CudaVersion | CudnnVersion]
) -> list[CudaVersion | CudnnVersion]:
    """The version of the libcudnn that would be loaded, with its path as location. It comes from the real
    file's name, otherwise from the package that owns the folder, otherwise from the header beside it. [] if
    none of them shows it."""
    if path is None:
        return []
    real = machine.resolve(path)
    folder = posixpath.dirname(real)
    tail = posixpath.basename(real).partition(".so.")[2]
    if tail.count(".") >= 2:
        return [CudnnVersion(Source(path, None, posixpath.basename(real)), tail, path)]
    owners = [fact for fact in known if fact.location and machine.resolve(fact.location) == folder]
    stated = next(
        (fact for fact in owners if fact.version.split(".")[0] == tail and "." in fact.version), None
    )
    if stated is not None:
        return [CudnnVersion(stated.source, stated.version, path)]
    for base in (posixpath.dirname(folder), posixpath.dirname(posixpath.dirname(folder)), "/usr"):
        for header, version in cudnn_headers(machine, f"{base}/include"):
            if version.split(".")[0] == tail:
                return [CudnnVersion(Source(header, None, f"cuDNN {version}"), version, path)]
    return []


def cudnn_headers(machine: Machine, folder: str) -> Iterator[tuple[str, str]]:
    """The cuDNN headers in a folder that define the version, each as (path, MAJOR.MINOR.PATCHLEVEL)."""
    for name in CUDNN_HEADERS:
        path = _below(machine, folder, name)
        text = machine.text(path, HEADER_LIMIT) or ""
        parts = [
            re.search(rf"#define\s+CUDNN_{part}\s+(\d+)", text) for part in ("MAJOR", "MINOR", "PATCHLEVEL")
        ]
        if all(parts):
            yield path, ".".join(match[1] for match in parts if match)


def _from_files(
    machine: Machine,
    files: list[Found],
    stem: str,
    kind: type[CudaVersion] | type[CudnnVersion],
    known: list[CudaVersion | CudnnVersion],
) -> Iterator[CudaVersion | CudnnVersion]:
    """The versions of libraries in places that the other functions do not cover; they come from the file
    names."""
    places = {machine.resolve(fact.location or "") for fact in known}
    seen: set[tuple[str, str]] = set()
    for found in files:
        if not found.name.startswith(stem):
            continue
        folder = posixpath.dirname(found.real)
        if any(folder == place or folder.startswith(f"{place}/") for place in places if place):
            continue
        version = found.version or found.name.partition(".so.")[2]
        if version and (folder, version) not in seen:
            seen.add((folder, version))
            source = Source(found.path, None, posixpath.basename(found.real))
            yield kind(source, version, posixpath.dirname(found.path))
