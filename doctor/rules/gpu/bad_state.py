"""gpu-bad-state: GPU and driver are there, and do not answer properly."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import CudaCallFailed, Fact, GpuProcess, Symptom
from doctor.findings import Finding, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands
from doctor.rules.gpu import xid
from doctor.rules.gpu.ecc import memory_errors
from doctor.rules.gpu.forked import forked
from doctor.rules.gpu.registered import registered
from doctor.rules.registry import found, rule
from doctor.shell import run, sequence

EXPLAINED_CUINIT = frozenset(
    (
        "UNKNOWN_ERROR_303",
        "CUDA_ERROR_NO_DEVICE",
        "CUDA_ERROR_STUB_LIBRARY",
        "CUDA_ERROR_OUT_OF_MEMORY",
        "CUDA_ERROR_OPERATING_SYSTEM",
        "CUDA_ERROR_NOT_PERMITTED",
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "CUDA_ERROR_INSUFFICIENT_DRIVER",
    )
)
"""Errors of cuInit that tell their cause: other rules are for them."""

EXPLAINED_NVML = frozenset(
    (
        "NVML_ERROR_NOT_SUPPORTED",
        "NVML_ERROR_NO_PERMISSION",
        "NVML_ERROR_DRIVER_NOT_LOADED",
        "NVML_ERROR_LIBRARY_NOT_FOUND",
        "NVML_ERROR_FUNCTION_NOT_FOUND",
        "NVML_ERROR_LIB_RM_VERSION_MISMATCH",
        "NVML_ERROR_UNKNOWN",
    )
)
"""The same of nvmlInit and of a GPU's handle; an unknown error in a container is device-permission's."""

FAILURES = (
    "gpu-lost",
    "nvml-blocked",
    "xid",
    "ecc-error",
    "system-not-ready",
    "device-busy",
    "gpu-rejected-by-driver",
    "compute-mode-prohibited",
    "hung-driver",
    "driver-call-crashed",
    "mps-failed",
    "vgpu-unlicensed",
    "fabric-manager-missing",
)
"""Symptoms each of which says by itself that the GPU or its driver does not work."""


DEVICE_CALLS = ("cuDevicePrimaryCtx", "cuDeviceGet", "cuCtxCreate")
SILENT = frozenset(("CUDA_ERROR_UNKNOWN", "CUDA_ERROR_DEVICE_UNAVAILABLE"))
"""Calls that make or ask for a device, and the errors by which a driver that came up does not serve them.

