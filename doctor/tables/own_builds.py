"""Makes rows for TensorFlow builds that are not from PyPI: builds in NVIDIA's containers and wheels, from
conda or a Linux distribution, and builds that users compiled.

Such a build has the version number of a PyPI release but may load other libraries. Therefore, its own
build_info.py takes precedence over the table row for that release.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.tables.rows import ComputeCapabilities, Library, TensorFlowRelease
from doctor.tables.versions import at_least, dotted, major, minor

if TYPE_CHECKING:
    from doctor.tables.tables import Tables

COMPONENTS = ("CUDA runtime", "cuBLAS", "cuBLASLt", "cuFFT", "cuSOLVER", "cuSPARSE", "cuDNN")
"""The libraries that every build since 2.4 needs before it registers a GPU (TryDlopenCUDALibraries)."""
WITHOUT_CURAND = "2.14"
"""The first release that registers a GPU without cuRAND (according to libraries_required in the wheels'
rows)."""


def of_wheel(
    row: TensorFlowRelease,
    version: str,
    gpu: bool | None,
    cuda: str | None,
    cudnn: str | None,
    capabilities: Sequence[str] = (),
) -> bool:
    """Whether an installed build is the wheel that a table row describes, judging by the build's
    build_info.py.

    version: the version in the build's metadata. NVIDIA's builds have a local version part (2.17.0+nv25.2).
    """
    if "+" in version or (gpu is not None and row.gpu is not None and gpu != row.gpu):
        return False
    said = row.data.get("build_info") or {}
    stated = said.get("cuda_compute_capabilities")
    if capabilities and stated and sorted(capabilities) != sorted(stated):
        return False
    pairs = ((cuda, ("cuda_version", "cuda_version_number"), row.cuda, 2),
             (cudnn, ("cudnn_version", "cudnn_version_number"), row.cudnn, 1))  # fmt: skip
    for here, keys, fallback, parts in pairs:
        there = next((number(said[key]) for key in keys if said.get(key)), None) or fallback
        if here and there and not _same(here, there, parts):
            return False
    return True


def build(
    tables: Tables,
    package: str | None,
    version: str,
    platform: str,
    *,
    gpu: bool | None,
    cuda: str | None,
    cudnn: str | None,
    capabilities: Sequence[str] = (),
    source: str = "its own build_info.py",
) -> TensorFlowRelease:
    """Return a row for a build that is not a wheel in the table. Values that `source`, usually the build's
    build_info.py, lacks stay unknown.

    capabilities: compute capabilities as build_info.py spells them: "sm_80", "compute_90" (which means
    machine code and PTX) or "8.0".
    """
    loaded = libraries(tables, version, cuda, cudnn, platform) if gpu is not False else ()
    names = tuple(row.soname for row in loaded)
    made = "a CPU build" if gpu is False else f"CUDA {cuda or 'not stated'}, cuDNN {cudnn or 'not stated'}"
    return TensorFlowRelease(
        ref=f"{package or 'tensorflow'} {version} {platform}: {made}, from {source}",
        source=source,
        data={},
        package=package or "tensorflow",
        version=version,
        platform=platform,
        gpu=gpu,
        cuda=cuda,
        cudnn=cudnn,
        compute_capabilities=_kernels(capabilities),
        libraries=names,
        libraries_required=names,
        of_wheel=False,
    )


def libraries(
    tables: Tables, version: str, cuda: str | None, cudnn: str | None, platform: str
) -> tuple[Library, ...]:
    """Return the libraries that a build of this release, made for these CUDA and cuDNN versions, loads before
    it registers a GPU. They come from the catalogue of library names, which agrees with the wheels of every
    release since 2.1."""
    components = COMPONENTS if at_least(version, WITHOUT_CURAND) else (*COMPONENTS, "cuRAND")
    fitting: dict[str, Library] = {}
    several: set[str] = set()
    for row in tables.libraries():
        if row.component not in components or not _fits(row, cuda, cudnn, platform):
            continue
        known = fitting.get(row.component)
        if known is not None and "." not in (cuda or ""):
            # the minor version decides the name, but it is not stated
            several.add(row.component)
        # if two names fit a component, use the older one: build_info.py says cudart64_112, but the file is
        # called cudart64_110
        if known is None or dotted(row.first or "") < dotted(known.first or ""):
            fitting[row.component] = row
    return tuple(row for component, row in fitting.items() if component not in several)


def number(value: object) -> str | None:
    """Return a version in build_info.py as a dotted number: "10.1" and "12.5.1" stay, the Windows spelling
    "64_101" (the suffix of the DLL) becomes "10.1", and "64_7" (cuDNN) becomes "7". None for anything
    else."""
    text = value if isinstance(value, str) else ""
    if match := re.fullmatch(r"64_(\d*)(\d)", text):
        return f"{match[1]}.{match[2]}".lstrip(".")
    return text if re.fullmatch(r"\d+(\.\d+)*", text) else None


def _same(one: str, other: str, parts: int) -> bool:
    """Whether the first `parts` parts of two versions agree. Parts that only one version has do not count."""
    return all(a == b for a, b in zip(one.split(".")[:parts], other.split(".")[:parts]))


def _kernels(stated: Sequence[str]) -> ComputeCapabilities | None:
    compiled: list[str] = []
    ptx: list[str] = []
    for entry in stated:
        match = re.fullmatch(r"(?:(sm|compute)_)?(\d+)\.?(\d)([af]?)", entry.strip())
        if match is None:
            return None
        capability = f"{match[2]}.{match[3]}{match[4]}"
        compiled.append(capability)
        if match[1] != "sm":
            ptx.append(capability)
    return ComputeCapabilities(tuple(compiled), tuple(ptx)) if compiled else None


def _fits(row: Library, cuda: str | None, cudnn: str | None, platform: str) -> bool:
    """Whether a row in the catalogue is a library of this CUDA (or cuDNN) version that TensorFlow loads."""
    family = "windows" if platform.startswith("windows") else "linux"
    if row.platform != family or row.first is None:
        return False
    asked = cudnn if row.component == "cuDNN" else cuda
    if asked is None:
        return False
    if row.component == "cuDNN":
        return asked.split(".")[0] == row.first.split(".")[0]
    if row.component == "cuBLASLt" and not at_least(asked, "11"):  # TensorFlow loads it from 2.4 on
        return False
    if "." not in asked:  # only the major is stated
        return major(row.first) <= major(asked) <= major(row.last or asked)
    short = minor(asked)
    return at_least(short, row.first) and at_least(row.last or short, short)
