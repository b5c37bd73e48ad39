"""GPUs on the PCI bus, read from sysfs: works with no driver at all.

Layout: the kernel's Documentation/ABI/testing/sysfs-bus-pci; classes: the PCI Code and ID Assignment Specification
(base class 03h, display controller).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from doctor.facts import Absent, Fact, Gpu, OtherGpu, Source, Symptom, Unreadable
from doctor.probe.machine import Machine
from doctor.tables import Tables

DEVICES = "/sys/bus/pci/devices"
NVIDIA = "10de"
VENDORS = {"1002": "amd", "8086": "intel", "106b": "apple"}
OTHER_DRIVERS = ("vfio-pci", "pci-stub", "xen-pciback")
"""Drivers that keep a device for a virtual machine."""


@dataclass(frozen=True, slots=True)
class Display:
    """A display controller: its bus address, "vendor:device" in hex, class in hex, and its kernel driver's name."""

    bus_id: str
    pci_id: str
    pci_class: str
    driver: str | None


def displays(machine: Machine) -> tuple[Display, ...]:
    """The display controllers of all vendors. Raises FileNotFoundError where there is no PCI bus to look at."""
    if not machine.is_dir(DEVICES):
        raise FileNotFoundError(f"{DEVICES} is not there")
    found = []
    for bus_id in machine.names(DEVICES):
        folder = f"{DEVICES}/{bus_id}"
        pci_class = (machine.text(f"{folder}/class", 64) or "").strip().removeprefix("0x")
        if not pci_class.startswith("03"):
            continue
        vendor = (machine.text(f"{folder}/vendor", 64) or "").strip().removeprefix("0x")
        device = (machine.text(f"{folder}/device", 64) or "").strip().removeprefix("0x")
        link = machine.readlink(f"{folder}/driver")
        found.append(Display(bus_id, f"{vendor}:{device}", pci_class, posixpath.basename(link) if link else None))
    return tuple(found)


def gpus(machine: Machine, tables: Tables) -> Iterator[Fact]:
    """NVIDIA GPUs, GPUs of other vendors, and what keeps an NVIDIA GPU from its driver."""
    if machine.system == "macos":
        yield OtherGpu(Source("this is macOS"), "the GPU of this Mac", "apple")
        yield Absent(Source("this is macOS", None, "NVIDIA has made no driver since macOS 10.13"), "nvidia gpu")
        return
    if machine.system == "windows":
        return
    try:
        found = displays(machine)
    except FileNotFoundError as problem:
        if not _behind_wsl(machine):
            yield Unreadable(Source(DEVICES), "nvidia gpu", str(problem))
        return
    nvidia = [entry for entry in found if entry.pci_id.startswith(NVIDIA)]
    for entry in nvidia:
        rows = tables.gpu(entry.pci_id)
        name = rows[0].name if rows else None
        capability = rows[0].capability if rows else None
        source = Source(
            f"{DEVICES}/{entry.bus_id}",
            None,
            f"class {entry.pci_class}, {entry.pci_id}" + (f", {name}" if name else ""),
        )
        yield Gpu(source, name=name, compute_capability=capability, pci_id=entry.pci_id, bus_id=entry.bus_id)
        if entry.driver in OTHER_DRIVERS:
            detail = (("driver", entry.driver or ""), ("bus", entry.bus_id))
            yield Symptom(
                Source(f"{DEVICES}/{entry.bus_id}/driver", None, entry.driver or ""),
                "gpu-bound-to-other-driver",
                detail,
            )
    for entry in found:
        vendor = VENDORS.get(entry.pci_id[:4])
        if vendor:
            source = Source(f"{DEVICES}/{entry.bus_id}", None, f"class {entry.pci_class}, {entry.pci_id}")
            yield OtherGpu(source, f"display controller {entry.pci_id}", vendor)
    if not nvidia and not _behind_wsl(machine) and not _jetson(machine):
        count = f"{len(found)} display controllers, none of NVIDIA (vendor 10de)" if found else "no display controller"
        yield Absent(Source(DEVICES, None, count), "nvidia gpu")


def _behind_wsl(machine: Machine) -> bool:
    """In WSL2 the GPU is no PCI device: it comes through /dev/dxg."""
    return "microsoft" in (machine.text("/proc/sys/kernel/osrelease", 256) or "").lower()


def _jetson(machine: Machine) -> bool:
    return machine.processor == "aarch64" and machine.text("/etc/nv_tegra_release", 256) is not None
