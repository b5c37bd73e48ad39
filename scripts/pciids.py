"""Reads NVIDIA's GPUs from a pci.ids file: device id, name and chip. The chip determines the compute
capability."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_DEVICE = re.compile(r"^\t([0-9a-f]{4})  (.+)$")
_CHIP = re.compile(
    r"^(MCP7[7-9A]|MCP89|C7[789]|G[89][0-8]|GT2\d\d[ab]?|G[FKMPVAH]\d\d[0-9A-F]|GB\d\d[0-9]|GB\d\dB|TU\d{3}"
    r"|AD\d{3})"
    r"([BC]?)(GLM|GL|BM|M|S)?(?= |$)"
)
_NOT_A_GPU = re.compile(
    r"audio|usb|ucsi|bridge|switch|memory|smbus|ethernet|controller|co-?processor|ide$", re.IGNORECASE
)


def nvidia_devices(text: str) -> Iterator[tuple[str, str]]:
    """Yield (device id, description) for every NVIDIA device in a pci.ids file."""
    inside = False
    for line in text.splitlines():
        if line.startswith("10de  "):
            inside = True
        elif inside and line and not line.startswith(("\t", "#")):
            return
        elif inside:
            match = _DEVICE.match(line)
            if match:
                yield match.group(1), match.group(2)


def gpus(text: str, chips: Mapping[str, str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a row for every device id whose chip is in `chips`, and the descriptions of the GPUs whose chips
    are not. text: the content of a pci.ids file. chips: maps a chip to its compute capability."""
    version = re.search(r"^#\s*Version:\s*(\S+)", text, re.MULTILINE)
    source = f"pci.ids {version.group(1) if version else 'of unknown date'}, chips.json"
    rows: list[dict[str, Any]] = []
    unknown: list[str] = []
    for device, description in nvidia_devices(text):
        if _NOT_A_GPU.search(description):
            continue
        match = _CHIP.match(description)
        if not match:
            continue
        chip = match.group(1) + match.group(2)
        capability = chips.get(chip) or chips.get(match.group(1))
        if capability is None:
            unknown.append(description)
            continue
        if chips.get(chip) is None:
            chip = match.group(1)
        bracket = re.search(r"\[(.+)\]", description)
        names = alternatives(bracket.group(1)) if bracket else [chip]
        suffix = match.group(3) or ""
        kind = (
            "laptop"
            if suffix in ("M", "BM", "GLM") or "mobile" in description.lower()
            else ("workstation" if suffix == "GL" else "desktop")
        )
        row: dict[str, Any] = {
            "pci_id": f"10de:{device}",
            "name": names[0],
            "chip": chip,
            "capability": capability,
        }
        if len(names) > 1:
            row["aliases"] = names[1:]
        row.update(kind=kind, source=source)
        rows.append(row)
    return rows, unknown


def alternatives(name: str) -> list[str]:
    """Return the names that a name such as "TS4 / B100" contains. "GeForce RTX 3080 Mobile / Max-Q 8GB/16GB"
    is one name: one model in two forms."""
    parts = [part.strip() for part in name.split(" / ")]
    named = [parts[0]]
    for part in parts[1:]:
        if re.match(r"(?:Max-Q|Mobile|Laptop|\d+ ?GB)", part):
            model = re.sub(r" (?:Mobile|Max-Q).*$", "", parts[0])
            part = f"{model} {re.split(r'[ ]*[0-9]+ ?GB', part)[0]}".strip()
        if part and part not in named:
            named.append(part)
    return named
