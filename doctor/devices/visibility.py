"""Interprets CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER as the CUDA driver does.

CUDA C++ Programming Guide, "CUDA Environment Variables": the value is a comma-separated list of indices or
UUIDs (a unique beginning is enough). Only devices before the first invalid entry are visible, so "0,2,-1,1"
shows 0 and 2, and "-1,0" shows none. CUDA_DEVICE_ORDER: FASTEST_FIRST (the default) puts the fastest GPU
first and leaves the order of the others unspecified; PCI_BUS_ID follows the bus, as nvidia-smi does. MIG User
Guide, "CUDA Device Enumeration": from driver R470 on, the name of an instance is MIG-UUID; before, it was
MIG-GPU-UUID/INSTANCE/COMPUTE (which the programming guide still shows, so this module always accepts it).
Before R570, a process that gets a MIG instance gets only that one, and no whole GPU; from R570 on, it gets
all of them. A divided GPU without instances is not a device. Where these pages say nothing, this module
follows PyTorch, torch/cuda/__init__.py, _parse_visible_devices, whose authors measured the driver: an index
is the number with which an entry begins ("1gpu2" is 1), a repeated entry hides all GPUs, and all entries must
be of the first entry's kind (number, GPU-, MIG-). It assumes that an entry for a divided GPU as a whole means
its instances. The simulated driver (doctor/simulate/sources/visible_devices.c) does the same in C; a test
compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor import lazy
from doctor.values import dataclass, replace

NUMBER = lazy.compile(r"[+-]?\d+")
NUMBERED = lazy.compile(r"MIG-(GPU-[^/]*)/\+?(\d+)/\+?(\d+)", re.IGNORECASE)
FIRST_WITH_MIG_UUIDS, FIRST_WITH_SEVERAL_INSTANCES = 470, 570


@dataclass(frozen=True, slots=True)
class Device:
    """A device that can be made visible: a GPU, or a MIG instance of a divided GPU.

    index: nvidia-smi's number of the GPU. uuid: "GPU-…" or "MIG-…"; None if it is not known. mig: the
    instances of a divided GPU. numbers: for an instance, the numbers of its GPU instance and its compute
    instance. divided: whether MIG mode is on.
    """

    index: int
    name: str = ""
    uuid: str | None = None
    bus_id: str | None = None
    mig: tuple[Device, ...] = ()
    numbers: tuple[int, int] | None = None
    divided: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the value: its text, the device that it names, whether that device becomes visible, and
    why."""

    text: str
    device: Device | None
    shown: bool
    why: str


@dataclass(frozen=True, slots=True)
class Visibility:
    """The effect of a value of CUDA_VISIBLE_DEVICES. value: None if the variable is not set.

    shown: the visible devices in the process's own order; the first is its GPU:0. entries: one for each part
    of the value. why: the reason, if the value has no entries.
    """

    value: str | None
    shown: tuple[Device, ...]
    entries: tuple[Entry, ...] = ()
    why: str = ""


def interpret(value: str | None, devices: Sequence[Device], driver: str | None = None) -> Visibility:
    """Return the devices that a process with this value sees. devices: all devices in CUDA's own order (see
    `enumeration`). driver: the driver's version, which determines how MIG instances appear; None counts as a
    driver from R470 to R565."""
    major = (driver or "").split(".")[0]
    branch = int(major) if major.isdecimal() else FIRST_WITH_MIG_UUIDS
    if value is None:
        shown = _expanded(devices, branch)
        return Visibility(None, shown, (), "the variable is not set: every GPU is visible")
    if not value.strip():
        return Visibility(value, (), (), "the variable is set and empty: no GPU is visible")
    entries: list[Entry] = []
    shown_so_far: list[Device] = []
    end = ""
    first_kind = ""
    for part in value.split(","):
        text, *ignored = part.split() or [""]
        if end:
            device, _ = _named(text, devices, branch)
            entries.append(Entry(text, device, False, end))
            continue
        kind = _kind(text)
        first_kind = first_kind or kind
        device, why = _named(text, devices, branch)
        if kind != first_kind:
            device, why = None, f"the first entry is {_SPOKEN[first_kind]}, so this entry must be one too"
        if device is None:
            entries.append(Entry(text, None, False, why))
            end = f"comes after `{text}`, which is not valid and ends the list"
        elif device in shown_so_far:
            why = "another entry is repeated, which hides all GPUs"
            entries = [replace(entry, shown=False, why=why) for entry in entries]
            entries.append(Entry(text, device, False, "is repeated, which hides all GPUs"))
            shown_so_far = []
            end = f"comes after `{text}`, which is repeated and hides all GPUs"
        else:
            blank = "; CUDA ignores what follows the space: only commas separate entries" if ignored else ""
            entries.append(Entry(text, device, True, why + blank))
            shown_so_far.append(device)
    shown = _expanded(shown_so_far, branch)
    return Visibility(value, shown, tuple(_corrected(entry, shown) for entry in entries))


