"""driver-library-mismatch: the driver's kernel module and its libraries have different versions."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import DriverMismatch, DriverVersion, LibraryFile
from doctor.findings import Finding, manual
from doctor.remedies import commands, containers
from doctor.rules.driver.signs import measured_driver
from doctor.rules.gpu.registered import NO_TENSORFLOW_GPU, registered
from doctor.rules.linux import as_root
from doctor.rules.registry import found, rule
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "driver-library-mismatch",
    "The NVIDIA driver's kernel module and libraries have different versions",
    explains=(
        "driver-not-loaded",
        "gpu-bad-state",
        "driver-too-old",
        "gpu-hidden",
        "gpu-absent",
        *NO_TENSORFLOW_GPU,
    ),
    needs=(DriverMismatch, "system-driver-mismatch", "compat-not-supported", DriverVersion),
)
def driver_library_mismatch(case: Case) -> Iterator[Finding]:
    """The driver's loaded kernel module and its user-space libraries have different versions.

    ## What it means
    An upgrade replaced the driver's files while the old kernel module stayed loaded; the new libraries refuse
    to work with it.

    ## What you see
    `Failed to initialize NVML: Driver/library version mismatch`, `kernel version X does not match DSO version
    Y`, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803), or, if both versions belong to one branch,
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE (804).

    ## What to do
    Restart the machine. If that is not possible, stop everything that uses the GPU, then run `sudo rmmod
    nvidia_uvm nvidia_drm nvidia_modeset nvidia` and `sudo modprobe nvidia`.
    """
    facts = case.facts
    stated = facts.first(DriverMismatch)
    codes = facts.symptoms("system-driver-mismatch", "compat-not-supported")
    kernel = measured_driver(case, "kernel")
    user = measured_driver(case, "user")
    differ = (
        kernel
        and user
        and kernel.version != user.version
        and not kernel.version.startswith(user.version)
        and not user.version.startswith(kernel.version)
    )
    if registered(case) or not (stated or codes or differ):
        return
    running = stated.kernel if stated and stated.kernel else kernel.version if kernel else ""
    installed = stated.user if stated and stated.user else user.version if user else ""
    versions = ""
    if running and installed:
        versions = f" The kernel module has version {running}, but the libraries have version {installed}."
    opened = user.source.where.partition(" ")[0] if user is not None else ""
    files = [lib for lib in facts.of(LibraryFile) if lib.name == "libcuda.so.1" and lib.path != opened]
    right = [lib for lib in files if running and lib.version == running]
    behind = next((lib for lib in right if lib.searched), None)
    steps = commands.reload_driver()
    why = "The driver was upgraded on disk, but the old kernel module is still loaded."
    if case.container and running and containers.runtime(case) in containers.OF_A_SYSTEM:
        why = "The host's kernel module and the container's own driver libraries are from different releases."
        steps = [
            manual(
                f"In the container, install the libraries of driver {running}, the host's release, without"
                " the kernel module: use NVIDIA's .run installer for that release with --no-kernel-module, or"
                " the distribution's packages for that release",
                platform="linux",
            )
        ]
    elif facts.kind == "machine" and behind is not None:
        steps = commands.off_the_path(case, posixpath.dirname(opened))
        why = f"The loader finds {opened}, a library from another driver version, before {behind.path}."
    elif facts.kind == "machine" and right:
        why = (
            f"{opened} is a link to a library from another driver version; the library that fits the"
            f" kernel module is {right[0].path}."
        )
        anew = "rebuilds the links, so that each points to the newest version of its library"
        steps = [as_root(run("sudo", "ldconfig"), anew)]
    yield found(
        "driver-library-mismatch",
        why + versions,
        # the kernel's log may come from an earlier start: it supports other evidence and proves nothing by
        # itself
        [
            stated,
            kernel if differ else None,
            user if differ else None,
            *codes[:2],
            *facts.symptoms("nvrm-api-mismatch")[:1],
        ],
        confidence="certain" if stated or differ else "likely",
        steps=steps,
        verify=run("nvidia-smi"),
    )
