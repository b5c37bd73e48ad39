"""driver-missing: no NVIDIA driver is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Absent, CudaCallFailed, DriverVersion, Fact, KernelModule, Unreadable
from doctor.findings import Finding
from doctor.remedies import commands
from doctor.remedies.conda import sees_a_driver
from doctor.rules.driver.first_call import cuinit
from doctor.rules.driver.signs import NO_ANSWER, measured_driver, no_libcuda, nouveau
from doctor.rules.gpu.registered import NO_TENSORFLOW_GPU, registered
from doctor.rules.registry import found, rule
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "driver-missing",
    "No NVIDIA driver is installed",
    explains=NO_TENSORFLOW_GPU,
    needs=(
        "driver-library-not-loaded",
        CudaCallFailed,
        Absent,
        KernelModule,
        "smi-not-found",
        "driver-said-missing",
        "conda-no-driver",
        "gpu-unclaimed",
        "nouveau",
    ),
)
def driver_missing(case: Case) -> Iterator[Finding]:
    """No NVIDIA driver is installed, although the machine has a GPU or should have one.

    ## What it means
    `libcuda.so.1` (`nvcuda.dll` on Windows) comes with the driver, never with CUDA, pip or conda. Without
    this library, no CUDA program finds a GPU.

    ## What you see
    `Could not load dynamic library 'libcuda.so.1'`, `failed call to cuInit: UNKNOWN ERROR (303)`,
    `nvidia-smi: command not found`.

    ## What to do
    Install the distribution's NVIDIA driver and restart. On a machine without an NVIDIA GPU, ignore the
    messages.
    """
    facts = case.facts
    lib = no_libcuda(case)
    smi = facts.symptoms("smi-not-found")
    absent = facts.absent("nvidia driver") or facts.absent("libcuda")
    # the stub library alone proves nothing: it may hide an installed driver or stand in for a missing one
    hides = facts.kind == "report" and not (lib or smi or facts.has(*NO_ANSWER))
    error = cuinit(case, "UNKNOWN_ERROR_303", *(() if hides else ("CUDA_ERROR_STUB_LIBRARY",)))
    if (
        (registered(case) and not (lib and _only_listed_before(case, lib)))
        or facts.absent("nvidia gpu")
        or facts.has("plugin-device")
    ):
        return
    kernel_runs = measured_driver(case, "kernel", "any") or any(
        m.name == "nvidia" for m in facts.of(KernelModule)
    )
    stated: list[Fact] = list(
        facts.symptoms("driver-said-missing")
        if case.gpus or facts.has("gpu-not-used", "uses-cpu", "gpu-list-empty")
        else [s for s in facts.symptoms("driver-said-missing") if s.get("stated")]
    )
    free = nouveau(case) if facts.kind == "report" and not facts.of(DriverVersion) else []
    stated += [*facts.symptoms("gpu-unclaimed"), *free]
    conda = facts.symptoms("conda-no-driver")
    if not (lib or error or absent or smi or stated or conda) or kernel_runs:
        return
    steps = sees_a_driver(case)
    wanted = case.gpus or facts.has("gpu-not-used", "gpu-list-empty", "gpu-not-found")
    alone = not (lib or error or absent or wanted)
    # a report may come from a machine without a GPU, where the same messages are harmless; and another
    # framework also says "no driver" if its loader does not find an installed one; with a driver that the
    # report names, the log may come from a container
    gone = lib is not None and lib.cause == "absent"
    doubted = facts.kind == "report" and (facts.of(DriverVersion) or facts.has("mentions-container"))
    # a machine whose GPU could not be looked for may have none, and needs no driver then
    doubted = doubted or any(fact.what == "nvidia gpu" for fact in facts.of(Unreadable))
    proved = (absent or (gone and (facts.kind == "machine" or wanted or smi))) and not doubted
    yield found(
        "driver-missing",
        (
            "conda sees no NVIDIA driver here, so it offers no GPU build."
            if conda and not (lib or error or absent)
            else "No kernel driver has claimed the NVIDIA card."
            if facts.has("gpu-unclaimed") and not (lib or error or absent or smi)
            else "The open-source driver nouveau controls the card, and CUDA does not work with it."
            if free and not (lib or error or absent or smi)
            else "The driver's own library is not on this machine"
            + (" and its kernel module is not loaded" if facts.has("kernel-driver-not-running") else "")
            + "; CUDA packages do not contain the driver. If the machine has no NVIDIA GPU, messages about"
            " the driver are harmless."
        ),
        [
            lib,
            error,
            *smi[:1],
            absent,
            *facts.symptoms("kernel-driver-not-running", "no-device-node")[:2],
            *stated[:1],
            *conda[:1],
        ],
        confidence="certain" if proved else "possible" if alone and not free else "likely",
        steps=steps if conda and case.container else [*steps, *commands.driver_install(case)],
        verify=run("nvidia-smi"),
    )


def _only_listed_before(case: Case, lib: Fact) -> bool:
    """Whether the only sign of a GPU is a list of devices above the message about the driver's missing
    library. Such a list may come from another machine."""
    at = lib.source.line
    return at is not None and all(
        not gpu.name and gpu.source.line is not None and gpu.source.line < at for gpu in case.registered
    )
