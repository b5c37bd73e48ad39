"""Distinguishes the kinds of NVIDIA GPU on Linux: on the PCI bus, behind WSL2's /dev/dxg, in a Tegra chip.

Only the first kind is a PCI device. Every probe uses this module to decide whether there is a GPU, and
whether a kernel module, device node or library is expected. Sources: Linux, drivers/hv/dxgkrnl (Microsoft's
WSL2 kernel) and arch/arm64/boot/dts/nvidia; NVIDIA Jetson Linux Developer Guide, releases 32 to 38; CUDA GPU
Compute Capability, Jetson products.
"""

from __future__ import annotations

import re

from doctor.backports import removeprefix
from doctor.probe.machine import Machine
from doctor.tables import Tables
from doctor.values import dataclass

PCI = "/sys/bus/pci/devices"
DXG = "/dev/dxg"
WSL = "/usr/lib/wsl"
TEGRA_NODES = ("/dev/nvhost-gpu", "/dev/nvgpu/igpu0/power", "/dev/nvhost-ctrl-gpu")
"""Device nodes of the Tegra GPU's driver nvgpu: JetPack 4 and 5, JetPack 6."""
CHIPS = {
    "tegra210": ("Jetson Nano or TX1", "5.3"),
    "tegra186": ("Jetson TX2", "6.2"),
    "tegra194": ("Jetson Xavier", "7.2"),
    "tegra234": ("Jetson Orin", "8.7"),
    "tegra264": ("Jetson Thor", "11.0"),
}
"""For each chip name in the device tree: the board family, and the compute capability of its GPU."""
SIMULATION = "TFGPU_DOCTOR_SIMULATION"
"""The environment variable that is set while this tool simulates a GPU: the path of the file that describes
the simulated machine."""


@dataclass(frozen=True, slots=True)
class Tegra:
    """A Tegra board: the file that identifies it, the text in that file, and the GPU's name and compute
    capability if known."""

    where: str
    text: str
    name: str | None
    capability: str | None


def pci_value(machine: Machine, bus_id: str, name: str) -> str:
    """A value that sysfs shows for a PCI device, such as "class": hex digits without 0x, or a word; "" if
    there is no such file. Raises OSError if it cannot be read."""
    return removeprefix((machine.text(f"{PCI}/{bus_id}/{name}", 64) or "").strip(), "0x")


def model_of(tables: Tables, pci_id: str) -> tuple[str | None, str | None]:
    """The name and the compute capability of the GPU with this PCI id ("10de:2484"), from the table; both
    None if the table lacks it."""
    row = next(iter(tables.gpu(pci_id)), None)
    return (row.name, row.capability) if row is not None else (None, None)


def in_wsl(machine: Machine) -> bool:
    """Whether the kernel is WSL's; also True in a container on WSL."""
    release = machine.text("/proc/sys/kernel/osrelease", 256) if machine.system == "linux" else None
    return "microsoft" in (release or "").lower()


def behind_dxg(machine: Machine) -> bool:
    """Whether WSL2's device for Windows' GPU exists, in WSL2 itself or in a container on WSL2."""
    return machine.system == "linux" and machine.exists(DXG)


def tegra(machine: Machine) -> Tegra | None:
    """The Tegra board, from its release file or the device tree; None if the machine is not one."""
    if machine.system != "linux" or machine.processor not in ("aarch64", ""):
        return None
    release = machine.text("/etc/nv_tegra_release", 1024)
    model = _of_device_tree(machine, "model").strip("\0\n ")
    compatible = _of_device_tree(machine, "compatible")
    chip = next((chip for chip in CHIPS if chip in compatible), None)
    named = re.search(r"jetson|nvidia (?:orin|xavier|thor)", model, re.IGNORECASE)
    if release is None and chip is None and named is None:
        return None
    name, capability = CHIPS[chip] if chip is not None else _by_model(model)
    where = (
        "/proc/device-tree/model"
        if model
        else "/etc/nv_tegra_release"
        if release
        else "/proc/device-tree/compatible"
    )
    text = model or (release or "").strip() or compatible.replace("\0", " ").strip()
    return Tegra(where, text, name, capability)


def _of_device_tree(machine: Machine, name: str) -> str:
    """A property of the board in the device tree; "" if there is none."""
    folders = ("/proc/device-tree", "/sys/firmware/devicetree/base")
    texts = (machine.text(f"{folder}/{name}", 1024) for folder in folders)
    return next(filter(None, texts), "")


def _by_model(model: str) -> tuple[str | None, str | None]:
    """The GPU's name and compute capability, from the model in the device tree."""
    words = re.findall(r"nano|tx1|tx2|xavier|orin|thor", model.lower())
    last = "orin" if "orin" in words else words[-1] if words else ""  # the Orin Nano is an Orin
    last = {"tx1": "nano"}.get(last, last)
    return next((row for row in CHIPS.values() if last and last in row[0].lower()), (None, None))


def tegra_nodes(machine: Machine) -> list[str]:
    """The existing device nodes of a Tegra GPU."""
    return [path for path in TEGRA_NODES if machine.exists(path)]


def driver_installed(machine: Machine) -> bool:
    """Whether one of the folders that distributions use contains a driver package's libcuda."""
    folders = ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib")
    return any(machine.glob(f"{folder}/libcuda.so.1") for folder in folders)


def nvidia_nodes(machine: Machine) -> list[str]:
    """The device nodes of individual GPUs that NVIDIA's PCI driver created or a container runtime passed
    in."""
    listed = [path for path in machine.glob("/dev/nvidia[0-9]*") if re.fullmatch(r"/dev/nvidia\d{1,4}", path)]
    # a simulated node can be examined by its path, but is not in the folder's list
    return listed or [path for path in ("/dev/nvidia0",) if machine.exists(path)]
