"""GPU names to simulated GPUs: what the compatibility tables and `compat_tables/simulated_gpus.json` know of a card."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from doctor.simulate.compilation import CallError
from doctor.simulate.machine import SimulatedGpu
from doctor.simulate.mig import is_divisible
from doctor.tables import Tables
from doctor.tables.gpus import key

DEFAULT_GPU = "RTX 3070"
ASSUMED_MULTIPROCESSORS = 16


def known_gpus(tables: Tables) -> tuple[SimulatedGpu, ...]:
    """Every GPU whose memory and multiprocessors are known, in the order of the table (by generation)."""
    return tuple(_gpu(row, tables) for row in tables.store.all("simulated_gpus"))


def find_gpu(asked: str, tables: Tables, memory_mib: int | None = None) -> SimulatedGpu:
    """The GPU that a name ("RTX 3070", "t4"), a PCI id or a compute capability means.

    memory_mib: in place of the card's own; needed where the table does not know the card, whose multiprocessors are
    then taken as ASSUMED_MULTIPROCESSORS. Raises CallError for a name that means no GPU, and for an unknown
    card without memory.
    """
    rows = tables.store.all("simulated_gpus")
    words = set(key(asked).split())
    named = sorted((row for row in rows if words and words <= set(key(row["name"]).split())), key=_words_in_name)
    meant = {} if named else {row.pci_id: row for row in tables.gpu(asked)}
    named = named or [row for row in rows if row["pci_id"] in meant]
    if named:
        gpu = _gpu(named[0], tables)
        return replace(gpu, memory_mib=memory_mib) if memory_mib else gpu
    names = ", ".join(gpu.name.removeprefix("NVIDIA ").removeprefix("GeForce ") for gpu in known_gpus(tables))
    card = next((row for row in meant.values() if row.pci_id and row.capability), None)
    if card is None or card.pci_id is None or card.capability is None:
        raise CallError(f"no GPU in the tables is called {asked!r}; known with all that a simulation needs: {names}")
    if memory_mib is None:
        raise CallError(
            f"the memory of a {card.name} is not in the tables: say it with --memory MIB, or take one of: {names}"
        )
    name = f"NVIDIA {card.name}"
    divisible = is_divisible(name, card.capability)
    return SimulatedGpu(name, card.capability, memory_mib, ASSUMED_MULTIPROCESSORS, card.pci_id, divisible=divisible)


def _gpu(row: dict[str, Any], tables: Tables) -> SimulatedGpu:
    capability = tables.capability(row["pci_id"])
    if capability is None:
        raise CallError(f"gpus.json has no compute capability for {row['name']} ({row['pci_id']})")
    memory, divisible = row["memory_gib"] * 1024, is_divisible(row["name"], capability)
    return SimulatedGpu(row["name"], capability, memory, row["multiprocessors"], row["pci_id"], divisible=divisible)


def _words_in_name(row: dict[str, Any]) -> int:
    """Of the names that hold all that was asked the shortest is meant: "1080" is not a GTX 1080 Ti."""
    return len(key(row["name"]).split())
