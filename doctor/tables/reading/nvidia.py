"""Reads NVIDIA's wheels: the libraries in each and their folders, and the GPUs that cuDNN's wheels
support."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from packaging.version import Version

from doctor import lazy
from doctor.tables.reading.archive import inflate, list_members, read_member
from doctor.tables.reading.cache import Cache
from doctor.tables.reading.fatbin import Fatbins, scan
from doctor.tables.reading.metadata import parse_metadata
from doctor.tables.reading.progress import Progress
from doctor.tables.reading.registry import IndexFile, PipSettings, project_files, remote_for
from doctor.tables.reading.remote import Remote
from doctor.tables.reading.window import Window
from doctor.tables.versions import capability_order

COMPONENTS = [
    "cublas",
    "cuda-cupti",
    "cuda-nvcc",
    "cuda-nvrtc",
    "cuda-runtime",
    "cufft",
    "curand",
    "cusolver",
    "cusparse",
    "nvjitlink",
]
PROJECTS = (
    *(
        f"nvidia-{name}-{cuda}"
        for cuda in ("cu11", "cu12")
        for name in COMPONENTS
        if (name, cuda) != ("nvjitlink", "cu11")
    ),
    *(f"nvidia-{name}" for name in COMPONENTS),
    *(f"nvidia-{name}-{cuda}" for name in ("cudnn", "nccl") for cuda in ("cu11", "cu12", "cu13")),
    *(f"nvidia-nvshmem-{cuda}" for cuda in ("cu12", "cu13")),
)
CUDNN = ("nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13")
THREADS = 8
LIBRARY = lazy.compile(r"(nvidia/[\w/]+)/(lib[\w.+-]+?\.so(?:\.\d+)*)$")


def linux_wheels(files: Iterable[IndexFile]) -> list[IndexFile]:
    """Return one Linux x86_64 wheel for each release, oldest release first. Yanked releases and pre-releases
    are left out."""
    best: dict[Version, IndexFile] = {}
    for file in files:
        match = re.fullmatch(r"[^-]+-([^-]+)(?:-\d[^-]*)?-py3-none-(\S*x86_64)\.whl", file.filename)
        if match is None or file.yanked is not None or "linux" not in match.group(2):
            continue
        version = Version(match.group(1))
        if not version.is_prerelease:
            best.setdefault(version, file)
    return [best[version] for version in sorted(best)]


def read_wheel(project: str, file: IndexFile, remote: Remote, cache: Cache) -> dict[str, Any]:
    """Return the table row for one wheel, from its zip directory and METADATA."""
    row: dict[str, Any] | None = cache.get(file.sha256, "nvidia-wheel-1")
    if row is None:
        members = list_members(remote, file.url, remote.size(file.url))
        metadata = next(m for m in members if m.name.endswith(".dist-info/METADATA"))
        requires = parse_metadata(read_member(remote, file.url, metadata).decode("utf-8", "replace")).requires
        found = [(match.group(1), match.group(2)) for m in members if (match := LIBRARY.fullmatch(m.name))]
        folders = sorted({folder for folder, _ in found}, key=lambda f: (-sum(g == f for g, _ in found), f))
        row = {
            "package": project,
            "version": file.filename.split("-")[1],
            "folder": folders[0] if folders else None,
            "libraries": sorted({name for folder, name in found if folder == folders[0]}),
            "requires": list(requires),
            "source": file.filename,
            "sha256": file.sha256,
        }
        cache.put(file.sha256, "nvidia-wheel-1", row)
    return row


def wheels(remote: Remote, indexes: tuple[str, ...], cache: Cache) -> list[dict[str, Any]]:
    """Return a row for every release of every project, in order. Cached wheels are not read again."""
    jobs = [
        (project, file)
        for project in PROJECTS
        for file in linux_wheels(project_files(project, indexes, remote))
    ]
    with ThreadPoolExecutor(THREADS) as pool, Progress("nvidia wheels", len(jobs)) as progress:
        return progress.collected(pool.map(lambda job: read_wheel(job[0], job[1], remote, cache), jobs))


def read_cudnn(project: str, file: IndexFile, settings: PipSettings, cache: Cache) -> dict[str, Any]:
    """Return the table row for one nvidia-cudnn-cuXX wheel, from the fatbins in its libcudnn_ops."""
    row: dict[str, Any] | None = cache.get(file.sha256, "nvidia-cudnn-2")
    if row is not None:
        return row
    remote = remote_for(settings)
    members = list_members(remote, file.url, remote.size(file.url))
    ops = [m for m in members if re.search(r"/libcudnn_ops(_infer)?\.so\.\d+$", m.name)]
    found = Fatbins()
    for member in ops:
        scan(Window(inflate(remote, file.url, member)), found)
    code = found.to_json()
    if not code["entries"] or code["malformed"]:
        raise ValueError(f"{file.filename}: {code['entries']} fatbin entries, {code['malformed']} malformed")
    compiled = sorted(code["compiled"], key=capability_order)
    row = {
        "version": file.filename.split("-")[1],
        "cuda": [project[-2:]],
        "package": project,
        "capabilities": compiled,
        "ptx": sorted(code["ptx"], key=capability_order),
        "ptx_isa": {target: list(versions) for target, versions in code["ptx"].items()},
        "lowest": compiled[0],
        "members": [m.name for m in ops],
        "source": file.filename,
        "sha256": file.sha256,
    }
    cache.put(file.sha256, "nvidia-cudnn-2", row)
    return row


def cudnns(
    settings: PipSettings, remote: Remote, cache: Cache, processes: int, kept: Iterable[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Return the rows in `kept` and a new row for every other cuDNN wheel, oldest first."""
    rows = list(kept)
    known = {row["source"] for row in rows}
    jobs = [
        (project, file)
        for project in CUDNN
        for file in linux_wheels(project_files(project, settings.indexes, remote))
        if file.filename not in known
    ]
    read = functools.partial(read_cudnn, settings=settings, cache=cache)
    with ProcessPoolExecutor(processes) as pool, Progress("cuDNN wheels", len(jobs)) as progress:
        rows += progress.collected(pool.map(read, *zip(*jobs)))
    return sorted(rows, key=lambda row: ([int(n) for n in row["version"].split(".")], row["cuda"]))
