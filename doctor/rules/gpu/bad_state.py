"""gpu-bad-state: GPU and driver are there, and do not answer properly."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import CudaCallFailed, Fact, GpuProcess, Symptom
from doctor.findings import Finding, manual, shell
from doctor.picture import Picture
from doctor.rules.gpu.forked import forked
from doctor.rules.gpu.registered import registered
from doctor.rules.registry import found, rule

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
        "mig-enabled",
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
    evidence: list[Fact] = list[Fact]()
    evidence += facts.symptoms(
        *FAILURES,
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
                shell("nvidia-smi", "does the driver still answer, and who else uses the GPU?"),
                shell(
                    "tfgpu-doctor check --deep --limit 3600",
                    "gives the first start an hour, for kernels that are compiled",
                ),
            ],
            verify="tfgpu-doctor check --deep",
        )
        return
    undivided = [s for s in facts.symptoms("mig-enabled") if s.get("instances") == "0"]
    no_device = next((c for c in facts.of(CudaCallFailed) if c.error == "CUDA_ERROR_NO_DEVICE"), None)
    if undivided and no_device and not evidence:
        yield _no_instance(undivided[0], no_device)
        return
    if facts.has("ecc-errors") and not evidence:
        yield _memory_errors(facts.symptoms("ecc-errors"))
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
    stopped = facts.symptoms("uvm-reloaded", "gpu-stopped", "gpu-not-used", "gpu-list-empty")
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
    if facts.has("system-not-ready"):
        steps.append(
            shell(
                "sudo systemctl enable --now nvidia-fabricmanager",
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
            shell("sudo nvidia-smi -c DEFAULT", "lets several processes use a GPU", platform="linux", root=True)
        )
        steps.append(
            shell("nvidia-smi", "shows which process holds the GPU, and the compute mode (E. Process, Prohibited)")
        )
    if (unknown is not None or slept) and picture.platform != "windows":
        steps.append(
            shell(
                "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm",
                "cures it after suspend",
                platform="linux",
                root=True,
            )
        )
    steps.append(
        manual(
            "Restart the machine; if it comes back, look at `dmesg | grep -i -e nvrm -e xid` and at the GPU's power and cooling"
            if picture.platform != "windows"
            else "Restart the machine; if it comes back, install the driver anew (clean installation)"
        )
    )
    yield found(
        "gpu-bad-state",
        "The driver is there and the GPU does not answer properly."
        + (
            " The GPU is in exclusive or prohibited compute mode, or another process has it to itself."
            if exclusive
            else ""
        ),
        evidence[:5],
        confidence="certain"
        if facts.has("gpu-lost", "xid", "ecc-error", "system-not-ready", "device-busy")
        else "likely",
        steps=steps,
        verify="nvidia-smi",
    )


def _no_instance(mode: Symptom, refusal: Fact) -> Finding:
    """NVIDIA MIG User Guide, "Creating GPU Instances": without instances nothing can run on a GPU in MIG mode."""
    gpu = mode.get("gpu")
    return found(
        "gpu-bad-state",
        f"GPU {gpu} is in MIG mode and no instance is made on it: until one is, or the mode is turned off, CUDA has no device there.",
        [mode, refusal],
        title="The GPU is in MIG mode and has no instance",
        confidence="certain",
        steps=[
            shell(
                f"nvidia-smi mig -i {gpu} -lgip", "shows which instances can be made, with the number of each profile"
            ),
            shell(
                f"sudo nvidia-smi mig -i {gpu} -cgi 0 -C",
                "makes one instance of the whole GPU",
                platform="linux",
                root=True,
            ),
            shell(f"sudo nvidia-smi -i {gpu} -mig 0", "or turns MIG mode off", platform="linux", root=True),
        ],
        verify="nvidia-smi -L",
    )


def _memory_errors(errors: list[Symptom]) -> Finding:
    gpu = errors[0].get("gpu")
    return found(
        "gpu-bad-state",
        "The GPU's memory has had uncorrectable errors since the driver was loaded. A program that meets one ends with "
        "CUDA_ERROR_ECC_UNCORRECTABLE; one that was started later may run, on the memory that is left.",
        errors[:4],
        title="The GPU's memory has uncorrectable errors",
        confidence="likely",
        steps=[
            shell(
                f"nvidia-smi -i {gpu} -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER",
                "shows which errors, and what is taken out of use",
            ),
            shell(
                f"sudo nvidia-smi -i {gpu} --gpu-reset",
                "puts spare memory in place; nothing may use the GPU",
                platform="linux",
                root=True,
            ),
            manual("Errors that come back after that are for the vendor: the card is to be replaced"),
        ],
        verify=f"nvidia-smi -i {gpu} -q -d ECC",
    )
