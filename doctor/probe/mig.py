"""Determines from files which GPUs are divided into MIG (Multi-Instance GPU) instances."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import lazy
from doctor.facts import Fact, Source, Symptom
from doctor.probe.machine import Machine

CAPABILITIES = "/proc/driver/nvidia/capabilities"
KEPT = (
    "/var/log/*nvidia-smi*",
    "/var/log/nvidia-bug-report.log",
    "/root/*nvidia-smi*",
    "/home/*/*nvidia-smi*",
    "/home/*/nvidia-bug-report.log",
)
"""Files into which people and tools save the output of nvidia-smi."""
KEPT_SIZE = 1 << 18
"""How many bytes to read from the end of such a file."""
ROW_OF_GPU = lazy.compile(r"\|\s{1,6}(\d{1,3})\s{1,6}[A-Z].{1,80}\|")
"""The first line for a GPU in nvidia-smi's table; its MIG mode is one or two lines below."""
MIG_QUERIED = lazy.compile(r"MIG Mode\s{1,20}Current\s{1,60}: \S+")
MIG_MANAGER = "/etc/systemd/system/nvidia-mig-manager.service.d/*.conf"
"""Files that name the configuration that nvidia-mig-manager applies at boot (mig-parted, systemd/README)."""


def divided(machine: Machine) -> Iterator[Fact]:
    """The facts about GPUs with MIG instances (MIG User Guide, "Device Nodes and Capabilities"). On a running
    machine, NVML reports more.

    A GPU without an instance may or may not be in MIG mode: its folder `mig` exists and is empty in both
    cases. Saved output of nvidia-smi, or the configuration that the MIG manager applies, then decides.
    """
    for folder in () if machine.live else machine.glob(f"{CAPABILITIES}/gpu*/mig"):
        number = folder.split("/")[-2][3:]
        instances = [name for name in machine.names_seen(folder) if re.fullmatch(r"gi\d{1,3}", name)]
        below = [name for gi in instances for name in machine.names_seen(f"{folder}/{gi}")]
        parts = [name for name in below if re.fullmatch(r"ci\d{1,3}", name)]
        if instances:
            text = f"{len(instances)} GPU instances, {len(parts)} compute instances"
            source: Source | None = Source(folder, None, text)
        else:
            source = _mig_mode(machine, number)
        if source is not None:
            numbers = " ".join(name[2:] for name in instances)
            detail = (("gpu", number), ("instances", str(len(parts))), ("names", ""), ("undivided", numbers))
            yield Symptom(source, "mig-enabled", detail)


def _mig_mode(machine: Machine, number: str) -> Source | None:
    """The evidence that a GPU without instances is in MIG mode; None if there is none."""
    for path in (path for pattern in KEPT for path in machine.glob(pattern)):
        kept = machine.tail_seen(path, KEPT_SIZE)
        lines = kept.splitlines()
        queried = [match[0] for match in MIG_QUERIED.finditer(kept)]  # nvidia-smi -q, GPU by GPU
        if (
            number.isdecimal()
            and "Enabled" in "".join(queried[int(number) :][:1])
            and "GPU Instance ID" not in kept
        ):
            return Source(path, None, f"nvidia-smi -q: MIG mode of GPU {number} is enabled; no MIG devices")
        for at, line in enumerate(lines, 1):
            row = ROW_OF_GPU.match(line)
            mode = next((n for n in (at + 1, at + 2) if "Enabled |" in "".join(lines[n - 1 : n])), None)
            if row and row[1] == number and mode is not None and "No MIG devices" in kept:
                return Source(path, mode, f"nvidia-smi: MIG mode of GPU {number} is enabled; no MIG devices")
    for path in machine.glob(MIG_MANAGER):
        text = machine.text_seen(path, 1 << 16)
        chosen = re.search(r"MIG_PARTED_SELECTED_CONFIG=([\w.+-]{1,80})", text)
        if chosen and chosen[1] == "all-enabled":
            text = f"{chosen[0]}: this configuration turns MIG mode on, but creates no instance"
            return Source(path, None, text)
        if chosen and chosen[1] != "all-disabled":
            return Source(path, None, f"{chosen[0]}, and GPU {number} has no instance")
    return None
