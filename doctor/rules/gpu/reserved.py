"""gpu-reserved: the GPU is reserved for a virtual machine, or for MIG instances that do not exist yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import validated
from doctor.facts import CudaCallFailed, Fact, Symptom
from doctor.findings import Finding, manual, shell
from doctor.rules.driver.signs import all_reserved
from doctor.rules.gpu.registered import registered
from doctor.rules.linux import as_root, on_linux
from doctor.rules.registry import found, rule
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "gpu-reserved",
    "The GPU is reserved for virtual machines or for MIG instances",
    explains=(
        "driver-not-loaded",
        "driver-missing",
        "gpu-bad-state",
        "gpu-hidden",
        "gpu-absent",
        "device-not-found",
    ),
    needs=("gpu-bound-to-other-driver", "mig-enabled"),
)
def gpu_reserved(case: Case) -> Iterator[Finding]:
    """The GPU is reserved for virtual machines or for MIG instances.

    ## What it means
    The kernel gave the GPU to a driver that passes devices to virtual machines (vfio-pci, pci-stub), or MIG
    mode is on but has no instance. The NVIDIA driver may be loaded, but CUDA has no device.

    ## What you see
    `Kernel driver in use: vfio-pci` in `lspci -nnk`; `MIG devices: No MIG devices found` in nvidia-smi, with
    CUDA_ERROR_NO_DEVICE from cuInit; `Channel allocation not allowed when MIG is enabled` from
    the kernel.

    ## What to do
    Use the GPU inside the virtual machine, or return it to the host; create a MIG instance, or turn MIG mode
    off.
    """
    facts = case.facts
    if all_reserved(case):
        yield _kept_for_a_virtual_machine(facts.symptoms("gpu-bound-to-other-driver"))
        return
    undivided = [s for s in facts.symptoms("mig-enabled") if s.get("instances") == "0"]
    refusal = next((c for c in facts.of(CudaCallFailed) if c.error == "CUDA_ERROR_NO_DEVICE"), None)
    kernel = next((s for s in undivided if s.get("refused")), None)
    if kernel and not registered(case):
        yield _no_instance(kernel, refusal)
        return
    all_of_them = facts.kind == "machine" and len(undivided) >= max(1, len(case.gpus))
    if undivided and (refusal or all_of_them):
        yield _no_instance(undivided[0], refusal)


def _kept_for_a_virtual_machine(taken: list[Symptom]) -> Finding:
    """Return the finding if every GPU in the machine is bound to a driver that passes devices to virtual
    machines (vfio-pci, pci-stub)."""
    other = taken[0].get("driver")
    return found(
        "gpu-reserved",
        f"The kernel driver {other} holds the GPU for a virtual machine, so the NVIDIA driver cannot use it.",
        taken[:3],
        title="The GPU is reserved for a virtual machine",
        steps=[
            on_linux(run("lspci", "-k", "-d", "10de:"), "shows which kernel driver each NVIDIA device uses"),
            manual(
                f"Use the GPU inside the virtual machine, or return it to the host: remove its PCI id from"
                f" {other}'s options (kernel parameters, /etc/modprobe.d), rebuild the initramfs, and"
                f" restart",
                platform="linux",
            ),
        ],
        verify=run("nvidia-smi"),
    )


def _no_instance(mode: Symptom, refusal: Fact | None) -> Finding:
    """The finding for a GPU in MIG mode without instances, on which nothing can run (NVIDIA MIG User Guide,
    "Creating GPU Instances")."""
    gpu = validated.gpu(mode.get("gpu")) or "0"
    halves = [number for number in mode.get("undivided").split() if number.isdecimal()]
    if halves:
        inside = run("sudo", "nvidia-smi", "mig", "-i", gpu, "-gi", ",".join(halves), "-cci")
        return found(
            "gpu-reserved",
            f"GPU {gpu} is divided into GPU instances without compute instances. CUDA has no device on it"
            f" until a compute instance is created.",
            [mode, refusal],
            title="The GPU's MIG instances have no compute instance",
            steps=[as_root(inside, "creates a compute instance in each GPU instance")],
            verify=run("nvidia-smi", "-L"),
        )
    which = f"GPU {gpu}" if mode.get("gpu") else "A GPU"
    return found(
        "gpu-reserved",
        f"{which} is in MIG mode but has no instance. CUDA has no device on it until an instance is created"
        f" or MIG mode is turned off.",
        [mode, refusal],
        title="The GPU is in MIG mode and has no instance",
        steps=[
            shell(
                run("nvidia-smi", "mig", "-i", gpu, "-lgip"),
                "lists the profiles of possible instances, each with its number",
            ),
            as_root(
                run("sudo", "nvidia-smi", "mig", "-i", gpu, "-cgi", "0", "-C"),
                "creates one instance that covers the whole GPU",
            ),
            as_root(run("sudo", "nvidia-smi", "-i", gpu, "-mig", "0"), "or turns MIG mode off"),
        ],
        verify=run("nvidia-smi", "-L"),
    )
