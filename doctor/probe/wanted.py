"""Determines the libraries that the installed TensorFlow build loads.

The first sources are the build's own files: the libraries to which they are linked, then the versions in its
build_info.py. The TensorFlow table's row for the release is used if the build is the wheel from which that
row was read. A release that is not in the table (a nightly) is assumed to load the same libraries as the
newest known release that is not newer. The facts say which of these sources was used.
"""

from __future__ import annotations

import re

from doctor.facts import Source, TensorFlowBuild
from doctor.tables import Tables, TensorFlowRelease, at_least, dotted, own_builds
from doctor.values import dataclass

PLATFORMS = {
    ("linux", "x86_64"): "linux-x86_64",
    ("linux", "aarch64"): "linux-aarch64",
    ("windows", "x86_64"): "windows-amd64",
    ("macos", "arm64"): "macos-arm64",
    ("macos", "x86_64"): "macos-x86_64",
}
NVML = "libnvidia-ml.so.1"
"""NVML's library. A build that loads it (2.21.0 is the first) lists no GPU if it is missing, and prints no
message about it (seen on 2.21.0)."""
DRIVER = ("libcuda.so.1", "nvcuda.dll")
"""The driver's own library, for which the driver's probe searches."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The libraries that a build loads, each as (name, whether TensorFlow needs it to use a GPU), and a
    clause that states the source of this list."""

    names: tuple[tuple[str, bool], ...] = ()
    known_by: str = ""


def platform_of(system: str, processor: str) -> str:
    """The name of a platform in the TensorFlow table."""
    return PLATFORMS.get((system, processor), f"{system}-{processor}")


def wanted(
    tables: Tables,
    version: str | None,
    package: str | None,
    platform: str,
    build: TensorFlowBuild | None,
    linked: tuple[str, ...] = (),
) -> Wanted:
    """The libraries that this build loads; none for a build without CUDA. linked: the CUDA libraries to which
    its own files are linked."""
    if build is not None and build.gpu is False:
        return Wanted()
    opened = Wanted() if version is None else _opened(tables, version, package, platform, build)
    if not linked:
        return opened
    stems = {_stem(name) for name in linked}
    others = tuple((name, needed) for name, needed in opened.names if _stem(name) not in stems)
    names = (*((name, True) for name in linked if name not in (*DRIVER, NVML)), *others)
    return Wanted(names, "TensorFlow's own library is linked to it (DT_NEEDED)" if not others else
                  f"TensorFlow's own library is linked to it (DT_NEEDED), or {opened.known_by}")  # fmt: skip


def _opened(
    tables: Tables, version: str, package: str | None, platform: str, build: TensorFlowBuild | None
) -> Wanted:
    """The libraries that a build loads with dlopen."""
    exact = tables.tensorflow(version, package, platform)
    stated = build or TensorFlowBuild(Source(""))
    if exact is not None and own_builds.of_wheel(
        exact, version, stated.gpu, stated.cuda, stated.cudnn, stated.capabilities
    ):
        if exact.gpu is False:
            return Wanted()
        if exact.libraries:
            return _of(exact, f"{exact.package} {exact.version} loads it (table of releases)")
    near = _nearest(tables, version, platform) if exact is None and "+" not in version else None
    if near is not None and own_builds.of_wheel(near, version, stated.gpu, stated.cuda, stated.cudnn):
        return _of(
            near,
            f"{near.package} {near.version} loads it; of the releases in the table, this is the nearest to"
            f" {version}",
        )
    if stated.cuda is None:
        return Wanted()
    own = own_builds.build(
        tables, package, version, platform, gpu=stated.gpu, cuda=stated.cuda, cudnn=stated.cudnn
    )
    return _of(
        own, f"a build for CUDA {stated.cuda} loads it (build_info and the catalogue of library names)"
    )


def _of(row: TensorFlowRelease, known_by: str) -> Wanted:
    needed = (*row.libraries_required, NVML)
    return Wanted(tuple((name, name in needed) for name in row.libraries if name not in DRIVER), known_by)


def _nearest(tables: Tables, version: str, platform: str) -> TensorFlowRelease | None:
    """The newest GPU release that is not newer than this version; if several packages have it, the one named
    tensorflow."""
    plain = re.match(r"\d+(\.\d+)*", version)
    if plain is None:
        return None
    rows = [
        row
        for row in tables.releases(platform)
        if row.gpu and row.libraries and at_least(plain[0], row.version)
    ]
    return max(rows, key=lambda row: (dotted(row.version), row.package == "tensorflow"), default=None)


def _stem(name: str) -> str:
    return name.partition(".so")[0]
