"""Reads reports about hardware: nvidia-smi -q and topo, nvidia-container-cli info, lspci -nnk, docker
info."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor import lazy
from doctor.facts import (
    DriverCuda,
    DriverVersion,
    Fact,
    Gpu,
    GpuMemory,
    GpuProcess,
    Kernel,
    KernelModule,
    OperatingSystem,
    OtherGpu,
    Symptom,
)
from doctor.logs.collectors.block import Block, Collector, Line, after, fence, source, until

# --- nvidia-smi ---------------------------------------------------------------------------------------


def smi_table(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Recognise the table of nvidia-smi, so that no row counts as a person's text. The signatures read its
    rows."""
    end = until(lines, at + 1, lambda line: not line.lstrip().startswith(("|", "+")))
    return Block(end, [], frozenset(range(at, end)))


# --- nvidia-smi -q -----------------------------------------------------------------------------------

_BOARD = lazy.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s{0,9}$")
_MIB = lazy.compile(r"(\d{1,9}) MiB")


def smi_q(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read nvidia-smi -q (or -a): one block of indented fields for each GPU."""
    end = until(
        lines,
        at + 1,
        lambda line: fence(line) or (" : " not in line and not line.startswith((" ", "GPU ", "="))),
    )
    facts: list[Fact] = []
    keep: set[int] = set()
    board: Board | None = None
    boards: list[Board] = []
    group = ""
    for i in range(at, end):
        text = lines[i][1]
        found = _BOARD.match(text)
        if found:
            board = Board(len(boards), found[1], lines[i])
            boards.append(board)
            continue
        field, colon, value = (part.strip() for part in text.partition(" : "))
        if not colon:
            group = text.strip() or group
            continue
        if board is None:
            where = source(name, lines[i])
            if field == "Driver Version" and re.match(r"\d{3}\.\d", value):
                facts.append(DriverVersion(where, value[:20]))
            elif field == "CUDA Version" and re.match(r"\d{1,2}\.\d", value):
                facts.append(DriverCuda(where, value[:8]))
            continue
        if "Unknown Error" in value or "GPU is lost" in value:
            keep.add(i)
        facts += board.field(group, field, value, lines[i], name)
    facts += (fact for one in boards for fact in one.facts(name))
    return Block(end, facts, frozenset(keep)) if facts else None


class Board:
    """One GPU in nvidia-smi -q, filled field by field."""

    def __init__(self, index: int, bus_id: str, line: Line) -> None:
        self.index, self.bus_id, self.line = index, bus_id, line
        self.name: str | None = None
        self.uuid: str | None = None
        self.memory: dict[str, int] = {}
        self.process = 0

    def field(self, group: str, field: str, value: str, line: Line, name: str) -> Iterator[Fact]:
        """Read one field. Yield the facts that this field gives by itself."""
        size = _MIB.match(value)
        if field == "Product Name" and "Error" not in value:
            self.name, self.line = value[:80], line
        elif field == "GPU UUID":
            self.uuid = value[:48]
        elif group == "FB Memory Usage" and size:
            self.memory[field] = int(size[1])
        elif field == "Compute Mode" and value.startswith(("Exclusive", "Prohibited")):
            yield Symptom(source(name, line), "exclusive-mode")
        elif field == "Process ID" and value[:8].isdigit():
            self.process = int(value[:8])
        elif field == "Used GPU Memory" and self.process and size:
            yield GpuProcess(source(name, line), self.process, None, int(size[1]), self.index)

    def facts(self, name: str) -> Iterator[Fact]:
        """Yield the facts about the card and its memory."""
        where = source(name, self.line)
        total = self.memory.get("Total")
        if self.name:
            yield Gpu(
                where, self.name, memory_mib=total, index=self.index, bus_id=self.bus_id, uuid=self.uuid
            )
        if total:
            yield GpuMemory(where, self.index, total, self.memory.get("Used"), self.memory.get("Free"))


_LINK = lazy.compile(
    r"\s{0,8}(?:(?:GPU|NIC|mlx\d_)\d{0,2}\s{1,12}(?:X|PIX|PXB|PHB|NODE|SYS|SOC|NV\d{1,2}|\t)"
    r"|GPU0\s|Legend:|(?:X|SYS|NODE|PHB|PXB|PIX|NV#|SOC)\s{1,4}= |NIC\d{1,2}: )"
)


def topo(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read nvidia-smi topo -m, which shows how the GPUs are connected but not whether they work."""
    end = until(lines, at, lambda line: _LINK.match(line[:80]) is None)
    return Block(end, []) if end - at > 1 else None


# --- nvidia-container-cli info -----------------------------------------------------------------------

_CLI_LOG = lazy.compile(r"[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} \d{1,9} ")


def container_cli(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read nvidia-container-cli info: the host's driver and cards. Its CUDA version is the highest that the
    driver supports."""
    facts: list[Fact] = []
    end = at
    index, model = 0, ""
    for i in range(at, until(lines, at, fence)):
        text = lines[i][1].strip()
        where = source(name, lines[i])
        field, _, value = (part.strip() for part in text.partition(":"))
        if field == "NVRM version" and re.match(r"\d{3}\.\d", value):
            facts.append(DriverVersion(where, value[:20], "kernel"))
        elif field == "CUDA version" and re.match(r"\d{1,2}\.\d", value):
            facts.append(DriverCuda(where, value[:8]))
        elif field == "Device Index" and value[:3].isdigit():
            index, model = int(value[:3]), ""
        elif field == "Model":
            model = value[:80]
        elif field == "Architecture" and model and re.match(r"\d{1,2}\.\d$", value):
            facts.append(Gpu(where, model, value, index=index))
        elif not (
            field in ("Device Minor", "Brand", "GPU UUID", "Bus Location")
            or _CLI_LOG.match(text[:60])
            or text.startswith("-- WARNING")
            or not text
        ):
            break
        end = i + 1
    return Block(end, facts) if len(facts) > 1 else None


# --- lspci -------------------------------------------------------------------------------------------

_SLOT = lazy.compile(
    r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.\d (\S[^:\n]{2,50}?)(?: \[[0-9a-f]{4}\])?: ([^\n]{3,200})"
)
_DISPLAY = ("VGA compatible controller", "3D controller", "Display controller")
_CHIP = lazy.compile(r"\[(?P<name>[A-Za-z][^\[\]\n]{3,60})\](?: \[(?P<pci>10de:[0-9a-f]{4})\])?")
_PCI = lazy.compile(r"\[(10de:[0-9a-f]{4})\]")
_VENDORS = (("Advanced Micro Devices", "amd"), ("Intel Corporation", "intel"))


def lspci(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read lspci; with -nnk, also the kernel module that drives each device."""
    end = until(
        lines, at, lambda line: _SLOT.match(line[:300]) is None and not line.startswith((" ", "\t", "--"))
    )
    facts: list[Fact] = []
    keep: set[int] = set()
    nvidia = False
    for i in range(at, end):
        text = lines[i][1]
        where = source(name, lines[i])
        slot = _SLOT.match(text[:300])
        if slot:
            nvidia = slot[1] in _DISPLAY and slot[2].lower().startswith("nvidia")
            chip, pci = _CHIP.search(slot[2]), _PCI.search(slot[2])
            if nvidia:
                facts.append(Gpu(where, chip["name"] if chip else None, pci_id=pci[1] if pci else None))
            elif slot[1] in _DISPLAY:
                facts += (
                    OtherGpu(where, slot[2][:80], kind) for vendor, kind in _VENDORS if vendor in slot[2]
                )
            continue
        driver = after(text, "Kernel driver in use")
        if nvidia and driver in ("nvidia", "nouveau"):
            facts.append(KernelModule(where, driver))
        elif nvidia and driver:
            keep.add(i)
    return Block(end, facts, frozenset(keep)) if facts or end - at > 3 else None


# --- docker info -------------------------------------------------------------------------------------


_DOCKER = lazy.compile(r"\s{0,2}(?:Containers: \d|Client:(?: Docker Engine.{0,40})?\s{0,4}$|Server:\s{0,4}$)")


def docker_info(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read docker info, which describes the host and says nothing about a container."""
    end = until(lines, at, lambda line: fence(line) or (":" not in line and not line.startswith(" ")))
    facts: list[Fact] = []
    last = at
    for i in range(at, end):
        text = lines[i][1].strip()
        where = source(name, lines[i])
        if system := after(text, "Operating System"):
            facts.append(OperatingSystem(where, system[:80]))
        elif kernel := after(text, "Kernel Version"):
            facts.append(Kernel(where, kernel[:80]))
        if text:
            last = i
    return Block(last + 1, facts)


COLLECTORS = (
    Collector("| NVIDIA-SMI ", lazy.compile(r"\s{0,8}\| NVIDIA-SMI \d"), smi_table),
    Collector("NVSMI LOG", lazy.compile(r"={8,20}NVSMI LOG={8,20}"), smi_q),
    Collector("CPU Affinity", lazy.compile(r"\s{0,12}GPU0\s{1,8}(?:GPU1|CPU Affinity|NIC0|mlx)"), topo),
    Collector(
        "NVRM version:",
        lazy.compile(
            r"NVRM version:\s{1,8}\d|-- WARNING, the following logs are for debugging|I\d{4} [\d:.]{15}"
            r" {1,2}\d{1,9} nvc"
        ),
        container_cli,
    ),
    Collector("controller", _SLOT, lspci),
    Collector("Default Runtime:", _DOCKER, docker_info),
    Collector("Debug Mode: ", _DOCKER, docker_info),
)
