"""driver-not-loaded: the driver is installed, but its kernel module is not loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import Absent, DriverVersion, Fact, Kernel, Symptom
from doctor.findings import Finding, Step, manual
from doctor.remedies import commands, driver
from doctor.rules.driver.first_call import cuinit
from doctor.rules.driver.signs import (
    all_reserved,
    measured_driver,
    needed_modules,
    no_libcuda,
    nouveau,
)
from doctor.rules.gpu.registered import NO_TENSORFLOW_GPU, registered
from doctor.rules.linux import as_root, on_linux
from doctor.rules.registry import found, rule
from doctor.shell import piped, run

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "driver-not-loaded",
    "The NVIDIA driver is installed, but its kernel module is not loaded",
    explains=("driver-missing", "gpu-bad-state", "gpu-absent", *NO_TENSORFLOW_GPU),
    needs=(
        Absent,
        "gpu-bound-to-other-driver",
        "host-driver-down",
        "kernel-module-missing",
        "module-not-listed",
        "smi-no-driver",
        "kernel-driver-not-running",
        "open-modules-required",
        "closed-modules-required",
        "kernel-modules",
        "gpu-not-driven",
        "driver-module-for-other-kernel",
        "module-build-failed",
        "module-built",
    ),
)
def driver_not_loaded(case: Case) -> Iterator[Finding]:
    """The driver is installed, but its kernel module is not loaded.

    ## What it means
    The driver consists of user-space libraries and a kernel module, and the kernel module is not loaded: it
    was not built for the running kernel after an upgrade (DKMS), Secure Boot refuses it, or nouveau blocks
    it.

    ## What you see
    `NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver`; nvidia-container-cli's
    `driver not loaded` and `driver error: failed to process request`; libcuda loads, but `cuInit` fails with
    `kernel driver does not appear to be running on this host`.

    ## What to do
    Rebuild and load the module (`sudo dkms autoinstall`, `sudo modprobe nvidia`, restart); sign it or turn
    Secure Boot off; keep nouveau from loading.
    """
    facts = case.facts
    if registered(case) or case.platform == "wsl" or all_reserved(case):
        return
    if facts.kind == "report" and case.stated_absent("gpu") and not case.driver:
        return  # the reporter has no GPU, so no module is missing
    # messages about the host, even if a container printed them
    host = facts.symptoms("host-driver-down", "kernel-module-missing", "module-not-listed")
    stated = facts.kind == "report" and facts.has("smi-no-driver") and no_libcuda(case) is None
    if case.container and not host and not stated:
        return
    if facts.absent("nvidia gpu") is not None:  # there is no GPU that a driver could be loaded for
        return
    needed, reasons = needed_modules(case)
    undriven = facts.symptoms("gpu-not-driven")
    if undriven and not needed:
        yield _undriven(case, undriven[0])
        return
    smi = facts.symptoms("smi-no-driver", "host-driver-down")
    blocked = nouveau(case)
    refused = facts.symptoms("kernel-module-missing", "secure-boot-enabled")
    built = facts.symptoms("driver-module-for-other-kernel", "driver-module-not-loaded")
    other = _built_for_another_kernel(case)
    built = [*other, *built]
    opens = reasons if needed == "open" else []
    closes = reasons if needed == "closed" else []
    rejected = facts.symptoms("kernel-module-rejected")
    failed = facts.symptoms("module-build-failed")
    error = cuinit(
        case,
        "CUDA_ERROR_NO_DEVICE",
        "CUDA_ERROR_UNKNOWN",
        "CUDA_ERROR_NOT_INITIALIZED",
        "CUDA_ERROR_INVALID_DEVICE",
        "UNKNOWN_ERROR_303",
    )
    down: list[Fact] = [*facts.symptoms("kernel-driver-not-running")]
    if (module_absent := facts.absent("nvidia kernel module")) is not None:
        down.append(module_absent)
    user = next((d for d in facts.of(DriverVersion) if d.part == "user"), None)
    have_libcuda = user is not None or any(n.startswith(("libcuda.", "nvcuda")) for n in case.loaded)
    quiet = cuinit(case, "CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_UNKNOWN")
    missing = no_libcuda(case)
    # the files of a system that is not running: its kernel would find no module when it starts
    stopped = [symptom for symptom in (*built, *failed) if symptom.get("stopped")]
    unloaded = (down or stopped) and (have_libcuda or quiet) and missing is None
    if not (opens or closes or smi or host or unloaded or other):
        return
    kernel, state = (
        ("the next kernel to start,", "starts next") if stopped else ("the running kernel", "is running")
    )
    why = (
        "This GPU needs NVIDIA's open kernel modules, but the closed ones are loaded."
        if opens
        else "NVIDIA's open kernel modules are loaded. They support Turing and later GPUs; this GPU is older."
        if closes
        else "The kernel refused the module: Secure Boot is on, and the module's signing key is not enrolled."
        if rejected
        else f"The module could not be built for {kernel} {failed[0].get('running')}"
        + (", whose headers are not installed." if failed[0].get("headers") else ".")
        if failed
        else "The open-source driver nouveau controls the GPU, so NVIDIA's module cannot use it."
        if blocked
        else f"The module is built for kernel {built[0].get('built')} only, and"
        f" {built[0].get('running')} {state}."
        if built and built[0].get("built")
        else "The module is built for the running kernel but was not loaded; the kernel's"
        " log (dmesg) says why."
        if built and not refused
        else "The kernel refused the module, or the module was not built for this kernel."
        if refused
        else (
            "The module was probably not rebuilt after a kernel or driver upgrade, or Secure Boot refuses it."
        )
    )
    yield found(
        "driver-not-loaded",
        (
            "The driver is installed but does not drive this GPU. "
            if opens or closes
            else "This system is not running, and nothing was found that would load the driver. "
            if stopped
            else "The driver is installed. "
            if other and not (smi or host or unloaded)
            else "The driver's programs or libraries are installed, but no NVIDIA kernel module answers. "
        )
        + why,
        [
            *reasons,
            *rejected[:1],
            *failed[:1],
            *smi[:2],
            *host[:1],
            error,
            *down[:1],
            user,
            *refused[:2],
            *built[:1],
            *blocked[:1],
        ],
        title="NVIDIA's kernel module is loaded, but it does not drive this GPU" if opens or closes else "",
        confidence=(
            "likely"
            if stopped or other  # another package may have brought the module, already built
            else "certain"
            if facts.has("smi-no-driver")
            or opens
            or closes
            or refused
            or blocked
            or facts.absent("nvidia kernel module")
            or (case.gpus and not facts.has("host-driver-down"))
            else "likely"
        ),
        steps=commands.driver_install(case) if case.platform == "windows" else _steps(case, needed),
        verify=run("nvidia-smi"),
    )


def _built_for_another_kernel(case: Case) -> list[Symptom]:
    """Return the symptom for a report whose `dkms status` lists modules, but none for the kernel that `uname`
    prints; [] also if the driver answers: the distribution may have built its module."""
    listed, kernel = case.facts.symptoms("module-built"), case.facts.first(Kernel)
    answers = case.facts.has("smi-works") or measured_driver(case, "kernel", "any")
    if case.facts.kind != "report" or kernel is None or not listed or answers:
        return []
    if any(symptom.get("kernel") == kernel.release for symptom in listed):
        return []
    kernels = (("built", listed[0].get("kernel")), ("running", kernel.release))
    return [Symptom(listed[0].source, "driver-module-for-other-kernel", kernels)]


def _undriven(case: Case, symptom: Symptom) -> Finding:
    """Return the finding for a GPU that no driver controls, although the kernel module is loaded."""
    address = validated.gpu(symptom.get("bus"))
    bind = piped(run("echo", address or ""), run("sudo", "tee", "/sys/bus/pci/drivers/nvidia/bind"))
    log = piped(run("sudo", "dmesg"), run("grep", "NVRM"))
    return found(
        "driver-not-loaded",
        "The driver's kernel module is loaded, but it does not drive this GPU: either the GPU was unbound"
        " from the module, or the module does not support it. NVIDIA's open modules support Turing and later"
        " GPUs; Blackwell GPUs need them.",
        [symptom, *case.facts.of(DriverVersion)[:1]],
        title="NVIDIA's kernel module is loaded, but it does not drive this GPU",
        confidence="likely",
        steps=[
            *([as_root(bind, "binds the GPU to the driver")] if address else []),
            as_root(log, "shows why the driver refuses a GPU"),
        ],
        verify=run("nvidia-smi"),
    )


def _steps(case: Case, needed: str) -> list[Step]:
    """Return the steps that get the module loaded: those for the known reason, or those for the usual reasons
    if the reason is unknown. needed: the kind of NVIDIA's kernel modules that the GPU needs, "open"
    or "closed", if the wrong kind is the reason; otherwise ""."""
    facts = case.facts
    name = case.os.name if case.os else ""
    manager = commands.linux_family(case)
    if needed == "open":
        branch = (case.driver.version if case.driver else "").partition(".")[0]
        branch = branch if branch.isascii() and branch.isdecimal() else ""
        reboot = as_root(run("sudo", "reboot"), "loads them")
        return [driver.open_modules(name, manager, branch), reboot]
    first = [driver.without_nouveau(manager)] if nouveau(case) else []
    if needed == "closed":
        return driver.closed_modules(name, manager, commands.last_branch(case))
    rejected = facts.symptoms("kernel-module-rejected")
    if rejected or (facts.has("secure-boot-enabled") and facts.has("driver-module-not-loaded")):
        return [*first, *driver.enrol_key(rejected[0].get("key") if rejected else "")]
    unbuilt = next(iter(facts.symptoms("module-build-failed", "driver-module-for-other-kernel")), None)
    running = facts.first(Kernel)
    release = unbuilt.get("running") if unbuilt else running.release if running else ""
    headers = unbuilt is None or not unbuilt.get("headers")
    key = "/var/lib/shim-signed/mok/MOK.der" if "ubuntu" in name.lower() else "KEY"
    tool = (unbuilt.get("tool") if unbuilt else "") or "dkms"
    return [
        *first,
        *driver.build_module(tool, name, manager, release, headers),
        on_linux(
            run("mokutil", "--sb-state"),
            "shows whether Secure Boot is on; if it is, the kernel refuses an unsigned module",
        ),
        manual(
            "If Secure Boot is enabled, enrol the key that signs the module (run sudo mokutil --import"
            f" {key}, restart, and choose Enroll MOK in the blue menu), or turn Secure Boot off in the"
            " firmware's settings",
            platform="linux",
            root=True,
        ),
        *commands.driver_install(case),
    ]
