"""Turns GPU names into simulated GPUs, with the data about each card in the compatibility tables and in
`compat_tables/simulated_gpus.json`."""

from __future__ import annotations

from typing import Any

from doctor.backports import removeprefix
from doctor.simulate.compilation import CallError
from doctor.simulate.machine import SimulatedGpu
from doctor.simulate.mig import is_divisible
from doctor.tables import Tables
from doctor.tables.gpus import key
from doctor.tables.rows import GpuRow
from doctor.values import replace

DEFAULT_GPU = "RTX 3070"
ASSUMED_MULTIPROCESSORS = 16


def known_gpus(tables: Tables) -> tuple[SimulatedGpu, ...]:
    """Every GPU whose memory and multiprocessors are known, in the order of the table (by generation)."""
    return tuple(_gpu(row, tables) for row in tables.store.all("simulated_gpus"))


def find_gpu(asked: str, tables: Tables, memory_mib: int | None = None) -> SimulatedGpu:
    """The GPU for a name ("RTX 3070", "t4"), a PCI id or a compute capability.

    memory_mib: a memory size to use instead of the card's own. Raises CallError if no GPU has the name, or if
    --memory is needed because the tables lack the memory size or cards with this name were sold with several
    sizes.
    """
    rows = tables.store.all("simulated_gpus")
    words = set(key(asked).split())
    meant = {row.pci_id: row for row in tables.gpu(asked)}
    card = _card(list(meant.values()))
    named = [row for row in rows if row["pci_id"] in meant]
    if not named and (card is None or len(card.memory_mib) != 1):  # a part of a name: A100 is the 40 GB one
        named = [row for row in rows if words and words <= set(key(row["name"]).split())]
        named.sort(key=_words_in_name)
    if named:
        gpu = _gpu(named[0], tables)
        return replace(gpu, memory_mib=memory_mib) if memory_mib else gpu
    if card is None or card.pci_id is None or card.capability is None:
        names = ", ".join(
            removeprefix(removeprefix(gpu.name, "NVIDIA "), "GeForce ") for gpu in known_gpus(tables)
        )
        raise CallError(f"no GPU in the tables is called {asked!r}; known GPUs include: {names}")
    if memory_mib is None and len(card.memory_mib) != 1:
        sizes = " and ".join(f"{size} MiB" for size in card.memory_mib)
        raise CallError(
            f"{card.name} was sold with {sizes}: choose one with --memory MIB"
            if sizes
            else f"the memory size of {card.name} is not in the tables: add --memory MIB"
        )
    memory = memory_mib or card.memory_mib[0]
    processors = card.multiprocessors or ASSUMED_MULTIPROCESSORS
    return _made(f"NVIDIA {card.name}", card.capability, memory, processors, card.pci_id)


def _made(name: str, capability: str, memory_mib: int, multiprocessors: int, pci_id: str) -> SimulatedGpu:
    divisible = is_divisible(name, capability)
    return SimulatedGpu(name, capability, memory_mib, multiprocessors, pci_id, divisible=divisible)


def _card(rows: list[GpuRow]) -> GpuRow | None:
    """The row to simulate among those that match a name: a real device, if possible one with known memory."""
    real = [row for row in rows if row.pci_id and row.capability]
    return min(
        real,
        key=lambda row: (not row.memory_mib, row.kind != "desktop", row.multiprocessors is None),
        default=None,
    )


def _gpu(row: dict[str, Any], tables: Tables) -> SimulatedGpu:
    capability = tables.capability(row["pci_id"])
    if capability is None:
        raise CallError(f"gpus.json has no compute capability for {row['name']} ({row['pci_id']})")
    return _made(row["name"], capability, row["memory_gib"] * 1024, row["multiprocessors"], row["pci_id"])


def _words_in_name(row: dict[str, Any]) -> int:
    """A sort key: of the names that contain all requested words, the shortest is chosen ("1080" does not mean
    a GTX 1080 Ti)."""
    return len(key(row["name"]).split())
