"""Writes the files by which programs recognise a machine with an NVIDIA driver. The preload library makes
them visible to the command."""

from __future__ import annotations

from pathlib import Path

from doctor.backports import removeprefix
from doctor.simulate.machine import SimulatedGpu, pci_address


def write_kernel_files(
    root: Path, gpus: tuple[SimulatedGpu, ...], driver: str | None, *, nodes: bool = True
) -> None:
    """Write /proc/driver/nvidia, /proc/modules, /dev/nvidia* and /sys/bus/pci/devices under `root`.

    driver: the version of the kernel module; None: no module is loaded, so only the PCI devices exist. nodes:
    whether to create the device files.
    """
    modules = "" if driver is None else "nvidia_uvm 1 0 - Live 0x0\nnvidia 2 1 nvidia_uvm, Live 0x0\n"
    _write(root, "/proc/modules", modules)
    for index, gpu in enumerate(gpus):
        folder = f"/sys/bus/pci/devices/{pci_address(index)}"
        device = {
            "vendor": "0x10de",
            "device": "0x" + removeprefix(gpu.pci_id, "10de:"),
            "subsystem_vendor": "0x10de",
            "subsystem_device": "0x0000",
            "class": "0x030000",
            "revision": "0xa1",
            "numa_node": "0",
            "enable": "1",
        }
        for name, value in device.items():
            _write(root, f"{folder}/{name}", value + "\n")
        if driver is not None:
            (root / folder[1:] / "driver").symlink_to("../../../../bus/pci/drivers/nvidia")
    (root / "sys/bus/pci/devices").mkdir(parents=True, exist_ok=True)
    if driver is None:
        return
    # TensorFlow's cuda_diagnostics.cc looks for this form of the line: "Kernel Module", then the version
    version = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  (simulated by tfgpu-doctor)"
    _write(root, "/proc/driver/nvidia/version", f"{version}\nGCC version:\n")
    _write(root, "/proc/driver/nvidia/params", "DeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n")
    _write(root, "/sys/module/nvidia/version", driver + "\n")
    _write(root, "/sys/module/nvidia/initstate", "live\n")
    for index, gpu in enumerate(gpus):
        about = (
            f"Model: \t\t {gpu.name}\nGPU UUID: \t {gpu.uuid(index)}\n"
            f"Bus Location: \t {pci_address(index)}\nDevice Minor: \t {index}\n"
        )
        _write(root, f"/proc/driver/nvidia/gpus/{pci_address(index)}/information", about)
    if nodes:
        for name in ("nvidiactl", "nvidia-uvm", *(f"nvidia{index}" for index in range(len(gpus)))):
            _write(root, f"/dev/{name}", "")


def _write(root: Path, path: str, text: str) -> None:
    target = root / path[1:]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