CUDA_ERROR_NOT_INITIALIZED is none of them: TensorFlow asks for devices only after cuInit, and remembers in a variable that
it succeeded, so a worker that was forked from a process with TensorFlow in it gets that answer from a driver that is well.
"""


@rule(
    "gpu-bad-state",
    "The GPU or its driver is in a bad state",
    explains=(
        "driver-missing",
        "gpu-absent",
        "ptx-jit-or-kernel-crash",
        "cudnn-init-oom",
        "driver-not-loaded",
        "gpu-hidden",
    ),
    needs=(
        CudaCallFailed,
        *FAILURES,
        "compute-mode-exclusive",
        "nvml-unknown-error",
        "deep-hung",
        "after-suspend",
        "exclusive-mode",
        "session-failed",
        "ecc-errors",
    ),
)
def gpu_bad_state(picture: Picture) -> Iterator[Finding]:
    """The GPU or its driver is in a bad state.

    ## What it means
    Driver and libraries are there and match, and the GPU does not answer as it should: after suspend, after a crash (Xid), with
    memory errors (ECC), fallen off the bus, without its fabric manager, in an exclusive compute mode that another process uses, or
    in MIG mode without an instance.

    ## How it shows
    `failed call to cuInit: CUDA_ERROR_UNKNOWN`, `GPU is lost`, `NVRM: Xid`, CUDA_ERROR_SYSTEM_NOT_READY, `all CUDA-capable devices
    are busy or unavailable`.

    ## What to do
    After suspend reload `nvidia_uvm`; else restart the machine. Start the fabric manager on NVSwitch systems. Set the compute mode
    back to default. A GPU that keeps failing belongs to its vendor.
    """
    facts = picture.facts
    answers = facts.has("cuda-devices") and not facts.has("system-not-ready")  # CUDA started: the fabric is up
    evidence: list[Fact] = []
    xids = xid.of_machine(facts.symptoms("xid"))
    evidence += xids[:2]
    evidence += facts.symptoms(
        *(kind for kind in FAILURES if kind != "xid" and not (answers and kind == "fabric-manager-missing")),
        *(() if facts.kind == "report" or picture.container else ("nvml-unknown-error",)),
    )
    hung = facts.symptoms("deep-hung")
    if hung and not evidence:
        yield found(
            "gpu-bad-state",
            "TensorFlow was started and did not come to an end; the last step that it finished is named in the evidence. A "
            "GPU or driver that hangs does that, and so does the first start on a GPU that the build has no machine code for.",
            hung[:2],
            title="TensorFlow hangs",
            confidence="possible",
            steps=[
                shell(run("nvidia-smi"), "does the driver still answer, and who else uses the GPU?"),
                shell(
                    run("tfgpu-doctor", "check", "--deep", "--limit", "3600"),
                    "gives the first start an hour, for kernels that are compiled",
                ),
            ],
            verify=run("tfgpu-doctor", "check", "--deep"),
        )
        return
    if facts.has("ecc-errors") and not evidence:
        yield memory_errors(facts.symptoms("ecc-errors"))
        return
    if facts.of(GpuProcess):  # an exclusive GPU is no fault until somebody else has it
        evidence += (
            [*facts.symptoms("compute-mode-exclusive"), *facts.of(GpuProcess)[:2]]
            if facts.has("compute-mode-exclusive")
            else []
        )
    # every failure of cuInit that no other rule knows the cause of
    unknown = next(
        (c for c in facts.of(CudaCallFailed) if c.call == "cuInit" and c.error not in EXPLAINED_CUINIT), None
    )
    if facts.has("works-as-root", "permission-by-escalation") and unknown:
        return
    if facts.has("segfault", "session-failed") and facts.has("exclusive-mode"):
        evidence += [*facts.symptoms("session-failed")[:1], *facts.symptoms("exclusive-mode")[:2]]
    mps = next((c for c in facts.of(CudaCallFailed) if "_MPS_" in c.error), None)
    if unknown is not None and not registered(picture):
        evidence.append(unknown)
    unanswered = next(
        (c for c in facts.of(CudaCallFailed) if c.call.startswith(DEVICE_CALLS) and c.error in SILENT), None
    )
    if unanswered is not None and facts.kind == "report":
        evidence.append(unanswered)
    refused = next(
        (
            c
            for c in facts.of(CudaCallFailed)
            if c.call in ("nvmlInit", "nvmlDeviceGetHandleByIndex") and c.error not in EXPLAINED_NVML
        ),
        None,
    )
    if refused is not None and facts.kind == "machine" and not registered(picture):
        evidence.append(refused)
    unlicensed = next(  # CUDA's answer for a virtual GPU whose licence does not cover it
        (c for c in facts.of(CudaCallFailed) if c.call.startswith("cuda") and c.error.startswith("operation not supported")), None
    )
    if unlicensed is not None and not registered(picture):
        evidence.append(unlicensed)
    if mps is not None:
        evidence.append(mps)
    stopped = facts.symptoms("gpu-not-used", "gpu-list-empty")
    slept = facts.symptoms("after-suspend")[:1] if stopped and facts.kind == "report" and not facts.of(CudaCallFailed) else []
    evidence += [*slept, *stopped[:1]] if slept else []
    if not evidence:
        return
    if unknown is not None and unknown.error == "CUDA_ERROR_NOT_INITIALIZED" and evidence == [unknown] and picture.platform != "macos":
        yield forked(unknown, picture)
        return
    exclusive = facts.has("device-busy", "compute-mode-exclusive", "compute-mode-prohibited") or any(
        s.kind == "exclusive-mode" for s in evidence if isinstance(s, Symptom)
    )
    steps = []
    fabric = next((s for s in evidence if isinstance(s, Symptom) and s.kind == "fabric-manager-missing"), None)
    if fabric is not None and fabric.get("state") != "stopped":
        branch = (picture.driver.version if picture.driver else "").partition(".")[0]
        steps.append(
            shell(
                run("sudo", "apt", "install", f"nvidia-fabricmanager-{branch}"),
                "the fabric manager of the driver's very version",
                platform="linux",
                root=True,
            )
            if branch.isdecimal() and commands.linux_family(picture) == "apt"
            else manual(
                "Install the fabric manager of the driver's very version (nvidia-fabricmanager in NVIDIA's repository)",
                platform="linux",
            )
        )
    if fabric is not None or facts.has("system-not-ready"):
        steps.append(
            shell(
                run("sudo", "systemctl", "enable", "--now", "nvidia-fabricmanager"),
                "NVSwitch systems need it before CUDA starts",
                platform="linux",
                root=True,
            )
        )
    if unlicensed is not None or facts.has("vgpu-unlicensed"):
        steps.append(
            manual(
                "If the GPU is a virtual one, give the machine its vGPU licence: name the licence server to the guest's driver (nvidia-gridd on Linux, the NVIDIA control "
                "panel on Windows), and look with `nvidia-smi -q` for License Status: Licensed"
            )
        )
    if exclusive:
        steps.append(
            shell(
                run("sudo", "nvidia-smi", "-c", "DEFAULT"),
                "lets several processes use a GPU",
                platform="linux",
                root=True,
            )
        )
        steps.append(
            shell(
                run("nvidia-smi"),
                "shows which process holds the GPU, and the compute mode (E. Process, Prohibited)",
            )
        )
    if (unknown is not None or slept) and picture.platform != "windows":
        steps.append(
            shell(
                sequence(run("sudo", "rmmod", "nvidia_uvm"), run("sudo", "modprobe", "nvidia_uvm")),
                "cures it after suspend",
                platform="linux",
                root=True,
            )
        )
    steps += xid.steps(xids)
    steps.append(
        manual(
            "Restart the machine; if it comes back, look at `dmesg | grep -i -e nvrm -e xid` and at the GPU's power and cooling"
            if picture.platform != "windows"
            else "Restart the machine; if it comes back, install the driver anew (clean installation)"
        )
    )
    yield found(
        "gpu-bad-state",
        (
            "GPUs that are joined by NVSwitch serve CUDA only while the fabric manager runs: cuInit fails without it."
            if fabric is not None
            else "The driver is there and the GPU does not answer properly."
        )
        + xid.said(xids)
        + (
            " The GPU is in exclusive or prohibited compute mode, or another process has it to itself."
            if exclusive
            else ""
        ),
        evidence[:5],
        confidence="certain"
        if xids
        or facts.has("gpu-lost", "ecc-error", "system-not-ready", "device-busy", "fabric-manager-missing")
        else "likely",
        steps=steps,
        verify=run("nvidia-smi"),
    )
