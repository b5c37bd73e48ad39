"""Checks machines with NVSwitches, on which CUDA works only while a fabric manager of exactly the driver's
version is running.

Source: NVIDIA Fabric Manager User Guide, "Starting Fabric Manager" and "Driver and Fabric Manager versions";
PCI ids of class 0680 in the pci.ids list (GA100 and GH100 NVSwitch, Volta's NVSwitch).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import Fact, Source, Symptom
from doctor.probe.gpu_devices import PCI, pci_value
from doctor.probe.machine import Machine
from doctor.probe.missing import missing

SERVICE = "nvidia-fabricmanager.service"
PROGRAMS = (
    "/usr/bin/nv-fabricmanager",
    "/usr/local/bin/nv-fabricmanager",
    "/opt/nvidia/bin/nv-fabricmanager",
)
STARTED = (
    "/var/run/nvidia-fabricmanager",
    "/run/nvidia-fabricmanager",
    "/run/systemd/units/invocation:" + SERVICE,
)
STATUS = "/var/lib/dpkg/status"
LOG = "/var/log/fabricmanager.log"
START = lazy.compile(r"Fabric Manager version (\d{3}\.[\d.]{1,20}) is running")
"""Matches the fabric manager's start in its log. The guide gives the name of the log file, but not the
wording."""
PACKAGE = lazy.compile(
    r"^Package: nvidia-fabricmanager(?:-\d{1,4})?(?:-server)?\nStatus: (?:install|hold) ok installed\n"
    r"(?:.{1,400}\n){0,30}?Version: (?:\d{1,3}:)?([\d.]{1,30})",
    re.MULTILINE,
)


def switches(machine: Machine) -> list[str]:
    """The PCI addresses of the NVSwitches. Raises OSError if the bus cannot be read."""
    return [
        bus_id
        for bus_id in machine.names(PCI)
        if pci_value(machine, bus_id, "class").startswith("0680")
        and pci_value(machine, bus_id, "vendor") == "10de"
    ]


def manager(machine: Machine, driver: str) -> Iterator[Fact]:
    """The symptom of a missing, stopped or wrong fabric manager on a machine with NVSwitches; none on other
    machines. driver: the version of the loaded kernel module."""
    found = switches(machine)
    if not found:
        return
    count = f"{len(found)} NVSwitch{'es' if len(found) > 1 else ''} on the PCI bus"
    with machine.noting() as unseen:
        exists = any(map(machine.exists, PROGRAMS))
        started = any(map(machine.exists, STARTED))
        enabled = machine.glob(f"/etc/systemd/system/*.wants/{SERVICE}")
    installed, where = _installed(machine)
    if exists and installed and installed != driver:
        text = f"{count}; the fabric manager has version {installed}, the driver {driver}"
        detail = (("state", "other"), ("version", installed))
        yield Symptom(Source(where, None, text), "fabric-manager-missing", detail)
    elif exists and (enabled or started):
        return
    elif unseen:
        yield missing(Source(PCI), "fabric manager", unseen)
    elif exists:
        text = f"{count}; {SERVICE} is neither enabled nor running"
        source = Source("/etc/systemd/system", None, text)
        yield Symptom(source, "fabric-manager-missing", (("state", "stopped"),))
    else:
        text = f"{count}; {PROGRAMS[0]} does not exist"
        yield Symptom(Source(PCI, None, text), "fabric-manager-missing", (("state", "missing"),))


def _installed(machine: Machine) -> tuple[str | None, str]:
    """The fabric manager's version, which equals the version of the driver for which it was made, and the
    file that states it: the list of Debian packages, otherwise its log. (None, LOG) if neither states it."""
    package = PACKAGE.search(machine.text_seen(STATUS, 4 << 20))
    if package is not None:
        return package[1], STATUS
    starts = START.findall(machine.text_seen(LOG, 4 << 20))
    return (starts[-1] if starts else None), LOG
