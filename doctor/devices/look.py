"""Queries NVML and libcuda about the GPUs in a child process, with or without a value of
CUDA_VISIBLE_DEVICES."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.devices.visibility import Device
from doctor.probe.calls import MIB, answers, bus
from doctor.probe.machine import Machine
from doctor.probe.script import listed
from doctor.values import dataclass, replace

HIDING = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


@dataclass(frozen=True, slots=True)
class Process:
    """A process that uses a GPU. memory_mib: the GPU memory that it holds in MiB; None if the driver does not
    report it. name, user: None if they are not visible."""

    pid: int
    memory_mib: int | None
    name: str | None
    user: str | None


@dataclass(frozen=True, slots=True)
class Memory:
    """One GPU's memory when NVML was queried, in MiB."""

    total_mib: int
    used_mib: int
    free_mib: int


@dataclass(frozen=True, slots=True)
class Seen:
    """The GPUs of this machine in nvidia-smi's order, with the memory and the processes of each.

    driver_order: the bus addresses of all GPUs in CUDA's order under the current CUDA_DEVICE_ORDER; None if
    libcuda did not answer. problem: why NVML did not answer.
    """

    devices: tuple[Device, ...] = ()
    memory: tuple[Memory | None, ...] = ()
    processes: tuple[tuple[Process, ...], ...] = ()
    driver: str | None = None
    driver_order: tuple[str, ...] | None = None
    problem: str = ""


def look(environment: Mapping[str, str], order: str | None) -> Seen:
    """Query NVML about the GPUs, and libcuda about their order. `order`: CUDA_DEVICE_ORDER; None if unset."""
    found = _ask(environment, None, order)
    nvml = found.get("nvml") or {}
    if not nvml.get("devices"):
        why = nvml.get("error") or ("NVML lists no GPU" if nvml else "NVML did not answer")
        return Seen(problem=str(why))
    devices: list[Device] = []
    memory: list[Memory | None] = []
    processes: list[tuple[Process, ...]] = []
    for entry in listed(nvml["devices"], dict):
        index = int(entry.get("index", len(devices)))
        name = str(entry.get("name") or "a GPU that does not answer")
        address = bus(entry.get("bus_id"))
        parts = tuple(
            Device(index, str(part.get("name") or name), part.get("uuid"), address, numbers=_numbers(part))
            for part in listed(entry.get("mig_devices"), dict)
        )
        divided = bool(entry.get("mig"))
        devices.append(Device(index, name, entry.get("uuid"), address, parts, divided=divided))
        amounts = entry.get("memory")
        memory.append(Memory(*(int(value) // MIB for value in amounts)) if amounts else None)
        processes.append(tuple(_process(*held) for held in listed(entry.get("processes"), list)))
    return Seen(
        tuple(devices), tuple(memory), tuple(processes), nvml.get("driver"), _order(found.get("cuda"))
    )


def driver_shows(
    environment: Mapping[str, str], value: str | None, order: str | None
) -> tuple[str, ...] | None:
    """Return the bus addresses of the GPUs that libcuda itself shows to a process with this value of
    CUDA_VISIBLE_DEVICES, or None if libcuda did not answer. `order`: CUDA_DEVICE_ORDER."""
    return _order(_ask(environment, value, order).get("cuda"))


def _ask(environment: Mapping[str, str], value: str | None, order: str | None) -> dict[str, Any]:
    variables = {name: text for name, text in environment.items() if name not in HIDING}
    if value is not None:
        variables["CUDA_VISIBLE_DEVICES"] = value
    if order is not None:
        variables["CUDA_DEVICE_ORDER"] = order
    return answers(replace(Machine.here(), env=variables))[1]


def _order(answer: Any) -> tuple[str, ...] | None:
    """Return the bus addresses in libcuda's order, () if libcuda finds no device, or None if its answer is
    incomplete."""
    if not isinstance(answer, dict):
        return None
    if answer.get("failed"):
        return () if answer.get("error") == "CUDA_ERROR_NO_DEVICE" else None
    found = tuple(bus(device.get("bus_id")) for device in answer.get("devices") or ())
    return None if None in found else tuple(address for address in found if address)


def _numbers(part: Mapping[str, Any]) -> tuple[int, int] | None:
    numbers = part.get("numbers")
    return (numbers[0], numbers[1]) if isinstance(numbers, list) and len(numbers) == 2 else None


def _process(pid: int, used: int | None, name: str | None) -> Process:
    try:
        import pwd

        user: str | None = pwd.getpwuid(Path(f"/proc/{pid}").stat().st_uid).pw_name
    except (ImportError, OSError, KeyError):
        user = None
    return Process(pid, used // MIB if isinstance(used, int) else None, name, user)
