"""Finds the TensorFlow builds that a case may be about, from the release and the loaded libraries."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doctor.facts import (
    MEASURED,
    Facts,
    LibraryLoaded,
    LibraryNotLoaded,
    Package,
    Symptom,
    TensorFlowBuild,
    TensorFlowVersion,
)
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.tables import Tables, TensorFlowRelease

_TELLING = (
    r"(?:lib)?(?:cudart|cudnn|cublas)(?:\.so\.|64_)",
    r"(?:lib)?cu(?:solver|sparse|fft)(?:\.so\.|64_)",
)
"""Patterns for libraries whose version distinguishes builds, the most distinctive first."""


def opens_runtime_of(row: TensorFlowRelease, facts: Facts) -> bool:
    """Whether the TensorFlow in the log loads the same CUDA runtime as the build in this table row. If not,
    it is another build of the release, made by NVIDIA (nvidia-tensorflow 1.15), a distribution or the
    user."""
    runtimes = {name for name in _asked(facts) if re.match(r"libcudart\.so\.\d|cudart64_\d", name)}
    own = {name for name in row.libraries if "cudart" in name}
    return not runtimes or not own or facts.kind == "machine" or bool(runtimes & own)


def row_of(
    known: TensorFlowVersion,
    tables: Tables,
    platform: str,
    opening: Callable[[], Sequence[Sequence[TensorFlowRelease]]],
) -> TensorFlowRelease | None:
    """Return the table row for a release, or None if there is none. If the version is a pre-release or has
    more parts than the versions in the table, return the row for its minor release. platform: as in the
    table. opening: returns, for each library in the case, the builds that load it; few cases need them, and
    finding them takes long."""
    version = known.version.split("+")[0]
    package = (
        known.package
        if known.package in ("tensorflow", "tensorflow-gpu") and known.rank == MEASURED
        else None
    )
    row = tables.tensorflow(version, package, platform)
    if row is None and package is not None:
        row = tables.tensorflow(version, None, platform)
    if row is not None:
        return row
    minor = re.match(r"\d+\.\d+", version)
    row = tables.tensorflow(minor[0], None, platform) if minor else None
    # a nightly build may be older than its minor release, which then changed the libraries
    return row if row is None or all(row in builds for builds in opening()) else None


def installed(
    known: TensorFlowVersion, row: TensorFlowRelease | None, facts: Facts, tables: Tables, platform: str
) -> TensorFlowRelease | None:
    """Return the build on a machine: the official wheel's row, or, for any other build, a row with the data
    that the build declares about itself."""
    said = facts.first(TensorFlowBuild)
    if said is None:
        return row if "+" not in known.version else None
    from doctor.tables import own_builds

    if row is not None and own_builds.of_wheel(
        row, known.version, said.gpu, said.cuda, said.cudnn, said.capabilities
    ):
        return row
    return own_builds.build(
        tables,
        known.package,
        known.version,
        platform,
        gpu=said.gpu,
        cuda=said.cuda,
        cudnn=said.cudnn,
        capabilities=said.capabilities,
    )


def cpu_builds_of_conda(facts: Facts) -> Sequence[Symptom]:
    """Return the signs of a CPU build from conda; none if the list shows a GPU build of tensorflow-base,
    which contains the code: the package `tensorflow` only requires it."""
    base = {p.source.line for p in facts.of(Package) if p.name == "tensorflow-base" and p.manager == "conda"}
    gpu = any(build.gpu and build.source.line in base for build in facts.of(TensorFlowBuild))
    return () if gpu else facts.symptoms("conda-cpu-build")


def of_conda(
    known: TensorFlowVersion, row: TensorFlowRelease | None, facts: Facts, tables: Tables, platform: str
) -> TensorFlowRelease | None:
    """Return the GPU build that a report's conda list shows, or None if there is none. conda installs CUDA
    and cuDNN for its builds, so the listed versions are those of the build: its channels build a release for
    several CUDA versions, and not for those of PyPI's wheel (build strings in repodata.json).

    row: PyPI's wheel of the release. The list does not show for which GPUs conda's build has code. If both
    are made for the same major version of CUDA, the wheel's capabilities stand in for them; otherwise they
    stay unknown."""
    listed = {p.name: p for p in facts.of(Package) if p.manager == "conda" and p.version}
    own = {listed[name].source.line for name in ("tensorflow", "tensorflow-base") if name in listed}
    build = next((b for b in facts.of(TensorFlowBuild) if b.gpu and b.source.line in own), None)
    if build is None:
        return None
    toolkit, cudnn = listed.get("cudatoolkit"), listed.get("cudnn")
    cuda = build.cuda or (toolkit.version if toolkit is not None else None)
    if cuda is None:
        return None
    from doctor.tables import own_builds
    from doctor.tables.versions import major, minor

    made = own_builds.build(
        tables, "tensorflow", known.version, platform, gpu=True, cuda=minor(cuda),
        cudnn=cudnn.version if cudnn is not None else None, source="conda's list of packages",
    )  # fmt: skip
    alike = row is not None and row.cuda is not None and major(row.cuda) == major(cuda)
    return replace(made, compute_capabilities=row.compute_capabilities) if row is not None and alike else made


def opening(facts: Facts, tables: Tables) -> tuple[Sequence[TensorFlowRelease], ...]:
    """For each library in the case whose version distinguishes builds, return the builds that load it."""
    names = _asked(facts)
    telling = [name for pattern in _TELLING for name in names if re.match(pattern, name.lower())]
    known = (tables.build_opening(name) for name in dict.fromkeys(telling))
    return tuple(builds for builds in known if builds)


def common(several: Sequence[Sequence[TensorFlowRelease]]) -> tuple[TensorFlowRelease, ...]:
    """Return the builds that load all the libraries. several: for each library, the builds that load it. A
    library is ignored if it would leave no build."""
    result: list[TensorFlowRelease] | None = None
    for builds in several:
        known = set(map(id, builds))  # the tables create each row only once
        result = list(builds) if result is None else [r for r in result if id(r) in known] or result
    return tuple(result or ())


def _asked(facts: Facts) -> list[str]:
    return [*(lib.name for lib in facts.of(LibraryLoaded)), *(lib.name for lib in facts.of(LibraryNotLoaded))]
