"""Which libraries the installed TensorFlow build opens: by the table of its release, else by the nearest one.

A release that the table does not know (a nightly, a build of one's own) is taken to open what the newest known release
of no higher version opens; where the build states another CUDA than that one, the catalogue of library names decides.
The facts say which of the three it was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from doctor.facts import TensorFlowBuild
from doctor.tables import Library, Tables, TensorFlowRelease, at_least, dotted

PLATFORMS = {
    ("linux", "x86_64"): "linux-x86_64",
    ("linux", "aarch64"): "linux-aarch64",
    ("windows", "x86_64"): "windows-amd64",
    ("macos", "arm64"): "macos-arm64",
    ("macos", "x86_64"): "macos-x86_64",
}
COMPONENTS = ("CUDA runtime", "cuBLAS", "cuBLASLt", "cuFFT", "cuSOLVER", "cuSPARSE", "cuDNN")
"""What every build since 2.4 needs before it registers a GPU (TryDlopenCUDALibraries)."""
NVML = "libnvidia-ml.so.1"
"""A build that opens it (2.21.0 is the first) lists no GPU without it, and says nothing (seen on 2.21.0)."""
DRIVER = ("libcuda.so.1", "nvcuda.dll")
"""The driver's own library, which the driver's probe looks for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The libraries that a build opens: (name, needed for a GPU) and the words that say how that is known."""

    names: tuple[tuple[str, bool], ...] = ()
    known_by: str = ""
    release: TensorFlowRelease | None = None


def platform_of(system: str, processor: str) -> str:
    """The table's name of a platform."""
    return PLATFORMS.get((system, processor), f"{system}-{processor}")


def wanted(
    tables: Tables, version: str | None, package: str | None, platform: str, build: TensorFlowBuild | None
) -> Wanted:
    """What this build opens; nothing for a build without CUDA."""
    if (build is not None and build.gpu is False) or version is None:
        return Wanted()
    exact = tables.tensorflow(version, package, platform)
    if exact is not None and exact.libraries:
        return _of(exact, f"{exact.package} {exact.version} opens it (table of releases)")
    if exact is not None and exact.gpu is False:
        return Wanted(release=exact)
    cuda = (build.cuda if build is not None else None) or (exact.cuda if exact is not None else None)
    cudnn = (build.cudnn if build is not None else None) or (exact.cudnn if exact is not None else None)
    near = exact if exact is not None else _nearest(tables, version, platform)
    if near is not None and near.libraries and (cuda is None or _major(cuda) == _major(near.cuda)):
        said = f"{near.package} {near.version} opens it, the nearest release that the table knows to {version}"
        return _of(near, said, exact)
    if cuda is None:
        return Wanted(release=exact)
    fitting: dict[str, Library] = {}
    for row in tables.libraries():
        known = fitting.get(row.component)
        # of two names for one component the one that serves more releases: build_info's cudart64_112 is no file's name
        if _fits(row, cuda, cudnn, platform) and (known is None or dotted(row.first or "") < dotted(known.first or "")):
            fitting[row.component] = row
    names = [(row.soname, True) for row in fitting.values()]
    return Wanted(
        tuple(names), f"a build for CUDA {cuda} opens it (build_info and the catalogue of library names)", exact
    )


def _of(row: TensorFlowRelease, known_by: str, release: TensorFlowRelease | None = None) -> Wanted:
    needed = (*row.libraries_required, NVML)
    names = tuple((name, name in needed) for name in row.libraries if name not in DRIVER)
    return Wanted(names, known_by, release or row)


def _nearest(tables: Tables, version: str, platform: str) -> TensorFlowRelease | None:
    """The newest GPU release of no higher version; of several packages, the one named tensorflow."""
    plain = re.match(r"\d+(\.\d+)*", version)
    if plain is None:
        return None
    rows = [row for row in tables.releases(platform) if row.gpu and row.libraries and at_least(plain[0], row.version)]
    return max(rows, key=lambda row: (dotted(row.version), row.package == "tensorflow"), default=None)


def _fits(row: Library, cuda: str, cudnn: str | None, platform: str) -> bool:
    """Whether a row of the catalogue is a library of this CUDA (or cuDNN) that TensorFlow opens."""
    family = "windows" if platform.startswith("windows") else "linux"
    if row.platform != family or row.component not in COMPONENTS or row.first is None:
        return False
    asked = cudnn if row.component == "cuDNN" else cuda
    if asked is None:
        return False
    if row.component == "cuDNN":
        return _major(asked) == _major(row.first)
    if row.component == "cuBLASLt" and not at_least(asked, "11"):  # TensorFlow opens it from 2.4 on
        return False
    short = ".".join(asked.split(".")[:2])
    return at_least(short, row.first) and at_least(row.last or short, short)


def _major(version: str | None) -> str:
    return (version or "").partition(".")[0]
