"""gpu-reserved: the GPU is set aside for something else: a virtual machine, or MIG instances that nobody made."""

from __future__ import annotations

from collections.abc import Iterator

from doctor import validated
from doctor.facts import CudaCallFailed, Fact, Symptom
from doctor.findings import Finding, manual, shell
from doctor.picture import Picture
from doctor.rules.driver.signs import all_reserved
from doctor.rules.registry import found, rule
from doctor.shell import run


@rule(
    "gpu-reserved",
    "The GPU is reserved for virtual machines or for MIG instances",
    explains=("driver-not-loaded", "driver-missing", "gpu-bad-state", "gpu-hidden", "gpu-absent", "device-not-found"),
    needs=("gpu-bound-to-other-driver", "mig-enabled"),
)
def gpu_reserved(picture: Picture) -> Iterator[Finding]:
    """The GPU is reserved for virtual machines or for MIG instances.

    ## What it means
    The kernel gave the GPU to a driver that hands devices to virtual machines (vfio-pci, pci-stub), or MIG mode is on
    and no instance was made. The NVIDIA driver may run, and CUDA has no device.

    ## How it shows
    `Kernel driver in use: vfio-pci` in `lspci -nnk`; `MIG devices: No MIG devices found` in nvidia-smi, with
    CUDA_ERROR_NO_DEVICE from cuInit.

    ## What to do
    Use the GPU inside the virtual machine, or give it back to the host; make a MIG instance, or turn MIG mode off.
    """
    facts = picture.facts
    if all_reserved(picture):
        yield _kept_for_a_virtual_machine(facts.symptoms("gpu-bound-to-other-driver"))
        return
    undivided = [s for s in facts.symptoms("mig-enabled") if s.get("instances") == "0"]
    refusal = next((c for c in facts.of(CudaCallFailed) if c.error == "CUDA_ERROR_NO_DEVICE"), None)
    all_of_them = facts.kind == "machine" and len(undivided) >= max(1, len(picture.gpus))
    if undivided and (refusal or all_of_them):
        yield _no_instance(undivided[0], refusal)


def _kept_for_a_virtual_machine(taken: list[Symptom]) -> Finding:
    """Every GPU of the machine is bound to a driver that hands devices to virtual machines (vfio-pci, pci-stub)."""
    other = taken[0].get("driver")
    return found(
        "gpu-reserved",
        f"The kernel's driver {other} holds the GPU, so that it can be given to a virtual machine; the NVIDIA driver does "
        "not get it.",
        taken[:3],
        title="The GPU is kept for a virtual machine, away from the NVIDIA driver",
        steps=[
            shell(run("lspci", "-k", "-d", "10de:"), "shows the kernel driver in use of each NVIDIA device", platform="linux"),
            manual(
                f"Use the GPU inside the virtual machine, or give it back: take its id out of {other}'s options (kernel "
                "parameters, /etc/modprobe.d), make the initramfs anew, and restart",
                platform="linux",
            ),
        ],
        verify=run("nvidia-smi"),
    )


def _no_instance(mode: Symptom, refusal: Fact | None) -> Finding:
    """NVIDIA MIG User Guide, "Creating GPU Instances": without instances nothing can run on a GPU in MIG mode."""
    gpu = validated.gpu(mode.get("gpu")) or "0"
    return found(
        "gpu-reserved",
        f"GPU {gpu} is in MIG mode and no instance is made on it: until one is, or the mode is turned off, CUDA has no device there.",
        [mode, refusal],
        title="The GPU is in MIG mode and has no instance",
        confidence="certain",
        steps=[
            shell(
                run("nvidia-smi", "mig", "-i", gpu, "-lgip"),
                "shows which instances can be made, with the number of each profile",
            ),
            shell(
                run("sudo", "nvidia-smi", "mig", "-i", gpu, "-cgi", "0", "-C"),
                "makes one instance of the whole GPU",
                platform="linux",
                root=True,
            ),
            shell(
                run("sudo", "nvidia-smi", "-i", gpu, "-mig", "0"), "or turns MIG mode off", platform="linux", root=True
            ),
        ],
        verify=run("nvidia-smi", "-L"),
    )
