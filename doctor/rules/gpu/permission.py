"""device-permission: the device files are missing, or this user is not allowed to open them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import Absent, CudaCallFailed, DeviceNode, EnvironmentKind, Fact, KernelModule
from doctor.findings import Finding, manual
from doctor.remedies import containers
from doctor.rules.driver.first_call import cuinit
from doctor.rules.gpu.registered import registered
from doctor.rules.linux import as_root
from doctor.rules.registry import found, rule
from doctor.shell import Literal, Path, run

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "device-permission",
    "The GPU's device files are missing, or this user is not allowed to open them",
    explains=("gpu-bad-state", "gpu-absent", "driver-missing", "gpu-hidden", "driver-not-loaded"),
    needs=(
        CudaCallFailed,
        "works-as-root",
        "permission-by-escalation",
        "device-node-permission",
        "uvm-not-loaded",
        "device-node-closed",
        "nvml-unknown-error",
        "device-node-missing",
        DeviceNode,
        Absent,
    ),
)
def device_permission(case: Case) -> Iterator[Finding]:
    """The device nodes /dev/nvidia* are missing, or this user is not allowed to open them.

    ## What it means
    CUDA needs /dev/nvidia0, /dev/nvidiactl and /dev/nvidia-uvm. A root process or `nvidia-modprobe` creates
    these nodes; groups, udev rules and a container's cgroup can deny a user access to them.

    ## What you see
    `cuInit` fails with CUDA_ERROR_UNKNOWN for a user but works with sudo; nvidia-smi works; `Insufficient
    Permissions`; in a running container, `Failed to initialize NVML: Unknown Error` after a systemd reload.

    ## What to do
    Run `nvidia-modprobe -u -c=0` once as root, join the group that owns the nodes (video, render), start the
    container again with `--device` options, or let the NVIDIA container toolkit manage cgroup v2."""
    facts = case.facts
    error = cuinit(case)
    refused = cuinit(case, "CUDA_ERROR_OPERATING_SYSTEM", "CUDA_ERROR_NOT_PERMITTED")
    root = facts.symptoms("permission-by-escalation")
    if error or facts.has("smi-no-devices"):
        root += facts.symptoms("works-as-root")
    denied = facts.symptoms("device-node-permission")
    down = facts.has("smi-no-driver", "kernel-module-missing", "host-driver-down")
    uvm = [] if down else facts.symptoms("uvm-not-loaded")
    shut = facts.symptoms("device-node-closed")
    if shut and (
        error
        or denied
        or facts.has("works-as-root", "permission-by-escalation", "nvml-unknown-error", "gpu-not-used")
    ):
        denied = [*shut, *denied]
    nodes = [n for n in facts.of(DeviceNode) if not n.accessible]
    lost = facts.symptoms("nvml-unknown-error") if facts.kind == "report" or case.container else []
    loaded = any(m.name == "nvidia" for m in facts.of(KernelModule))
    missing = facts.absent("device nodes") if loaded else None
    # if CUDA lists a GPU, the process has the nodes that it needs
    answered = any(s.get("count") != "0" for s in facts.symptoms("cuda-devices"))
    simulated = facts.has("simulated-gpu")  # a simulated driver opens no nodes
    beside = [] if answered or simulated else facts.symptoms("device-node-missing")
    if case.container and facts.absent("libcuda") is not None:
        missing, beside = None, []  # the container got no GPU, which the rule container-no-gpu handles
    # TensorFlow looks for the node after cuInit fails; without any driver, or without a GPU, cuInit fails
    # with another error
    unexplained = cuinit(case, "CUDA_ERROR_UNKNOWN")
    away: list[Fact] = [*facts.symptoms("no-device-node")] if unexplained and not case.container else []
    # a person passes the device nodes into LXC and systemd-nspawn: nvidia-uvm, which the first CUDA program
    # on the host creates, is missing if the container starts before that program
    if unexplained and facts.kind == "report":
        away += [k for k in facts.of(EnvironmentKind) if k.kind in ("lxc", "nspawn")][:1]
    signs = root or denied or nodes or lost or missing or beside or refused or uvm or away
    if registered(case) or not signs or facts.absent("nvidia gpu") is not None:
        return
    group = next((name for node in nodes if node.group and (name := validated.group(node.group))), None)
    steps = []
    if not (nodes and facts.kind == "machine") or missing or beside:
        steps.append(
            as_root(
                run("sudo", "nvidia-modprobe", "-u", "-c=0"), "creates /dev/nvidia-uvm and the other nodes"
            )
        )
    if nodes and facts.kind == "machine" and not group:
        opened = run("sudo", "chmod", "a+rw", *(Path(node.path) for node in nodes))
        why = (
            "lets all users open the nodes until the next restart; to make this permanent, remove"
            " NVreg_DeviceFileMode from the options in /etc/modprobe.d"
        )
        steps.append(as_root(opened, why))
    if nodes or denied or (root and root[0].get("group")):
        whose = (
            "adds this user to the group that owns the device files"
            if group
            else "adds this user to the group video, if it owns the device files (see ls -l /dev/nvidia*)"
        )
        join = run("sudo", "usermod", "-aG", group or "video", Literal('"$USER"'))
        steps.append(as_root(join, f"{whose}; then log in again"))
    if case.container and facts.kind == "machine" and (missing or beside):
        steps = containers.device_nodes(case)
    if lost:
        steps.insert(
            0,
            manual(
                "Restart the container. If Docker uses the systemd cgroup driver, create the container again"
                " and list the devices, so that the container keeps them: --device /dev/nvidia0 --device"
                " /dev/nvidiactl --device /dev/nvidia-uvm"
            ),
        )
    yield found(
        "device-permission",
        (
            "The driver works for root, but this user cannot open its device files."
            if root and not root[0].get("group")
            else "A device file has a major number from before the last restart, so no driver answers on it."
            if any(symptom.get("stale") for symptom in beside)
            else "The GPU's device files are missing, or this user is not allowed to open them."
        ),
        [*root[:1], *denied[:2], *nodes[:3], *lost[:1], *uvm[:1], *away[:1], *beside, missing, error],
        confidence="certain" if nodes or denied or missing or beside else "likely",
        steps=steps,
        verify=Literal("ls -l /dev/nvidia*"),
    )
