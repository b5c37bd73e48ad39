"""driver-library-mismatch: kernel module and libraries are of different versions."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import DriverMismatch, DriverVersion
from doctor.findings import Finding
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.rules.gpu.registered import NO_TENSORFLOW_GPU, registered
from doctor.rules.registry import found, rule
from doctor.shell import run


@rule(
    "driver-library-mismatch",
    "Kernel module and libraries of the NVIDIA driver differ in version",
    explains=("driver-not-loaded", "gpu-bad-state", "driver-too-old", "gpu-hidden", "gpu-absent", *NO_TENSORFLOW_GPU),
    needs=(DriverMismatch, "system-driver-mismatch", "compat-not-supported", DriverVersion),
)
def driver_library_mismatch(picture: Picture) -> Iterator[Finding]:
    """The running kernel module and the user-space libraries of the driver are of different versions.

    ## What it means
    The driver's packages were upgraded while the old kernel module went on running; the new libraries refuse to talk to it.

    ## How it shows
    `Failed to initialize NVML: Driver/library version mismatch`, `kernel version X does not match DSO version Y`,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803), and within one branch CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE (804).

    ## What to do
    Restart the machine. Where that is not possible: stop everything that uses the GPU, `sudo rmmod nvidia_uvm nvidia_drm
    nvidia_modeset nvidia`, `sudo modprobe nvidia`.
    """
    facts = picture.facts
    stated = facts.first(DriverMismatch)
    codes = facts.symptoms("system-driver-mismatch", "compat-not-supported")
    kernel = next((d for d in facts.of(DriverVersion) if d.part == "kernel" and d.rank == 0), None)
    user = next((d for d in facts.of(DriverVersion) if d.part == "user" and d.rank == 0), None)
    differ = (
        kernel
        and user
        and kernel.version != user.version
        and not kernel.version.startswith(user.version)
        and not user.version.startswith(kernel.version)
    )
    if registered(picture) or not (stated or codes or differ):
        return
    versions = ""
    a = stated.kernel if stated and stated.kernel else kernel.version if kernel else ""
    b = stated.user if stated and stated.user else user.version if user else ""
    if a and b:
        versions = f" The kernel module is {a}, the libraries are {b}."
    yield found(
        "driver-library-mismatch",
        "The driver was upgraded on disk while the old kernel module still runs." + versions,
        # the kernel's log may be of an earlier start: it bears out what was seen and shows nothing by itself
        [
            stated,
            kernel if differ else None,
            user if differ else None,
            *codes[:2],
            *facts.symptoms("nvrm-api-mismatch")[:1],
        ],
        confidence="certain" if stated or differ else "likely",
        steps=commands.reload_driver(),
        verify=run("nvidia-smi"),
    )
