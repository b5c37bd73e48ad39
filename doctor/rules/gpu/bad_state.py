"""gpu-bad-state: the GPU and its driver are present but do not respond properly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import CudaCallFailed, Fact, GpuProcess, Symptom
from doctor.findings import Finding, manual, shell
from doctor.remedies import commands
from doctor.rules.driver.signs import needed_modules, unserved_gpus
from doctor.rules.gpu import xid
from doctor.rules.gpu.ecc import memory_errors
from doctor.rules.gpu.forked import forked
from doctor.rules.gpu.makers import only_another_makers
from doctor.rules.gpu.registered import registered
from doctor.rules.linux import as_root
from doctor.rules.registry import found, rule
from doctor.shell import run, sequence

if TYPE_CHECKING:
    from doctor.case import Case

EXPLAINED_CUINIT = (
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
"""Errors of cuInit that name their cause; other rules handle them."""

EXPLAINED_NVML = (
    "NVML_ERROR_NOT_SUPPORTED",
    "NVML_ERROR_NO_PERMISSION",
    "NVML_ERROR_DRIVER_NOT_LOADED",
    "NVML_ERROR_LIBRARY_NOT_FOUND",
    "NVML_ERROR_FUNCTION_NOT_FOUND",
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH",
    "NVML_ERROR_UNKNOWN",
)
"""Errors of nvmlInit, or of the request for a GPU's handle, that name their cause; other rules handle them.
device-permission handles an unknown error in a container."""

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
    "hardware-error",
)
"""Symptoms that each prove that the GPU or its driver does not work."""


DEVICE_CALLS = ("cuDevicePrimaryCtx", "cuDeviceGet", "cuCtxCreate")
"""The calls that create or request a device."""

REFUSALS = ("CUDA_ERROR_UNKNOWN", "CUDA_ERROR_DEVICE_UNAVAILABLE")
"""The errors with which a running driver refuses DEVICE_CALLS. CUDA_ERROR_NOT_INITIALIZED is not among them:
TensorFlow requests devices only after cuInit and remembers in a variable that cuInit succeeded, so a worker
forked from a process with TensorFlow gets this error from a healthy driver."""


def _rejected(case: Case) -> list[Fact]:
    """Return the evidence that the driver lists no GPU although the report names one, and neither its release
    nor the kind of its modules explains this; otherwise []."""
    listed = case.facts.symptoms("smi-no-devices")
    if not listed or not case.gpus or case.container or case.facts.kind != "report":
        return []
    served = not unserved_gpus(case, "") and not needed_modules(case)[0]
    return [listed[0], case.gpus[0]] if served else []


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
        "cuda-unknown-error",
        "deep-hung",
        "after-suspend",
        "exclusive-mode",
        "session-failed",
        "ecc-errors",
        "smi-no-devices",
    ),
)
def gpu_bad_state(case: Case) -> Iterator[Finding]:
    """The GPU or its driver is in a bad state.

    ## What it means
    The GPU or its driver does not respond properly; another version of the driver, CUDA or TensorFlow does
    not help. Possible reasons: a suspend or a crash (Xid), memory errors (ECC), a GPU that fell off the bus,
    a fabric manager that does not run, an exclusive compute mode while another process uses the GPU, or MIG
    mode without an instance.

    ## What you see
    `failed call to cuInit: CUDA_ERROR_UNKNOWN`, `GPU is lost`, `NVRM: Xid`, CUDA_ERROR_SYSTEM_NOT_READY, `all
    CUDA-capable devices are busy or unavailable`.

    ## What to do
    After a suspend, reload `nvidia_uvm`; otherwise restart the machine. Start the fabric manager on NVSwitch
    systems. Set the compute mode back to default. If a GPU keeps failing, return it to its vendor.
    """
    facts = case.facts
    if only_another_makers(case):
        return  # there is no NVIDIA GPU that could be in a bad state
    calls = facts.of(CudaCallFailed)
    ignored = {"xid"}
    if facts.has("cuda-devices") and not facts.has("system-not-ready"):
        ignored.add("fabric-manager-missing")  # CUDA started, so the fabric manager runs
    xids = xid.of_machine(facts.symptoms("xid"))
    evidence: list[Fact] = [
        *xids[:2],
        *facts.symptoms(
            *(kind for kind in FAILURES if kind not in ignored),
            *(() if facts.kind == "report" or case.container else ("nvml-unknown-error",)),
        ),
    ]
    hung = facts.symptoms("deep-hung")
    if hung and not evidence:
        yield found(
            "gpu-bad-state",
            "TensorFlow was started and did not finish; the evidence names the last step that it"
            " completed. Either the GPU or the driver hangs, or this is the first start on a GPU for which"
            " the build has no machine code.",
            hung[:2],
            title="TensorFlow hangs",
            confidence="possible",
            steps=[
                shell(
                    run("nvidia-smi"), "shows whether the driver still answers, and what else uses the GPU"
                ),
                shell(
                    run("tfgpu-doctor", "check", "--deep", "--limit", "3600"),
                    "allows the first start an hour to compile kernels",
                ),
            ],
            verify=run("tfgpu-doctor", "check", "--deep"),
        )
        return
    if facts.has("ecc-errors") and not evidence:
        yield memory_errors(facts.symptoms("ecc-errors"))
        return
    # an exclusive GPU is a fault only if another process uses it
    if facts.of(GpuProcess) and facts.has("compute-mode-exclusive"):
        evidence += [*facts.symptoms("compute-mode-exclusive"), *facts.of(GpuProcess)[:2]]
    # every failure of cuInit whose cause no other rule knows
    unknown = next((c for c in calls if c.call == "cuInit" and c.error not in EXPLAINED_CUINIT), None)
    if facts.has("works-as-root", "permission-by-escalation") and unknown:
        return
    if facts.has("segfault", "session-failed") and facts.has("exclusive-mode"):
        evidence += [*facts.symptoms("session-failed")[:1], *facts.symptoms("exclusive-mode")[:2]]
    if unknown is not None and not registered(case):
        evidence.append(unknown)
    if facts.kind == "report":
        evidence += [c for c in calls if c.call.startswith(DEVICE_CALLS) and c.error in REFUSALS][:1]
    nvml = ("nvmlInit", "nvmlDeviceGetHandleByIndex")
    refused = next((c for c in calls if c.call in nvml and c.error not in EXPLAINED_NVML), None)
    if refused is not None and facts.kind == "machine" and not registered(case):
        evidence.append(refused)
    # CUDA's answer for a virtual GPU whose licence does not include CUDA
    unlicensed = [
        c for c in calls if c.call.startswith("cuda") and c.error.startswith("operation not supported")
    ]
    if not registered(case):
        evidence += unlicensed[:1]
    evidence += [c for c in calls if "_MPS_" in c.error][:1]
    stopped = facts.symptoms("gpu-not-used", "gpu-list-empty")
    slept = []
    if stopped and facts.kind == "report" and not calls:
        slept = facts.symptoms("after-suspend")[:1]
    evidence += [*slept, *stopped[:1]] if slept else []
    rejected = _rejected(case) if not evidence else []
    evidence += rejected
    # CUDA returns this error for a state that it does not recognise
    unrecognised = [] if evidence or calls else facts.symptoms("cuda-unknown-error")
    evidence += unrecognised[:1]
    if not evidence:
        return
    if (
        unknown is not None
        and unknown.error == "CUDA_ERROR_NOT_INITIALIZED"
        and evidence == [unknown]
        and case.platform != "macos"
    ):
        yield forked(unknown, case)
        return
    shown = [s for s in evidence if isinstance(s, Symptom)]
    exclusive = facts.has("device-busy", "compute-mode-exclusive", "compute-mode-prohibited") or any(
        s.kind == "exclusive-mode" for s in shown
    )
    steps = []
    fabric = next((s for s in shown if s.kind == "fabric-manager-missing"), None)
    if fabric is not None and fabric.get("state") != "stopped":
        branch = (case.driver.version if case.driver else "").partition(".")[0]
        steps.append(
            as_root(
                run("sudo", "apt", "install", f"nvidia-fabricmanager-{branch}"),
                "installs the fabric manager in the same version as the driver",
            )
            if branch.isdecimal() and commands.linux_family(case) == "apt"
            else manual(
                "Install the fabric manager in exactly the same version as the driver (nvidia-fabricmanager"
                " in NVIDIA's repository)",
                platform="linux",
            )
        )
    if fabric is not None or facts.has("system-not-ready"):
        steps.append(
            as_root(
                run("sudo", "systemctl", "enable", "--now", "nvidia-fabricmanager"),
                "starts the fabric manager, which NVSwitch systems need before CUDA starts",
            )
        )
    if unlicensed or facts.has("vgpu-unlicensed"):
        steps.append(
            manual(
                "If the GPU is virtual, activate the machine's vGPU licence: set the licence server in the"
                " guest's driver (nvidia-gridd on Linux, the NVIDIA control panel on Windows), and check"
                " that `nvidia-smi -q` shows License Status: Licensed"
            )
        )
    if exclusive:
        steps += [
            as_root(run("sudo", "nvidia-smi", "-c", "DEFAULT"), "lets several processes use a GPU"),
            shell(
                run("nvidia-smi"),
                'shows which process uses the GPU, and the compute mode ("E. Process": one process only;'
                ' "Prohibited": none)',
            ),
        ]
    reset = refused is not None and refused.error == "NVML_ERROR_RESET_REQUIRED"
    if reset and case.platform != "windows":
        why = "resets the GPU; stop every program that uses it first. A restart of the machine does the same"
        steps.append(as_root(run("sudo", "nvidia-smi", "--gpu-reset"), why))
    elif (unknown is not None or slept) and case.platform != "windows":
        steps.append(
            as_root(
                sequence(run("sudo", "rmmod", "nvidia_uvm"), run("sudo", "modprobe", "nvidia_uvm")),
                "reloads the module, which helps after a suspend: first end every program that uses the GPU,"
                " and stop the containers that do, because the module stays loaded while it is in use"
                + ("; run this on the host" if case.container else ""),
            )
        )
    steps += xid.steps(xids)
    steps.append(
        manual(
            "Restart the machine; if the failure returns, check `dmesg | grep -i -e nvrm -e xid` and the"
            " GPU's power and cooling"
            if case.platform != "windows"
            else "Restart the machine; if the failure returns, reinstall the driver (clean installation)"
        )
    )
    yield found(
        "gpu-bad-state",
        (
            "GPUs connected by NVSwitch need a running fabric manager: without it, cuInit fails."
            if fabric is not None
            else "nvidia-smi lists no GPU, although the report names one: the driver could not start it. The"
            " driver's lines in the kernel log (NVRM) say why."
            if rejected
            else "After a suspend, the driver no longer initializes CUDA: its module nvidia_uvm does not get"
            " its state back."
            if slept and not xids
            else "The driver is installed, but the GPU does not respond properly."
        )
        + xid.meanings(xids)
        + (
            " The GPU is in exclusive or prohibited compute mode, or another process has exclusive use of it."
            if exclusive
            else ""
        ),
        evidence[:5],
        confidence=(
            "certain"
            if xids
            or facts.has("gpu-lost", "ecc-error", "system-not-ready", "device-busy", "fabric-manager-missing")
            else "possible"
            if unrecognised or rejected
            else "likely"
        ),
        steps=steps,
        verify=run("nvidia-smi"),
    )
