"""Checks machines with NVSwitches, on which CUDA works only while a fabric manager of exactly the driver's
version is running.

Source: NVIDIA Fabric Manager User Guide, "Starting Fabric Manager" and "Driver and Fabric Manager versions";
PCI ids of class 0680 in the pci.ids list (GA100 and GH100 NVSwitch, Volta's NVSwitch).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import Source, Symptom
from doctor.probe.machine import Machine

DEVICES = "/sys/bus/pci/devices"
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
    found = []
    for bus in machine.names(DEVICES):
        folder = f"{DEVICES}/{bus}"
        kind, vendor = ((machine.text(f"{folder}/{name}", 64) or "").strip() for name in ("class", "vendor"))
        if kind.startswith("0x0680") and vendor == "0x10de":
            found.append(bus)
    return found


def manager(machine: Machine, driver: str | None) -> Iterator[Symptom]:
    """The symptom of a missing, stopped or wrong fabric manager on a machine with NVSwitches; none on other
    machines."""
    found = switches(machine)
    if not found:
        return
    count = f"{len(found)} NVSwitches on the PCI bus"
    program = next((path for path in PROGRAMS if machine.exists(path)), None)
    if program is None:
        text = f"{count}; {PROGRAMS[0]} does not exist"
        yield Symptom(Source(DEVICES, None, text), "fabric-manager-missing", (("state", "missing"),))
        return
    installed, where = _installed(machine)
    if installed and driver and installed != driver:
        text = f"{count}; the fabric manager has version {installed}, the driver {driver}"
        yield Symptom(
            Source(where, None, text), "fabric-manager-missing", (("state", "other"), ("version", installed))
        )
        return
    enabled = machine.glob(f"/etc/systemd/system/*.wants/{SERVICE}")
    if not enabled and not any(machine.exists(path) for path in STARTED):
        text = f"{count}; {SERVICE} is neither enabled nor running"
        yield Symptom(
            Source("/etc/systemd/system", None, text), "fabric-manager-missing", (("state", "stopped"),)
        )


def _installed(machine: Machine) -> tuple[str | None, str]:
    """The fabric manager's version, which equals the version of the driver it was made for, and the file that
    contains it. The source is its Debian package, otherwise its last start in its log; None if neither shows
    the version."""
    try:
        package = PACKAGE.search(machine.text(STATUS, 4 << 20) or "")
        if package is not None:
            return package[1], STATUS
        started = START.findall(machine.text(LOG, 4 << 20) or "")
        return (started[-1] if started else None), LOG
    except OSError:
        return None, LOG
