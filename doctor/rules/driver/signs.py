"""What says that the driver answers or does not: cuInit's errors, its libraries, nvidia-smi's words."""

from __future__ import annotations

import re

from doctor.facts import Absent, CudaCallFailed, EnvironmentKind, Fact, Gpu, LibraryNotLoaded, LibraryWanted
from doctor.picture import Picture

NVML = "libnvidia-ml.so.1"
"""SONAME of the NVIDIA Management Library, which comes with the driver."""


NO_ANSWER = (
    "kernel-driver-not-running",
    "no-device-node",
    "smi-no-driver",
    "smi-not-found",
    "smi-no-devices",
    "wsl-no-adapter",
)
"""Symptoms of a driver that does not answer."""


def cuinit(picture: Picture, *errors: str) -> CudaCallFailed | None:
    """The first failed cuInit with one of these errors (any error where none is named)."""
    return next(
        (c for c in picture.facts.of(CudaCallFailed) if c.call == "cuInit" and (not errors or c.error in errors)), None
    )


def wants_nvml(picture: Picture) -> bool:
    """Whether this build registers no GPU without NVML, as 2.21 does; in a report, where it is named, it counts."""
    return picture.facts.kind != "machine" or any(
        wanted.name == NVML and wanted.needed for wanted in picture.facts.of(LibraryWanted)
    )


def no_libcuda(picture: Picture) -> LibraryNotLoaded | None:
    """The driver's library that did not open."""
    return next(
        (
            lib
            for lib in picture.missing("driver")
            if "could not load library" not in lib.source.text.lower() and (lib.name != NVML or wants_nvml(picture))
        ),
        None,
    )  # a cuDNN that wants the plain name libcuda.so says nothing about the driver


def no_driver_signs(picture: Picture) -> list[Fact]:
    """Everything that says that the driver does not answer: which of it decides what is for the rules."""
    signs: list[Fact] = [
        c
        for c in picture.facts.of(CudaCallFailed)
        if c.call == "cuInit" and c.error in ("UNKNOWN_ERROR_303", "CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_STUB_LIBRARY")
    ]
    signs += picture.missing("driver")
    signs += picture.facts.symptoms(*NO_ANSWER)
    signs += [
        a
        for a in picture.facts.of(Absent)
        if a.what in ("nvidia driver", "nvidia kernel module", "libcuda", "device nodes")
    ]
    return signs


def notebook_service(picture: Picture) -> EnvironmentKind | None:
    """Colab or Kaggle, where nothing but the name of the host speaks of a container: nobody starts that one by hand."""
    kinds = picture.facts.of(EnvironmentKind)
    containers = ("docker", "kubernetes", "singularity", "podman", "slurm")
    if any(k.kind in containers and not re.search(r"\b[0-9a-f]{12}\b", k.source.text) for k in kinds):
        return None
    return next((k for k in kinds if k.kind in ("colab", "kaggle")), None)


def all_reserved(picture: Picture) -> bool:
    """Whether every GPU of the case is bound to a driver that hands devices to virtual machines."""
    bound = picture.facts.symptoms("gpu-bound-to-other-driver")
    known = {gpu.bus_id for gpu in picture.facts.of(Gpu) if gpu.bus_id}
    return bool(bound) and len(bound) >= max(len(picture.gpus), len(known))
