"""Tests that any NVIDIA GPU in the tables can be simulated, or that the tool asks for data that the tables
lack."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from doctor.simulate.compilation import CallError
from doctor.simulate.gpus import find_gpu
from doctor.tables import Tables
from tests.sampling import each

if TYPE_CHECKING:
    from typing import TypeAlias

Raw: TypeAlias = "Callable[[str], list[dict[str, Any]]]"
MEMORY = {
    "RTX 4070": 12,
    "L40S": 48,
    "GTX 1070": 8,
    "RTX 3060 Ti": 8,
    "A6000": 48,
    "TITAN V": 12,
    "RTX 2080": 8,
    "GTX 970": 4,
    "RTX 4090 Laptop GPU": 16,
    "RTX 2060 SUPER": 8,
    "Quadro P5000": 16,
    "P40": 24,
    "RTX 5070 Ti": 16,
    "A2": 16,
    "RTX 3070": 8,
    "T4": 16,
    "1080": 8,
    "1080 Ti": 11,
    "A100": 40,
    "V100": 16,
    "H100": 80,
    "K80": 12,
    "A30": 24,
    "L4": 24,
    "GTX 1060": 6,
    "GTX 1060 3GB": 3,
    "RTX 3080": 10,
    "RTX 6000 Ada": 48,
    "GTX 1650": 4,
    "GTX 980 Ti": 6,
}
"""GiB, from NVIDIA's product pages."""
TWICE_SOLD = {"RTX 4060 Ti": ("8192", "16384"), "RTX 5060 Ti": ("8192", "16384")}


@pytest.fixture
def raw(tables: Tables) -> Raw:
    """A function that returns the rows of a table as they are in its file."""
    return lambda table: list(tables.store.all(table))  # type: ignore[arg-type]


@each("name, gib", MEMORY.items())
def test_name_gives_its_memory(tables: Tables, name: str, gib: int) -> None:
    gpu = find_gpu(name, tables)
    assert gpu.memory_mib == gib * 1024
    assert gpu.compute_capability in {row.capability for row in tables.gpu(name)} or not tables.gpu(name)


@pytest.mark.parametrize(("name", "sizes"), TWICE_SOLD.items())
def test_card_of_two_sizes_asks_which(tables: Tables, name: str, sizes: tuple[str, ...]) -> None:
    with pytest.raises(CallError, match=" MiB and ".join(sizes) + " MiB: choose one with --memory MIB"):
        find_gpu(name, tables)
    assert find_gpu(name, tables, int(sizes[1])).memory_mib == int(sizes[1])


def test_every_gpu_since_kepler_is_simulated_or_its_memory_is_asked_for(tables: Tables, raw: Raw) -> None:
    asked = 0
    documented = {row["pci_id"] for row in raw("simulated_gpus")}
    for row in (row for row in raw("gpus") if float(row["capability"]) >= 3.0):
        if len(row.get("memory_mib", ())) == 1 or row["pci_id"] in documented:
            gpu = find_gpu(row["pci_id"], tables)
        else:
            with pytest.raises(CallError, match=r"--memory MIB$"):
                find_gpu(row["pci_id"], tables)
            gpu = find_gpu(row["pci_id"], tables, 4096)
            asked += 1
        assert (gpu.compute_capability, gpu.pci_id) == (row["capability"], row["pci_id"])
        assert 1 <= gpu.multiprocessors <= 256, row
        assert 256 <= gpu.memory_mib <= 300 * 1024, row
    assert asked < 300, "most cards have a memory in the table"


def test_memory_in_a_name_is_the_memory_in_its_row(raw: Raw) -> None:
    """The name and the data sheet of a card state the same memory."""
    for row in raw("gpus"):
        named = re.search(r"\b(\d+) ?GB\b", row["name"])
        if named and row.get("memory_mib"):
            assert row["memory_mib"] == [int(named[1]) * 1024], row


def test_simulated_cards_of_nvidias_documents_agree_with_the_table(raw: Raw) -> None:
    sheets = {row["pci_id"]: row for row in raw("gpus")}
    for card in raw("simulated_gpus"):
        sheet = sheets[card["pci_id"]]
        if len(sheet.get("memory_mib", ())) == 1:
            assert sheet["memory_mib"] == [card["memory_gib"] * 1024], card
            assert (
                abs(sheet.get("multiprocessors", card["multiprocessors"]) - card["multiprocessors"]) <= 2
            ), card  # an L4 has 58, not 60 as in the list


def test_every_memory_names_its_source(raw: Raw) -> None:
    assert {row.get("memory_source", "") != "" for row in raw("gpus") if "memory_mib" in row} == {True}
