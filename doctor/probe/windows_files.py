"""Finds the NVIDIA GPU and driver of a Windows system whose registry cannot be read: from the version
resource of the driver's DLLs, the driver store, and the log of device installations.

Sources: Microsoft, "VS_FIXEDFILEINFO structure", "SetupAPI Text Logs", "INF DriverVer Directive". The last
five digits of the Windows driver version are NVIDIA's own version: 31.0.15.3623 is 536.23.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import DriverVersion, Fact, Gpu, Source
from doctor.probe import pe
from doctor.probe.machine import Machine
from doctor.tables import Tables

SYSTEM32 = "C:\\Windows\\System32"
DLLS = ("nvcuda.dll", "nvml.dll", "nvapi64.dll", "nvidia-smi.exe")
STORE = f"{SYSTEM32}\\DriverStore\\FileRepository"
LOG = "C:\\Windows\\INF\\setupapi.dev.log"
LOG_SIZE = 8 << 20
INF_SIZE = 1 << 18
DISPLAY_INF = lazy.compile(
    r"nv(?:_disp|lt|dm|ac|dd|hm|mi|sz|aw|bl|cv|fu|hp|ht|md|pc|sn|to|ts|tf|am|le)\w{0,12}\.inf"
)
DRIVER_VER = lazy.compile(
    r"^\s{0,40}DriverVer\s{0,20}=\s{0,20}[\d/]{6,10}\s{0,9},\s{0,9}([\d.]{5,40})", re.MULTILINE
)
DEVICE = lazy.compile(r"PCI\\VEN_10DE&DEV_([0-9A-F]{4})", re.IGNORECASE)
LOGGED = lazy.compile(r"Driver Version\s{0,20}[-:=]\s{0,20}(?:[\d/]{6,10}\s{0,9},\s{0,9})?(\d+(?:\.\d+){3})")


def number(version: str) -> str | None:
    """NVIDIA's version of a driver, from the version that Windows records; None if it does not contain
    one."""
    digits = version.replace(".", "")[-5:]
    return f"{digits[:3]}.{digits[3:]}" if re.fullmatch(r"[1-9]\d{4}", digits) else None


def driver(machine: Machine) -> Iterator[DriverVersion]:
    """The version of the driver whose DLLs are in use; otherwise the version of the only driver in the driver
    store."""
    for name in DLLS:
        path = f"{SYSTEM32}\\{name}"
        try:
            with machine.open(path) as file:
                stated = pe.file_version(file)
        except (OSError, pe.NotPe):
            continue
        found = number(stated) if stated else None
        if found:
            yield DriverVersion(Source(path, None, f"file version {stated}"), found)
            return
    stored: dict[str, Source] = {}
    for name in machine.names_seen(STORE):
        inf = DISPLAY_INF.match(name.lower())
        if inf is None:
            continue
        path = f"{STORE}\\{name}\\{inf[0]}"
        match = DRIVER_VER.search(machine.text_seen(path, INF_SIZE).replace("\0", ""))
        found = number(match[1]) if match else None
        if match and found:
            stored.setdefault(found, Source(path, None, f"DriverVer {match[1]}"))
    if len(stored) == 1:
        ((version, source),) = stored.items()
        yield DriverVersion(source, version)


def gpus(machine: Machine, tables: Tables) -> Iterator[Fact]:
    """The GPU that Windows installed last, according to its log, and the driver."""
    logged: str | None = None
    source = Source(LOG)
    text = machine.tail_seen(LOG, LOG_SIZE)
    for section in reversed(re.split(r"^>>>  \[", text, flags=re.MULTILINE)):
        known = (f"10de:{match[1].lower()}" for match in DEVICE.finditer(section))
        pci = next((pci for pci in known if tables.gpu(pci)), None)
        if pci is not None:
            row = tables.gpu(pci)[0]
            source = Source(LOG, None, f"the last display adapter that was installed: {pci}, {row.name}")
            yield Gpu(source, name=row.name, compute_capability=row.capability, pci_id=pci)
            stated = LOGGED.search(section)
            logged = number(stated[1]) if stated else None
            break
    found = list(driver(machine))
    yield from found
    if not found and logged:
        yield DriverVersion(source, logged)
