"""Finds, from files, the programs that switch a laptop's NVIDIA GPU off to save power.

A GPU that merely sleeps (runtime D3 under NVIDIA's own driver, DynOff of vgaswitcheroo) wakes when it is used
and does not count. Sources: the settings files of nvidia-prime (prime-select), SUSEPrime, bbswitch,
supergfxctl, EnvyControl and system76-power; Linux, Documentation/gpu/vga-switcheroo.rst and
Documentation/ABI/testing/sysfs-bus-pci.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import Source, Symptom
from doctor.probe.machine import Machine

SIZE = 1 << 16
PRIME = (("/etc/prime-discrete", ("off", "intel")), ("/etc/prime/current_type", ("intel", "intel2", "amd")))
"""The settings files of Ubuntu's and openSUSE's prime-select, with the words that mean that the GPU is
off."""
BBSWITCH = "/proc/acpi/bbswitch"
SWITCHEROO = "/sys/kernel/debug/vgaswitcheroo/switch"
SUPERGFX = "/etc/supergfxd.conf"
SYSTEM76 = "/etc/modprobe.d/system76-power.conf"
ENVYCONTROL = "/var/cache/envycontrol"
RULES = ("/etc/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d")
REMOVES = lazy.compile(
    r'^(?=.*ATTRS?\{vendor\}=="0x10de")(?=.*ATTRS?\{class\}=="0x03)(?=.*ATTR\{remove\}="1").*$', re.MULTILINE
)
"""Matches a udev rule that removes every NVIDIA display controller from the bus."""


def switched_off(machine: Machine, sleeping: str | None) -> Iterator[Symptom]:
    """A symptom for each program that keeps the GPU off. Call it only if no NVIDIA GPU is bound to NVIDIA's
    driver.

    sleeping: the bus address of a GPU without a driver whose power state is D3cold.
    """
    for path, off in PRIME:
        word = machine.text_seen(path, SIZE).strip()
        if word in off:
            yield _off(path, word, "prime-select")
    line = machine.text_seen(BBSWITCH, SIZE).strip()
    if line.endswith("OFF"):
        yield _off(BBSWITCH, line, "bbswitch")
    off_line = re.search(r"^\d+:DIS:[ +]?:Off:.*", machine.text_seen(SWITCHEROO, SIZE), re.MULTILINE)
    if off_line:
        yield _off(SWITCHEROO, off_line[0], "vgaswitcheroo")
    text = machine.text_seen(SUPERGFX, SIZE)
    try:
        mode = json.loads(text).get("mode") if text else None
    except (ValueError, AttributeError, RecursionError):
        mode = None
    if mode == "Integrated":
        yield _off(SUPERGFX, f"mode: {mode}", "supergfxctl")
    if "alias nvidia off" in machine.text_seen(SYSTEM76, SIZE):
        yield _off(SYSTEM76, "alias nvidia off", "system76-power")
    yield from _removed_by_udev(machine)
    if sleeping is not None:
        yield _off(f"/sys/bus/pci/devices/{sleeping}/power_state", "D3cold, and no driver to wake it", "")


def _removed_by_udev(machine: Machine) -> Iterator[Symptom]:
    for folder in RULES:
        for name in machine.names_seen(folder):
            if "nvidia" in name or "gpu" in name:
                match = REMOVES.search(machine.text_seen(f"{folder}/{name}", SIZE))
                if match:
                    by = "envycontrol" if machine.exists(ENVYCONTROL) else ""
                    yield _off(f"{folder}/{name}", match[0].strip(), by)
                    return


def _off(path: str, text: str, by: str) -> Symptom:
    return Symptom(Source(path, None, text), "gpu-switched-off", (("by", by), ("path", path)))
