"""driver-libcuda-missing: the kernel module is loaded, but the process does not find the driver's libcuda."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Absent, CudaCallFailed, DriverVersion, Fact, KernelModule
from doctor.findings import Finding, Step, manual
from doctor.remedies import commands, containers
from doctor.rules.driver.first_call import cuinit
from doctor.rules.driver.signs import measured_driver, no_libcuda, without_compute
from doctor.rules.gpu.registered import NO_TENSORFLOW_GPU, registered
from doctor.rules.linux import as_root, on_linux
from doctor.rules.registry import found, rule
from doctor.shell import Literal, piped, run

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "driver-libcuda-missing",
    "The driver runs, but this process finds no libcuda.so.1",
    explains=("driver-missing", *NO_TENSORFLOW_GPU),
    needs=("driver-library-not-loaded", CudaCallFailed, Absent, "smi-cuda-unknown", "libcuda-not-found"),
)
def driver_libcuda_missing(case: Case) -> Iterator[Finding]:
    """The kernel module is loaded, but the process finds no `libcuda.so.1`.

    ## What it means
    The driver's compute library is not installed (distributions package it separately from the kernel
    module), is not on the loader's search path, or is not mounted into the container
    (`NVIDIA_DRIVER_CAPABILITIES` without `compute`).

    ## What you see
    `nvidia-smi` works or /proc/driver/nvidia/version exists, and `libcuda.so.1: cannot open shared object
    file` appears.

    ## What to do
    Install the package that contains libcuda, in the kernel module's version (Debian: libcuda1, Ubuntu:
    libnvidia-compute-NNN), and run `ldconfig`. In a container, request the `compute` capability.
    """
    facts = case.facts
    unknown = next(iter(facts.symptoms("smi-cuda-unknown")), None)
    # TensorFlow's stub, which answers if libcuda is missing, returns 303 (stream_executor/cuda/cuda_stub.cc)
    stub = cuinit(case, "UNKNOWN_ERROR_303", "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED")
    if case.container or facts.has("smi-not-found"):
        stub = None  # the stub may have run on another system than the driver that answers
    lib = no_libcuda(case) or facts.absent("libcuda") or unknown or stub
    if not _libcuda_answered(case):
        lib = lib or next(iter(facts.symptoms("libcuda-not-found")), None)
    kernel = measured_driver(case, "kernel", "any")
    module = next((m for m in facts.of(KernelModule) if m.name == "nvidia"), None)
    excluded = without_compute(case)
    nix = [] if case.container or facts.has("smi-not-found") else facts.symptoms("nix")[:1]
    answers: list[Fact] = []
    if facts.kind == "report" and not case.container:
        shown = [d for d in facts.of(DriverVersion) if "nvidia-smi" in d.source.text.lower()]
        answers = [*facts.symptoms("smi-works")[:1], *shown[:1]]
    if registered(case) or lib is None or not (kernel or module or excluded or nix or answers):
        return
    family = commands.linux_family(case)
    name = {"apt": "libnvidia-compute", "dnf": "nvidia-driver-cuda-libs"}.get(family, "")
    driver = kernel or case.driver
    branch = driver.version.split(".")[0] if driver else ""
    steps = []
    maker = (nix[0].get("maker") if nix else "") or "Nix"
    if nix:
        steps += _nix(case) if maker == "Nix" else _guix(case)
    elif case.container or excluded:
        steps += containers.compute_libraries(case)
    elif name == "libnvidia-compute" and branch.isdecimal() and branch.isascii():
        steps.append(
            as_root(
                run("sudo", "apt", "install", f"libnvidia-compute-{branch}"),
                "installs libcuda on Ubuntu; on Debian, install the package libcuda1 instead",
            )
        )
    elif name == "libnvidia-compute":
        steps.append(
            manual(
                "Install libnvidia-compute-NNN, where NNN is the first part of the driver's version that"
                " nvidia-smi shows (on Debian, install libcuda1)",
                platform="linux",
            )
        )
    elif name:
        steps.append(
            as_root(run("sudo", "dnf", "install", name), "installs the package that contains libcuda")
        )
    if not nix and not (case.container and facts.kind == "machine"):
        steps.append(
            as_root(
                run("sudo", "ldconfig"), "rebuilds the loader's cache, so that the loader finds the library"
            )
        )
    text = (
        "The NVIDIA kernel module is loaded, but this process cannot load the driver's library libcuda.so.1."
    )
    title = ""
    if nix:
        title = f"This process finds no libcuda.so.1: programs built with {maker} search other folders"
        where = (
            "NixOS keeps it in /run/opengl-driver/lib"
            if maker == "Nix"
            else "Guix System keeps it in /run/current-system/profile/lib"
        )
        text = (
            f"Programs built with {maker} do not search the system's folders for libcuda.so.1, the driver's"
            f" library: {where}; other systems keep it in other folders."
        )
    yield found(
        "driver-libcuda-missing",
        text,
        [lib, kernel, module, *answers, excluded, *nix],
        # in a container, nvidia-smi shows no CUDA version if the driver's libraries are not mounted, whatever
        # the fault
        confidence=(
            "likely"
            if lib is stub or not (kernel or module or excluded)
            else "possible"
            if lib is unknown and case.container and not excluded
            else "certain"
        ),
        title=title,
        steps=steps,
        verify=run("nvidia-smi") if nix else piped(run("ldconfig", "-p"), run("grep", "libcuda.so.1")),
    )


def _nix(case: Case) -> list[Step]:
    """The steps after which a program that Nix built finds the driver's libraries, on NixOS and elsewhere."""
    own = case.os is None or "nixos" in case.os.name.lower()
    steps = [
        on_linux(
            Literal("export LD_LIBRARY_PATH=/run/opengl-driver/lib:$LD_LIBRARY_PATH"),
            "NixOS: in the shell from which the program starts, or in its shell.nix",
        ),
        manual(
            'On NixOS, if nvidia-smi is missing too, set services.xserver.videoDrivers = [ "nvidia" ]; and'
            " hardware.graphics.enable = true; in configuration.nix, then run nixos-rebuild switch",
            platform="linux",
        ),
    ]
    other = on_linux(
        run("nixglhost", *commands.list_gpus(case).argv),
        "on another system with Nix: nix-gl-host (github.com/numtide/nix-gl-host) lets Nix's programs use"
        " the system's driver",
    )
    return [*steps, other] if own else [other]


