"""Reads the requirements of other GPU frameworks (torch, JAX, CuPy, ONNX Runtime) from the METADATA of their
wheels.

For each final release, it reads one wheel: the wheel for Linux x86_64 and the newest Python version. It
fetches only the wheel's directory and METADATA, so the wheel's size does not matter. Requirements that do not
apply on Linux x86_64 (according to their marker) are left out; conditions on the Python version are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from doctor.tables.reading.archive import list_members, read_member
from doctor.tables.reading.cache import Cache
from doctor.tables.reading.metadata import Stated, stated_requirements
from doctor.tables.reading.progress import Progress
from doctor.tables.reading.registry import IndexFile, project_files
from doctor.tables.reading.remote import Remote

FIRST = {
    "torch": "2.0",
    "torchvision": "0.15",
    "torchaudio": "2.0",
    "jax": "0.4",
    "jaxlib": "0.4",
    "jax-cuda11-plugin": "0.4",
    "jax-cuda12-plugin": "0.4",
    "jax-cuda13-plugin": "0.4",
    "jax-cuda11-pjrt": "0.4",
    "jax-cuda12-pjrt": "0.4",
    "jax-cuda13-pjrt": "0.4",
    "cupy-cuda11x": "12",
    "cupy-cuda12x": "12",
    "cupy-cuda13x": "12",
    "onnxruntime-gpu": "1.15",
    "paddlepaddle-gpu": "2.4",
    "cuda-toolkit": "12",
}
"""The projects to read, each with the oldest release to read."""
THREADS = 8
KIND = "framework-2"
LINUX = {
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "os_name": "posix",
}


def releases(files: Iterable[IndexFile], first: str) -> dict[Version, list[IndexFile]]:
    """Return the wheels of each final release for Linux x86_64 or for any platform; the wheel for the newest
    Python comes last."""
    found: dict[Version, list[IndexFile]] = {}
    for file in files:
        match = re.fullmatch(r"[^-]+-([^-]+)(?:-\d[^-]*)?-([\w.]+)-(\w+)-(\S+)\.whl", file.filename)
        if match is None or file.yanked is not None or not re.search(r"linux\S{0,60}x86_64|^any$", match[4]):
            continue
        version = Version(match[1])
        if version >= Version(first) and not version.is_prerelease and not match[3].endswith("t"):
            found.setdefault(version, []).append(file)
    return {version: sorted(found[version], key=_python_of) for version in sorted(found)}


def _python_of(file: IndexFile) -> tuple[int, ...]:
    tag = re.search(r"-cp(\d)(\d+)-", file.filename)
    return (int(tag[1]), int(tag[2])) if tag else (0,)


def read_release(project: str, wheels: list[IndexFile], remote: Remote, cache: Cache) -> dict[str, Any]:
    """Return the table row for one release."""
    file = wheels[-1]
    texts: dict[str, Any] | None = cache.get(file.sha256, KIND)
    if texts is None:
        members = list_members(remote, file.url, remote.size(file.url))
        metadata = next(m for m in members if re.fullmatch(r"[^/]+\.dist-info/METADATA", m.name))
        text = read_member(remote, file.url, metadata).decode("utf-8", "replace")
        texts = of_metadata(text)
        cache.put(file.sha256, KIND, texts)
    pythons = sorted({_python_of(wheel) for wheel in wheels} - {(0,)})
    return {
        "package": project,
        "version": file.filename.split("-")[1],
        "pythons": [".".join(map(str, python)) for python in pythons],
        **texts,
        "source": file.filename,
        "sha256": file.sha256,
    }


def of_metadata(text: str) -> dict[str, Any]:
    """Return the values from a METADATA file: requires_python, requires, and the extras that install NVIDIA's
    packages or a build for CUDA."""
    python, stated = stated_requirements(text)
    here = [one for one in stated if _on_linux(one)]
    extras: dict[str, list[str]] = {}
    for one in here:
        if one.extra:
            extras.setdefault(one.extra, []).append(_words(one))
    return {
        "requires_python": python,
        "requires": sorted({_words(one) for one in here if not one.extra}),
        "extras": {
            canonicalize_name(name): sorted(set(lines))
            for name, lines in sorted(extras.items())
            if any(map(_of_gpu, lines))
        },
    }


def _of_gpu(line: str) -> bool:
    return line.startswith("nvidia-") or "cuda" in line


def _on_linux(one: Stated) -> bool:
    """Whether the marker can be true on Linux x86_64 with any Python version."""
    pythons = ({"python_version": f"3.{n}", "python_full_version": f"3.{n}.0"} for n in range(8, 16))
    marker = one.requirement.marker
    return marker is None or any(
        marker.evaluate({**LINUX, **python, "extra": one.extra}) for python in pythons
    )


def _words(one: Stated) -> str:
    """Return the requirement as text. The marker's conditions on the Python version are kept; its conditions
    on the platform are left out."""
    bare = Requirement(str(one.requirement))
    bare.marker = None
    python = " and ".join(
        re.findall(r"python_(?:full_)?version\s*[<>=!~]+\s*\"[\d.]+\"", str(one.requirement.marker or ""))
    )
    return f"{bare}; {python}" if python else str(bare)


def frameworks(remote: Remote, indexes: tuple[str, ...], cache: Cache) -> list[dict[str, Any]]:
    """Return a row for every release of every project, in order. Cached wheels are not read again."""
    jobs = [
        (project, wheels)
        for project, first in FIRST.items()
        for wheels in releases(project_files(project, indexes, remote), first).values()
    ]
    with ThreadPoolExecutor(THREADS) as pool, Progress("frameworks", len(jobs)) as progress:
        return progress.collected(pool.map(lambda job: read_release(job[0], job[1], remote, cache), jobs))