def _corrected(entry: Entry, shown: Sequence[Device]) -> Entry:
    """The entry; if it is valid but the process does not get its device, the entry with the reason for that.

    shown: the devices that the process gets.
    """
    parts = _parts(entry.device) if entry.device is not None else ()
    if not entry.shown or any(part in shown for part in parts):
        return entry
    why = "a process gets a single MIG instance, the first one"
    return replace(entry, shown=False, why=why if parts else "is divided (MIG) but has no instance")


def unseparated(value: str) -> list[str]:
    """Return the entries of a value that separates them by spaces ("0 1", "0, 1 2"), or [] if each
    comma-separated part contains at most one word."""
    spaced = any(len(part.split()) > 1 for part in value.split(","))
    return value.replace(",", " ").split() if spaced else []


def enumeration(
    devices: Sequence[Device], order: str | None, fastest: Sequence[str] | None = None
) -> list[Device]:
    """Return all devices in CUDA's order, including those that a variable hides.

    devices: the devices in nvidia-smi's order, which is the order of the bus. order: CUDA_DEVICE_ORDER.
    fastest: the bus addresses in the driver's own order, if it is known. Otherwise all GPUs keep the order of
    the bus, and `is_certain` is False if they are of different kinds.
    """
    if order == "PCI_BUS_ID" or not fastest:
        return list(devices)
    known = {device.bus_id: device for device in devices}
    ordered = [known[bus] for bus in fastest if bus in known]
    return ordered + [device for device in devices if device not in ordered]


def is_certain(devices: Sequence[Device], order: str | None, fastest: Sequence[str] | None = None) -> bool:
    """Whether the order of `enumeration` is certain: it follows the bus, the driver reported it, or all GPUs
    are of one kind."""
    return order == "PCI_BUS_ID" or bool(fastest) or len({device.name for device in devices}) < 2


_SPOKEN = {"number": "a number", "gpu": "a GPU's UUID", "mig": "a MIG instance"}


def _kind(text: str) -> str:
    start = text[:4].upper()
    return {"GPU-": "gpu", "MIG-": "mig"}.get(start, "number")


def _named(text: str, devices: Sequence[Device], branch: int) -> tuple[Device | None, str]:
    """Return the device that an entry names, or None, and the reason."""
    kind = _kind(text)
    if not text:
        return None, "is empty"
    if kind == "gpu":
        fits = [device for device in devices if (device.uuid or "").lower().startswith(text.lower())]
        if len(fits) == 1:
            whole = text.lower() == (fits[0].uuid or "").lower()
            return fits[0], "its UUID" if whole else "the only UUID that begins with these characters"
        return None, f"is the beginning of {len(fits)} UUIDs" if fits else "is not the UUID of a GPU here"
    if kind == "mig":
        return _instance(text, devices, branch)
    match = NUMBER.match(text)
    if match is None:
        return None, "is neither a number nor a UUID"
    number = int(match[0])
    rest = "" if match[0] == text else f" (CUDA reads only the {match[0]} in `{text}`)"
    if number < 0:
        return None, f"is negative{rest}"
    if number >= len(devices):
        last = f"the last number is {len(devices) - 1}" if devices else "there is no GPU"
        return None, f"is not the number of a GPU here; {last}{rest}"
    return devices[number], f"CUDA's number {number}{rest}"


def _instance(text: str, devices: Sequence[Device], branch: int) -> tuple[Device | None, str]:
    """Return the MIG instance that an entry names, or None, and the reason. The entry is the instance's UUID
    or a unique beginning of it, or consists of the GPU, the GPU instance and the compute instance."""
    instances = [part for device in devices for part in device.mig]
    none = "matches no MIG instance on this machine"
    if not instances:
        none = "names a MIG instance, but no GPU here is divided"
    if text.upper().startswith("MIG-GPU-"):
        match = NUMBERED.fullmatch(text)
        gpus = [d for d in devices if match and (d.uuid or "").lower().startswith(match[1].lower())]
        numbers = (int(match[2]), int(match[3])) if match else None
        found = [part for part in gpus[0].mig if part.numbers == numbers] if len(gpus) == 1 else []
        return (found[0], "a MIG instance") if found else (None, none)
    if branch < FIRST_WITH_MIG_UUIDS:
        return None, "is not in the form in which a driver before R470 names a MIG instance"
    fits = [part for part in instances if (part.uuid or "").lower().startswith(text.lower())]
    if len(fits) == 1:
        return fits[0], "a MIG instance"
    return None, f"is the beginning of the UUIDs of {len(fits)} MIG instances" if fits else none


def _parts(device: Device) -> tuple[Device, ...]:
    """Return what CUDA counts as devices: the instances of a divided GPU, otherwise the device itself."""
    return device.mig if device.mig or device.divided else (device,)


def _expanded(devices: Sequence[Device], branch: int) -> tuple[Device, ...]:
    """Return the devices that a process sees when these devices are visible: a GPU divided by MIG counts as
    its instances. With drivers before R570, a process that is given a MIG instance sees only the first
    one."""
    shown = tuple(part for device in devices for part in _parts(device))
    first = next((device for device in shown if (device.uuid or "").upper().startswith("MIG-")), None)
    return (first,) if first is not None and branch < FIRST_WITH_SEVERAL_INSTANCES else shown
