"""Finds the libraries of a case that did not load, and the component to which each library belongs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import (
    FORM,
    INFERRED,
    OF_WORKING_RUN,
    CudaVersion,
    EnvVar,
    Facts,
    LibraryLoaded,
    LibraryNotLoaded,
    LibraryWanted,
    Package,
)
from doctor.tables.versions import minor

if TYPE_CHECKING:
    from doctor.case.case import Case
    from doctor.tables import Tables, TensorFlowRelease


_FOLDER = lazy.compile(r"/cuda-(\d{1,2}\.\d{1,2})(?![\d.])")
"""Matches the folder in which a CUDA toolkit is installed by default."""
_OWN = lazy.compile(
    r"(?:lib)?(?:tensorflow(?:_framework|_cc|_jni)?|jnitensorflow|_?pywrap_tensorflow\w{0,20})(?=[.\d]|$)"
)
"""Matches the file name of TensorFlow's own library, in Python and in every other language binding."""
SYSTEM = (
    *("libstdc++", "libgcc_s", "libgomp", "ld-linux", "ld-musl"),
    *("libc.", "libm.", "libdl.", "libpthread."),
)
"""The prefixes of the names of C and C++ runtime libraries."""


def not_loaded(facts: Facts) -> tuple[LibraryNotLoaded, ...]:
    """Return the libraries that did not load, without duplicates and without those that no GPU device
    needs."""
    optional = {wanted.name for wanted in facts.of(LibraryWanted) if not wanted.needed}
    seen: dict[str, LibraryNotLoaded] = {}
    tensorrt = [
        lib for lib in facts.of(LibraryNotLoaded) if lib.name.lower().startswith(("libnvinfer", "nvinfer"))
    ]
    asked = {(lib.source, lib.culprit) for lib in tensorrt}
    for lib in facts.of(LibraryNotLoaded):
        if lib not in tensorrt and lib.name not in optional and (lib.source, lib.name) not in asked:
            seen.setdefault(lib.name.lower(), lib)
    return tuple(seen.values())


TENSORFLOW_PACKAGES = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tf-nightly", "tf-nightly-gpu")
"""Python distributions that all install the folder `tensorflow`."""


def of_cudnn(package: Package) -> bool:
    """Whether a package is cuDNN: conda's, or one of NVIDIA's for pip."""
    return package.name == "cudnn" or package.name.startswith("nvidia-cudnn-cu")


def blamed_alone(name: str) -> bool:
    """Whether the absence of this library means that the library which needs it is broken. This holds for
    zlibwapi.dll, parts of cuDNN, libnvJitLink and libnvrtc."""
    lowered = name.lower()
    return "zlibwapi" in lowered or "cudnn_" in lowered or lowered.startswith(("libnvjitlink", "libnvrtc"))


NOT_LOADED = {
    "driver": "driver-library-not-loaded",
    "tensorflow": "tensorflow-library-not-loaded",
    "system": "system-library-not-loaded",
}
"""For each component, the name in `Case.seen` which shows that a library of the component did not load."""


def component(name: str, tables: Tables) -> str:
    """Return the component of a library: driver, cudnn, cuda, tensorflow, system or other."""
    lowered = name.lower()
    if _OWN.match(lowered):
        return "tensorflow"
    if lowered.startswith(SYSTEM):
        return "system"
    if lowered.startswith(("libcuda.", "nvcuda", "libnvidia-")):
        return "driver"
    if "cudnn" in lowered:
        return "cudnn"
    if lowered.startswith(
        (
            "libcu",
            "cu",
            "libnvjitlink",
            "libnvrtc",
            "nvrtc",
            "libnpp",
            "libnccl",
            "libnvtoolsext",
            "nvtoolsext",
        )
    ):
        return "cuda"
    return "cuda" if tables.library(name) is not None else "other"


def opened_cuda(facts: Facts) -> CudaVersion | None:
    """Return the CUDA release that the SONAMEs of loaded libraries show, or None. This works only up to CUDA
    10, whose SONAMEs contain both the major and the minor number."""
    for lib in facts.of(LibraryLoaded):
        number = re.match(r"lib(?:cudart|cublas|cufft|curand)\.so\.(\d+\.\d+)$", lib.name)
        if number and number[1] != "11.0":  # libcudart.so.11.0 is the name in every CUDA 11
            return CudaVersion(lib.source, number[1], lib.path, INFERRED)
    return None


def searched_cuda(env: Mapping[str, EnvVar], stated: Sequence[CudaVersion]) -> CudaVersion | None:
    """Return the CUDA version whose folder LD_LIBRARY_PATH names, if it names one only and a report states
    several: the loader takes that one, whatever nvcc or another folder has. Otherwise None."""
    variable = env.get("LD_LIBRARY_PATH")
    named = set(_FOLDER.findall(variable.value)) if variable is not None else set()
    several = {minor(version.version) for version in stated if version.rank < OF_WORKING_RUN}
    if variable is None or len(named) != 1 or len(several) < 2:
        return None
    return CudaVersion(variable.source, named.pop(), rank=FORM)


def in_unsearched_folders(case: Case, builds: Sequence[TensorFlowRelease]) -> list[Package]:
    """Return pip's packages with CUDA's runtime and cuBLAS in a report about builds that search none of pip's
    folders (their RUNPATH), if nothing leads the loader there; otherwise []."""
    facts = case.facts
    if facts.kind != "report" or case.platform not in (None, "linux", "wsl") or case.loaded:
        return []
    parts = ("nvidia-cuda-runtime-cu", "nvidia-cublas-cu")
    found = [p for p in facts.of(Package) if p.manager == "pip" and p.name.startswith(parts)]
    led = case.cuda is not None or "conda" in case.environments or case.env.get("LD_LIBRARY_PATH") is not None
    searched = any(build.extras.get("and-cuda") or build.pip_libraries_found for build in builds)
    return [] if len(found) < 2 or led or searched else found
