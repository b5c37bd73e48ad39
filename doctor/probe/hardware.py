"""Finds GPUs as the kernel shows them: those on the PCI bus, which sysfs lists even without a driver, and
those that are not on a bus.

Layout: the kernel's Documentation/ABI/testing/sysfs-bus-pci; classes: the PCI Code and ID Assignment
Specification (base class 03h, display controller).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from doctor.facts import Absent, DriverVersion, Fact, Gpu, OtherGpu, Source, Symptom, Unreadable
from doctor.probe import containers
from doctor.probe.gpu_devices import (
    DXG,
    PCI,
    SIMULATION,
    behind_dxg,
    driver_installed,
    in_wsl,
    model_of,
    nvidia_nodes,
    pci_value,
    tegra,
)
from doctor.probe.machine import Machine
from doctor.probe.missing import missing
from doctor.probe.power import switched_off
from doctor.probe.system import SYSTEM_VERSION, macos_release
from doctor.tables import Tables
from doctor.values import dataclass

GPUS = "/proc/driver/nvidia/gpus"
NVIDIA = "10de"
VENDORS = {"1002": "amd", "8086": "intel", "106b": "apple"}
OTHER_DRIVERS = ("vfio-pci", "pci-stub", "xen-pciback")
"""Drivers that reserve a device for a virtual machine."""


@dataclass(frozen=True, slots=True)
class Display:
    """A display controller: its bus address, "vendor:device" in hex, class in hex, and its kernel driver's
    name."""

    bus_id: str
    pci_id: str
    pci_class: str
    driver: str | None


def displays(machine: Machine) -> tuple[Display, ...]:
    """The display controllers of all vendors. Raises OSError if the bus cannot be read."""
    found = []
    for bus_id in machine.names(PCI):
        pci_class = pci_value(machine, bus_id, "class")
        if pci_class.startswith("03"):
            pci_id = f"{pci_value(machine, bus_id, 'vendor')}:{pci_value(machine, bus_id, 'device')}"
            link = machine.readlink(f"{PCI}/{bus_id}/driver")
            found.append(Display(bus_id, pci_id, pci_class, posixpath.basename(link) if link else None))
    return tuple(found)


def gpus(machine: Machine, tables: Tables) -> Iterator[Fact]:
    """NVIDIA GPUs, GPUs of other vendors, and symptoms for anything that keeps an NVIDIA GPU from its
    driver."""
    if machine.system == "macos":
        yield _of_a_mac(machine)
        return
    if machine.system == "windows":
        if not machine.live:  # on a running machine NVML and libcuda report it
            from doctor.probe import windows_files, windows_registry

            stated = list(windows_registry.gpus(machine, tables))
            kinds = {type(fact) for fact in stated}
            by_files = () if kinds == {Gpu, DriverVersion} else windows_files.gpus(machine, tables)
            yield from (*stated, *(fact for fact in by_files if type(fact) not in kinds))
        return
    elsewhere = list(_on_no_bus(machine))
    yield from elsewhere
    with machine.noting() as unseen:
        if not machine.is_dir(PCI):
            if not elsewhere and not in_wsl(machine):
                why = f"could not be examined ({unseen[PCI]})" if PCI in unseen else "does not exist"
                yield Unreadable(Source(PCI), "nvidia gpu", f"{PCI} {why}")
            return
        found = displays(machine)
    nvidia = [entry for entry in found if entry.pci_id.startswith(NVIDIA)]
    driven = any(entry.driver == "nvidia" for entry in nvidia)
    for entry in nvidia:
        place, bus = f"{PCI}/{entry.bus_id}", (("bus", entry.bus_id),)
        name, capability = model_of(tables, entry.pci_id)
        text = f"class {entry.pci_class}, {entry.pci_id}" + (f", {name}" if name else "")
        yield Gpu(
            Source(place, None, text),
            name=name,
            compute_capability=capability,
            pci_id=entry.pci_id,
            bus_id=entry.bus_id,
        )
        if entry.driver in OTHER_DRIVERS:
            source = Source(f"{place}/driver", None, entry.driver or "")
            yield Symptom(source, "gpu-bound-to-other-driver", (("driver", entry.driver or ""), *bus))
        elif driven and entry.driver != "nvidia":
            text = f"driver: {entry.driver or 'none'}; another GPU is bound to NVIDIA's driver"
            yield Symptom(Source(place, None, text), "gpu-without-driver", bus)
    if nvidia and not any(entry.driver for entry in nvidia) and _module_without_gpus(machine):
        first = nvidia[0].bus_id
        text = "no driver is bound to it; the module nvidia is loaded"
        yield Symptom(Source(f"{PCI}/{first}", None, text), "gpu-not-driven", (("bus", first),))
    for entry in found:
        vendor = VENDORS.get(entry.pci_id[:4])
        if vendor:
            source = Source(f"{PCI}/{entry.bus_id}", None, f"class {entry.pci_class}, {entry.pci_id}")
            yield OtherGpu(source, f"display controller {entry.pci_id}", vendor)
    bound = any(entry.driver in ("nvidia", *OTHER_DRIVERS) for entry in nvidia)
    if not bound and not containers.inside(machine):
        asleep = [
            entry.bus_id
            for entry in nvidia
            if entry.driver is None and pci_value(machine, entry.bus_id, "power_state") == "D3cold"
        ]
        yield from switched_off(machine, asleep[0] if asleep and driver_installed(machine) else None)
    if nvidia or elsewhere or in_wsl(machine):
        return
    every = machine.names(PCI)
    without_class = [bus_id for bus_id in every if not pci_value(machine, bus_id, "class")]
    # a sandbox may hide the bus, which then lists nothing; in a simulation without a GPU it is truly empty
    if without_class and not unseen:  # for example, links that lead out of a copied tree
        more = len(without_class) - 1
        text = f"the kernel's files do not show the class of the device {without_class[0]}"
        yield Unreadable(
            Source(f"{PCI}/{without_class[0]}"),
            "nvidia gpu",
            text + (f", nor the classes of {more} other devices" if more else ""),
        )
    elif not every and not machine.env.get(SIMULATION):
        yield Unreadable(Source(PCI), "nvidia gpu", f"{PCI} lists no device of any kind")
    else:
        count = (
            f"{len(found)} display controllers, none from NVIDIA (vendor 10de)"
            if found
            else "no display controller"
        )
        yield missing(Source(PCI, None, count), "nvidia gpu", unseen)


def _module_without_gpus(machine: Machine) -> bool:
    """Whether the loaded module reports that it drives no GPU, while the bus shows drivers for other
    devices."""
    with machine.noting() as unseen:
        drives_none = machine.is_dir(GPUS) and not machine.names_seen(GPUS)
    return drives_none and not unseen and bool(machine.glob(f"{PCI}/*/driver"))


def _of_a_mac(machine: Machine) -> Fact:
    """Return a fact that says whether this Mac can have an NVIDIA GPU. Its processor or macOS release
    decides, because no file lists its devices.

    Sources: Apple's pages about the Macs that each macOS supports. The last Macs with an NVIDIA GPU are from
    2014 and run at most macOS 11.
    """
    release = macos_release(machine)
    if machine.processor == "arm64":
        return Absent(
            Source("its processor", None, "Macs with Apple's chips have no NVIDIA GPU"), "nvidia gpu"
        )
    if release and int(re.sub(r"\D.*", "", release) or 0) >= 12:
        text = f"no Mac that macOS {release} supports has an NVIDIA GPU"
        return Absent(Source(SYSTEM_VERSION, None, text), "nvidia gpu")
    return Unreadable(Source("this Mac"), "nvidia gpu", "no macOS file lists the GPUs")


def _on_no_bus(machine: Machine) -> Iterator[Gpu]:
    """The GPUs that files outside a PCI bus show: Windows' GPU under WSL2 (only the driver reports its
    model), the GPU in a Tegra chip, and the GPU of a device node. A container may show nothing but that node;
    facts with more detail replace that of the node."""
    if behind_dxg(machine):
        yield Gpu(Source(DXG, None, "the GPU of the Windows host, passed through to Linux"))
    board = tegra(machine)
    if board is not None:
        yield Gpu(Source(board.where, None, board.text), name=board.name, compute_capability=board.capability)
    for path in nvidia_nodes(machine)[:1]:
        yield Gpu(Source(path, None, "a device node of NVIDIA's driver"))
