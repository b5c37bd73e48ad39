"""Finds a GPU by the name that people, nvidia-smi or a cloud use for it, by PCI id, or by compute
capability."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor import lazy
from doctor.tables import drivers
from doctor.tables.rows import GpuRow, made
from doctor.tables.store import Store, remembered

_BRANDS = frozenset(
    ("nvidia", "geforce", "tesla", "quadro", "grid", "corporation",
     "graphics", "card", "gpu", "device", "vga")
)  # fmt: skip
# the words in a board's name besides its model: form factor, memory, cooling, revision
_TRIM = lazy.compile(
    r"\b(?:mig \S+|rev a|rev|with max q design|max q|design|with|laptop|notebook|mobile|"
    r"\d+(?:\.\d+)?(?:gb|g)|\d{1,2}[qcab]|hbm\w*|gddr\w*|sxm\d?|pcie?|fhhl|dgxs|nvl|oam|"
    r"lite hash rate|lhr|engineering sample|oem|nvlink|generation|edition)\b"
)
_GLUED = lazy.compile(r"^(gtx|rtx|gts|gt|mx|titan)(\d.*)$")
_GTX = lazy.compile(r"\bgtx(?= (?:20[5-8]|[3-9]0[5-9])0\b)")
"""Matches GTX before a model number that exists only as RTX: people who write GTX there mean RTX."""
_TAIL = lazy.compile(r"^(\d{3,4})(ti)?(super)?$")


def row(raw: Mapping[str, Any]) -> GpuRow:
    """Convert a row of the file to a value."""
    where = f" [{raw['pci_id']}]" if raw.get("pci_id") else ""
    chip = f", chip {raw['chip']}" if raw.get("chip") else ""
    capability = raw.get("capability")
    compute = capability or "differs between GPUs with this name"
    about = f"{raw['name']}{where}: compute capability {compute}{chip}"
    return made(GpuRow, raw, about, capability=capability)


@remembered
def find(store: Store, asked: str) -> tuple[GpuRow, ...]:
    """See Tables.gpu."""
    text = asked.strip()
    capability_asked = _as_capability(text)
    if capability_asked is not None:
        return tuple(row(raw) for raw in _rows(store) if raw.get("capability") == capability_asked)
    pci_id = _as_pci_id(text)
    if pci_id is not None:
        return tuple(row(raw) for raw in store.all("gpus") if raw.get("pci_id") == pci_id)
    family = {c for one in drivers.architectures(store) if one.name == text for c in one.capabilities}
    if family:
        return tuple(row(raw) for raw in _rows(store) if raw.get("capability") in family)
    return tuple(row(raw) for raw in _by_name(store, text))


@remembered
def capability(store: Store, asked: str) -> str | None:
    """Return the compute capability that all rows of this name share; None if they differ or there are
    none."""
    direct = _as_capability(asked.strip())
    if direct is not None:
        return direct
    found: set[str | None] = {gpu.capability for gpu in find(store, asked)} or _of_beginning(store, asked)
    return found.pop() if len(found) == 1 else None


def _of_beginning(store: Store, asked: str) -> set[str | None]:
    """Return the compute capabilities of all GPUs whose names begin with this string, because nvidia-smi cuts
    off long names ("GeForce GTX 108...")."""
    begun = key(asked.rstrip(". "))
    if len(begun) < 6 or not any(c.isdigit() for c in begun):
        return set()
    return {
        raw.get("capability")
        for raw in _rows(store)
        if any(key(name).startswith(begun) for name in _names(raw))
    }


def key(name: str) -> str:
    """Return the words of a name that distinguish models: "gtx 1080 ti" for "NVIDIA GeForce GTX1080Ti"."""
    text = re.sub(r"\((?:r|tm|c)\)|[®™©]", " ", name.lower())
    text = re.sub(r"[-_/,()\[\]]+", " ", text)
    words: list[str] = []
    for word in text.split():
        if word in _BRANDS:
            continue
        glued = _GLUED.match(word)
        pieces = [*glued.groups()] if glued else [word]
        tail = _TAIL.match(pieces[-1])
        if tail:
            pieces[-1:] = filter(None, tail.groups())
        words += pieces
    return _GTX.sub("rtx", " ".join(words))


def trimmed(name: str) -> str:
    """Return the key of a name without form factor, memory size and similar words: "v100" for "tesla
    v100-sxm2-16gb"."""
    return " ".join(_TRIM.sub(" ", key(name)).split())


def _by_name(store: Store, asked: str) -> list[Mapping[str, Any]]:
    described = re.match(r"\s*([A-Z]{1,3}\d{2,3}[0-9A-Z]?)(?:GLM|GL|BM|M)?\s*\[(.*)\]", asked)
    if described:  # lspci's "GP107 [GeForce GTX 1050 Ti]": the chip decides
        return [raw for raw in _rows(store) if raw.get("chip") == described.group(1)]
    wanted, short = key(asked), trimmed(asked)
    if not short:
        return []
    # the longest word is nearly always the model number; only rows that contain it are compared in full
    model = max(short.split(), key=lambda word: (any(c.isdigit() for c in word), len(word)))
    rows = [raw for raw in _rows(store) if any(model in name.lower() for name in _names(raw))]
    exact = [raw for raw in rows if wanted in map(key, _names(raw))]
    if exact:
        return exact
    same = [raw for raw in rows if short in map(trimmed, _names(raw))]
    if same or not any(c.isdigit() for c in short):
        return same
    # the end of a name, such as "1080 Ti"
    numbered = [raw for raw in rows if any(f" {trimmed(n)}".endswith(f" {short}") for n in _names(raw))]
    return numbered or [raw for raw in _rows(store) if raw.get("chip", "").lower() == short]


def _names(raw: Mapping[str, Any]) -> tuple[str, ...]:
    return (raw["name"], *(raw.get("aliases") or ()))


def _as_capability(text: str) -> str | None:
    match = re.fullmatch(r"(\d{1,2})\.(\d)", text)
    if match:
        return f"{int(match.group(1))}.{match.group(2)}"
    match = re.fullmatch(r"(?:sm|compute)_?(\d{1,2})(\d)[af]?", text.lower())
    return f"{int(match.group(1))}.{match.group(2)}" if match else None


def _as_pci_id(text: str) -> str | None:
    match = re.fullmatch(r"(?:0x)?10de[:\s](?:0x)?([0-9a-f]{4})", text.lower())
    if match:
        return f"10de:{match.group(1)}"
    # pci.device_id of nvidia-smi has the device before the vendor
    match = re.fullmatch(r"0x([0-9a-f]{4})10de", text.lower())
    return f"10de:{match.group(1)}" if match else None


def _rows(store: Store) -> tuple[Mapping[str, Any], ...]:
    return (*store.all("gpus"), *store.all("gpu_names"))
