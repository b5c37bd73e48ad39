"""Reads facts from a Windows machine's registry files: the PATH of a new process, the NVIDIA GPUs, and their
driver."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.facts import DriverVersion, Fact, Gpu, Source
from doctor.probe import hive
from doctor.probe.gpu_devices import model_of
from doctor.probe.machine import Machine
from doctor.probe.windows_files import number
from doctor.tables import Tables

SYSTEM = "C:\\Windows\\System32\\config\\SYSTEM"
DISPLAY = "{4d36e968-e325-11ce-bfc1-08002be10318}"
"""The device class of display adapters."""
SESSION = ("Control", "Session Manager")
NOWHERE = 0xFFFFFFFF
"""The value of CWDIllegalInDllSearch that excludes the current folder from the search (Microsoft, KB
2264107)."""


def search_path(machine: Machine, prefix: str | None) -> tuple[list[str] | None, str]:
    """The folders of PATH (None if unknown), and where PATH was read. prefix: the Python environment's
    folder, which shows which user's PATH counts."""
    stated = next((value for name, value in machine.env.items() if name.upper() == "PATH"), None)
    if stated is not None:
        return _folders(stated, machine.env), "PATH"
    control = _control(machine)
    if control is None:
        return None, ""
    own = _read(machine, SYSTEM, control, *SESSION, "Environment")
    profile = _profile(machine, prefix)
    users = _read(machine, f"{profile}\\NTUSER.DAT", "Environment") if profile else {}
    texts = [text for text in (own.get("path"), users.get("path")) if isinstance(text, str)]
    if not texts:
        return None, ""
    known = {
        "SYSTEMROOT": "C:\\Windows",
        "WINDIR": "C:\\Windows",
        "PROGRAMFILES": "C:\\Program Files",
        **({"USERPROFILE": profile} if profile else {}),
        **{name.upper(): value for name, value in {**own, **users}.items() if isinstance(value, str)},
    }
    return _folders(";".join(texts), known), "the registry's PATH"


def current_folder_in_search(machine: Machine) -> int | None:
    """The position of the current folder in the search for a DLL: 1 (after the program's folder), 4 (after
    Windows' folders, the default), or None if it is not searched (Microsoft, "Dynamic-link library search
    order", SafeDllSearchMode)."""
    if machine.live:
        session = _running(*SESSION)
    else:
        control = _control(machine)
        session = _read(machine, SYSTEM, control, *SESSION) if control else {}
    if session.get("cwdillegalindllsearch") == NOWHERE:
        return None
    return 1 if session.get("safedllsearchmode") == 0 else 4


def _running(*key: str) -> dict[str, str | int]:
    """The values of a key in the running system's control set, by their names in lower case; {} if there are
    none."""
    try:
        import winreg
    except ImportError:  # this is not Windows
        return {}
    named: Any = winreg
    found: dict[str, str | int] = {}
    try:
        with named.OpenKey(
            named.HKEY_LOCAL_MACHINE, "\\".join(("SYSTEM", "CurrentControlSet", *key))
        ) as opened:
            for number in range(named.QueryInfoKey(opened)[1]):
                name, value, _ = named.EnumValue(opened, number)
                if isinstance(value, (str, int)):
                    found[name.lower()] = value
    except OSError:
        return found
    return found


def gpus(machine: Machine, tables: Tables) -> Iterator[Fact]:
    """The NVIDIA display adapters in the registry, and their driver's version. Use it only for another root:
    the registry files of a running Windows system cannot be read."""
    control = _control(machine)
    if control is None:
        return
    for name in _names(machine, SYSTEM, control, "Enum", "PCI"):
        match = re.match(r"ven_10de&dev_([0-9a-f]{4})", name)
        if match is None:
            continue
        pci = f"10de:{match[1]}"
        model, capability = model_of(tables, pci)
        where = f"{SYSTEM}: Enum\\PCI\\{name}"
        for instance in _names(machine, SYSTEM, control, "Enum", "PCI", name):
            device = _read(machine, SYSTEM, control, "Enum", "PCI", name, instance)
            if str(device.get("classguid", "")).lower() != DISPLAY:
                continue
            source = Source(where, None, str(device.get("devicedesc", "")).rpartition(";")[2] or pci)
            yield Gpu(source, name=model, compute_capability=capability, pci_id=pci)
            key = str(device.get("driver", "")).split("\\")
            stated = str(_read(machine, SYSTEM, control, "Control", "Class", *key).get("driverversion", ""))
            version = number(stated)
            if version:
                yield DriverVersion(Source(where, None, f"DriverVersion {stated}"), version)


def _control(machine: Machine) -> str | None:
    """The name of the control set that Windows used last."""
    number = _read(machine, SYSTEM, "Select").get("current")
    return f"ControlSet{number:03}" if isinstance(number, int) else None


def _names(machine: Machine, path: str, *key: str) -> list[str]:
    """The names of the keys below a key of a hive, in lower case; [] if there are none or the hive cannot be
    read."""
    try:
        with machine.open(path) as file:
            return hive.names(file, *key)
    except (OSError, hive.NotHiveError):
        return []


def _profile(machine: Machine, prefix: str | None) -> str | None:
    """The profile folder of the environment's user, or of the only user if the path does not show which."""
    owner = re.match(r"(?:[A-Za-z]:)?[\\/]Users[\\/]([^\\/]+)", prefix or "", re.IGNORECASE)
    if owner:
        return f"C:\\Users\\{owner[1]}"
    users = [
        name for name in machine.names_seen("C:\\Users") if machine.exists(f"C:\\Users\\{name}\\NTUSER.DAT")
    ]
    users = [name for name in users if name.lower() != "default"]
    return f"C:\\Users\\{users[0]}" if len(users) == 1 else None


def _folders(value: str, known: Mapping[str, str]) -> list[str]:
    """The folders in a value of PATH, with the variables in `known` filled in."""
    names = {name.upper(): text for name, text in known.items()}
    text = re.sub(r"%([^%;]+)%", lambda match: names.get(match[1].upper(), match[0]), value)
    return [entry.strip().strip('"') for entry in text.split(";") if entry.strip()]


def _read(machine: Machine, path: str, *key: str) -> dict[str, str | int]:
    """The values of a key of a hive, by their names in lower case; {} if there are none or the hive cannot be
    read."""
    try:
        with machine.open(path) as file:
            return hive.values(file, *key)
    except (OSError, hive.NotHiveError):
        return {}