def _guix(case: Case) -> list[Step]:
    """The steps after which a program that Guix built finds the driver's libraries. Guix's loader reads
    LD_LIBRARY_PATH, but Guix's programs would break if the variable listed a folder with the system's C
    library."""
    if case.os is not None and "guix" in case.os.name.lower():
        return [
            on_linux(
                Literal("export LD_LIBRARY_PATH=/run/current-system/profile/lib"),
                "in the shell from which the program starts; the driver is one of the system's packages",
            )
        ]
    return [
        on_linux(
            Literal(
                "mkdir -p ~/.local/lib/nvidia && for name in libcuda.so.1 libnvidia-ml.so.1"
                " libnvidia-ptxjitcompiler.so.1; do ln -sf"
                ' "$(/sbin/ldconfig -p | grep -F "$name (libc6," | grep -m1 -o "/.*")"'
                " ~/.local/lib/nvidia/; done"
            ),
            "links only the driver's libraries into a new folder: the system's library folder also holds its"
            " C library, which would break Guix's programs",
        ),
        on_linux(
            Literal("export LD_LIBRARY_PATH=~/.local/lib/nvidia"),
            "in the shell from which the program starts",
        ),
    ]


def _libcuda_answered(case: Case) -> bool:
    """Whether cuInit's error has a name. Only a real libcuda names its error; the stub that TensorFlow calls
    if libcuda is missing does not.

    The stub's error is CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 303 (stream_executor/cuda/cuda_stub.cc), and is
    printed as `UNKNOWN ERROR (303)` if cuGetErrorName is missing as well. TensorFlow's own diagnosis, which
    follows, looks for a file named libcuda.so among the loaded files and may miss it.
    """
    failed = cuinit(case)
    return (
        failed is not None
        and failed.error.startswith("CUDA_ERROR_")
        and failed.error not in ("CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "CUDA_ERROR_STUB_LIBRARY")
    )
