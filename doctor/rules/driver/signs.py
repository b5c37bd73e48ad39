"""Evidence on whether the driver answers: cuInit's errors, the driver's libraries, nvidia-smi's messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.facts import (
    MEASURED,
    Absent,
    CudaCallFailed,
    DriverVersion,
    EnvironmentKind,
    EnvVar,
    Fact,
    Gpu,
    KernelModule,
    LibraryNotLoaded,
    LibraryWanted,
)
from doctor.rules.driver.first_call import cuinit
from doctor.rules.gpu.registered import registered

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.compat import Answer

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


def measured_driver(case: Case, *parts: str) -> DriverVersion | None:
    """Return the first driver version that a program printed for one of these parts of the driver ("kernel",
    "user" or "any", if the program does not say which part); None if there is no such version."""
    return next((d for d in case.facts.of(DriverVersion) if d.part in parts and d.rank == MEASURED), None)


def nouveau(case: Case) -> Sequence[Fact]:
    """Return the signs that the open-source driver nouveau controls the GPU."""
    modules = [module for module in case.facts.of(KernelModule) if module.name == "nouveau"]
    return modules or case.facts.symptoms("nouveau")


def wants_nvml(case: Case) -> bool:
    """Whether this build needs NVML to register a GPU, as TensorFlow 2.21 does; always True for a report,
    which mentions NVML only if it matters."""
    return case.facts.kind != "machine" or any(
        wanted.name == NVML and wanted.needed for wanted in case.facts.of(LibraryWanted)
    )


def no_libcuda(case: Case) -> LibraryNotLoaded | None:
    """Return the driver library that did not load; None if all of them loaded, or if only NVML is missing and
    this build does not need it."""
    return next(
        (
            lib
            for lib in case.missing("driver")
            if "could not load library" not in lib.source.text.lower()
            and (lib.name != NVML or wants_nvml(case))
            and lib not in by_plain_name(case)
        ),
        None,
    )  # cuDNN's failed search for the plain name libcuda.so shows nothing about the driver


def by_plain_name(case: Case) -> list[LibraryNotLoaded]:
    """Return the failed searches for libcuda.so, without a number, in WSL2.

    TensorFlow opens libcuda.so.1; cuDNN 8 and programs that link to the driver look for the plain name. The
    loader's cache in WSL2 has only libcuda.so.1 (microsoft/WSL#8587), so such a failure does not show that
    the driver is out of reach.
    """
    if case.platform != "wsl":
        return []
    return [
        lib
        for lib in case.missing("driver")
        if lib.name == "libcuda.so" and "cannot open shared object file" in lib.source.text
    ]


def no_driver_signs(case: Case) -> list[Fact]:
    """Return all evidence that the driver does not answer; the rules decide which pieces count."""
    signs: list[Fact] = [
        c
        for c in case.facts.of(CudaCallFailed)
        if c.call == "cuInit"
        and c.error in ("UNKNOWN_ERROR_303", "CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_STUB_LIBRARY")
    ]
    signs += case.missing("driver")
    signs += case.facts.symptoms(*NO_ANSWER)
    signs += [
        a
        for a in case.facts.of(Absent)
        if a.what in ("nvidia driver", "nvidia kernel module", "libcuda", "device nodes")
    ]
    return signs


def without_compute(case: Case) -> EnvVar | None:
    """Return NVIDIA_DRIVER_CAPABILITIES if it keeps the compute libraries out of the container, else None."""
    chosen = case.env.get("NVIDIA_DRIVER_CAPABILITIES")
    return chosen if chosen is not None and not {"compute", "all"} & set(chosen.value.split(",")) else None


def unserved_gpus(case: Case, sign: str) -> list[tuple[Gpu, Answer]]:
    """Return every GPU with the tables' answer about it, if the driver in use supports none of the GPUs and
    every answer contains `sign`; otherwise an empty list. A GPU whose UUID the driver printed is
    supported."""
    from doctor import compat

    driver = case.driver
    if driver is None or registered(case):
        return []
    side = case.platform if case.platform in ("windows", "wsl") else "linux"
    found = []
    for gpu in case.gpus:
        possible = case.capabilities_of(gpu)
        answers = [compat.driver_serves_gpu(c, driver.version, case.tables, side) for c in possible]
        if not answers or gpu.uuid or any(a.verdict != "no" or sign not in a.reason for a in answers):
            return []
        found.append((gpu, answers[-1]))
    return found


def needed_modules(case: Case) -> tuple[str, list[Fact]]:
    """Return the kind of kernel modules that the GPU needs ("open" or "closed") if the driver has only the
    other kind, with the evidence: the driver's own message, or the kind in use beside a GPU that it does not
    drive. Otherwise ("", [])."""
    facts = case.facts
    if facts.has("cuda-devices"):
        return "", []
    for kind in ("open", "closed"):
        if said := facts.symptoms(f"{kind}-modules-required"):
            return kind, [said[0]]
    used = facts.symptoms("kernel-modules")
    if unserved_gpus(case, ""):
        return "", []  # the driver's release does not support the GPU with any kind of modules
    undriven = facts.symptoms("gpu-not-driven", "smi-no-devices", "smi-no-driver")
    rows = [case.tables.architecture(capability) for capability in case.capabilities]
    needs = {row.kernel_modules for row in rows if row is not None and row.kernel_modules}
    if not undriven or len(needs) != 1 or len({one.get("kind") for one in used}) != 1:
        return "", []
    needed = needs.pop()
    if needed in ("", used[0].get("kind")):
        return "", []
    return needed, [used[0], *case.gpus[:1], undriven[0]]


def notebook_service(case: Case) -> EnvironmentKind | None:
    """Return the fact that shows that the program ran on Colab or Kaggle; None if it did not, or if the user
    may have started a container there.

    If the only sign of a container is the host's name (12 hexadecimal digits), the container belongs to the
    service, not to the user.
    """
    kinds = case.facts.of(EnvironmentKind)
    containers = ("docker", "kubernetes", "singularity", "podman", "slurm")
    if any(k.kind in containers and not re.search(r"\b[0-9a-f]{12}\b", k.source.text) for k in kinds):
        return None
    return next((k for k in kinds if k.kind in ("colab", "kaggle")), None)


def all_reserved(case: Case) -> bool:
    """Whether every GPU in the case is bound to a driver that passes devices to virtual machines."""
    bound = case.facts.symptoms("gpu-bound-to-other-driver")
    known = {gpu.bus_id for gpu in case.facts.of(Gpu) if gpu.bus_id}
    return bool(bound) and len(bound) >= max(len(case.gpus), len(known))


def gives_driver(case: Case) -> bool:
    """Whether a report shows that Singularity passed the driver into the container: CUDA starts but sees no
    device.

    Without --nv, the container has no libcuda, and TensorFlow's stub returns error 303; the host's /dev is
    always visible.
    """
    error = cuinit(case, "CUDA_ERROR_NO_DEVICE") or case.facts.has("no-device-shown")
    missing = case.facts.has("nv-flag-missing", "kernel-driver-not-running", "no-device-node")
    return "singularity" in case.environments and case.facts.kind == "report" and bool(error) and not missing
