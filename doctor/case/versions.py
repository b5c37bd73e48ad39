"""Chooses the versions of CUDA, cuDNN and the driver of a case, from the facts that state them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.case.best import R, best, of_this_run
from doctor.case.libraries import of_cudnn, opened_cuda, searched_cuda
from doctor.facts import (
    INFERRED,
    PROSE,
    CudaVersion,
    CudnnMismatch,
    CudnnVersion,
    DriverMismatch,
    DriverVersion,
    Fact,
    LibraryLoaded,
    Package,
)

if TYPE_CHECKING:
    from doctor.case.case import Case


def _of_this_run(case: Case, facts: Sequence[R]) -> Sequence[R]:
    kept = of_this_run(facts, case.tensorflow)
    if not kept or len(case.releases) < 2:
        return kept
    from doctor.case.setups import of_setup

    return of_setup(kept, case.tensorflow, case.releases)


def cuda_of(case: Case) -> CudaVersion | None:
    """Return the installed CUDA version of a case, or None if it is not known."""
    packages = [
        CudaVersion(p.source, p.version)
        for p in case.facts.of(Package)
        if p.version and p.name in ("cudatoolkit", "cuda-runtime")
    ]
    versions = _of_this_run(case, case.facts.of(CudaVersion))
    stated = searched_cuda(case.env, versions) or best([*versions, *packages]) or opened_cuda(case.facts)
    hosted = case.hosted("cuda") if stated is None else None
    return CudaVersion(hosted[0].fact.source, hosted[1], rank=INFERRED) if hosted else stated


def cudnn_of(case: Case) -> CudnnVersion | None:
    """Return the installed cuDNN version of a case, or None if it is not known."""
    loaded = [CudnnVersion(m.source, m.loaded) for m in case.facts.of(CudnnMismatch)]
    packages = [
        CudnnVersion(p.source, p.version) for p in case.facts.of(Package) if p.version and of_cudnn(p)
    ]
    chosen = best([*loaded, *_of_this_run(case, case.facts.of(CudnnVersion)), *packages])
    if chosen is not None:
        return chosen
    for lib in case.facts.of(LibraryLoaded):
        number = re.match(r"libcudnn\.so\.(\d+(?:\.\d+)?)$|cudnn64_(\d)\.dll$", lib.name)
        if number:
            return CudnnVersion(lib.source, number[1] or number[2], lib.path, INFERRED)
    hosted = case.hosted("cudnn")
    return CudnnVersion(hosted[0].fact.source, hosted[1], rank=INFERRED) if hosted else None


def driver_of(case: Case) -> DriverVersion | None:
    """Return the NVIDIA driver of a case, or None if it is not known; the version of the loaded kernel module
    takes precedence over that of the libraries."""
    found = case.facts.of(DriverVersion)
    kernel = [d for d in found if d.part == "kernel"]
    whole = [d for d in found if d.part == "any"]
    whole = [
        d for d in whole if "." in d.version
    ] or whole  # a branch alone ("525") may be a driver that somebody only plans to install
    chosen = best(kernel) or best(whole)
    if chosen is None or chosen.rank >= PROSE:
        for mismatch in case.facts.of(DriverMismatch):
            if mismatch.kernel:
                return DriverVersion(mismatch.source, mismatch.kernel, "kernel")
        known = best(found)  # a list of packages is more reliable than a sentence
        return known if chosen is None or (known is not None and known.rank < chosen.rank) else chosen
    return chosen


def agreeing(case: Case) -> list[Fact]:
    """Return evidence in a report that the driver's kernel module and libraries have the same version.

    TensorFlow compares the versions only after a failed cuInit. It prints the result in a separate line after
    the two versions (stream_executor/cuda/cuda_diagnostics.cc), and many excerpts lack that line.
    """
    said: list[Fact] = [*case.facts.symptoms("driver-versions-agree")]
    if said or case.facts.kind != "report":
        return said
    parts = {d.part: d for d in case.facts.of(DriverVersion) if d.part != "any"}
    user, kernel = parts.get("user"), parts.get("kernel")
    return [user, kernel] if user and kernel and user.version == kernel.version else []
