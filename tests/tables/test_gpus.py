"""Tests looking up GPUs by the names that people, nvidia-smi, lspci and cloud providers use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from doctor.tables import Tables
from doctor.tables.gpus import key, trimmed
from tests.sampling import each

KNOWN = {
    "RTX 3080": "8.6",
    "3080": "8.6",
    "rtx3090": "8.6",
    "GeForce GTX 1080 Ti": "6.1",
    "1080ti": "6.1",
    "gtx1060": "6.1",
    "GeForce GTX 1060 3GB": "6.1",
    "NVIDIA GeForce RTX 3080 Laptop GPU": "8.6",
    "NVIDIA GeForce RTX 3050 Laptop GPU": "8.6",
    "NVIDIA GeForce RTX 3050 A Laptop GPU": "8.9",
    "NVIDIA GeForce GTX 1650 with Max-Q Design": "7.5",
    "GeForce RTX 2070 Super": "7.5",
    "V100": "7.0",
    "Tesla V100-SXM2-16GB": "7.0",
    "Tesla P100-PCIE-16GB": "6.0",
    "Tesla T4": "7.5",
    "GRID T4-8Q": "7.5",
    "Tesla K80": "3.7",
    "Tesla K40m": "3.5",
    "Tesla M60": "5.2",
    "NVIDIA A100-SXM4-40GB": "8.0",
    "NVIDIA A100-SXM4-40GB MIG 1g.5gb": "8.0",
    "NVIDIA A10G": "8.6",
    "NVIDIA L4": "8.9",
    "NVIDIA H100 80GB HBM3": "9.0",
    "NVIDIA GH200 480GB": "9.0",
    "B200": "10.0",
    "NVIDIA GB10": "12.1",
    "NVIDIA GeForce RTX 4090": "8.9",
    "NVIDIA GeForce RTX 5090": "12.0",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "12.0",
    "NVIDIA RTX A6000": "8.6",
    "NVIDIA RTX 6000 Ada Generation": "8.9",
    "RTX 6000 Ada": "8.9",
    "Quadro RTX 6000": "7.5",
    "Quadro P5000": "6.1",
    "Quadro K620": "5.0",
    "GeForce 940MX": "5.0",
    "GeForce MX150": "6.1",
    "TITAN X (Pascal)": "6.1",
    "GeForce GTX TITAN X": "5.2",
    "Titan Xp": "6.1",
    "TITAN V": "7.0",
    "TITAN RTX": "7.5",
    "GeForce GTX 108...": "6.1",  # as nvidia-smi cuts off names
    "NVIDIA RTX PRO 1000 Blac": "12.0",
    "GeForce GTX TITAN Black": "3.5",
    "Jetson Nano": "5.3",
    "Xavier": "7.2",
    "Orin (nvgpu)": "8.7",
    "GP107 [GeForce GTX 1050 Ti]": "6.1",
    "GeForce 210": "1.2",
    "10de:13f2": "5.2",
    "0x13F210DE": "5.2",
    "10DE:2684": "8.9",
    "8.6": "8.6",
    "sm_90": "9.0",
    "compute_120": "12.0",
}


@each("name, capability", KNOWN.items())
def test_name_gives_its_compute_capability(tables: Tables, name: str, capability: str) -> None:
    assert tables.capability(name) == capability


@pytest.mark.parametrize(
    ("name", "capabilities"),
    [
        ("GeForce GT 730", {"2.1", "3.0", "3.5"}),
        ("GT 710", {"2.1", "3.5"}),
        ("GeForce GTX 860M", {"3.0", "5.0"}),
        ("TITAN X", {"5.2", "6.1"}),
    ],
)
def test_name_of_several_gpus_is_ambiguous(tables: Tables, name: str, capabilities: set[str]) -> None:
    assert tables.capability(name) is None
    assert {gpu.capability for gpu in tables.gpu(name)} == capabilities


@each(
    "name",
    [
        "",
        "GPU",
        "NVIDIA Graphics Device",
        "Radeon RX 580",
        "nonsense",
        "10de:ffff",
        "GeForce RTX",
        "GTX 9",
        "x" * 9999,
    ],
)
def test_unknown_name_gives_no_gpu(tables: Tables, name: str) -> None:
    assert tables.gpu(name) == ()
    assert tables.capability(name) is None


def test_pci_id_decides_if_the_name_is_ambiguous(tables: Tables) -> None:
    ids = [gpu.pci_id for gpu in tables.gpu("GeForce GT 730") if gpu.pci_id]
    assert sorted(tables.capability(pci_id) or "" for pci_id in ids) == ["2.1", "2.1", "3.0", "3.5"]


def test_key_keeps_the_words_that_distinguish_models() -> None:
    assert key("NVIDIA GeForce GTX1080Ti") == key("gtx 1080 Ti") == "gtx 1080 ti"
    assert key("GeForce RTX 4070 Ti SUPER") != key("GeForce RTX 4070 Ti")
    assert trimmed("Tesla V100-SXM2-16GB") == "v100"
    assert trimmed("GeForce RTX 3050 A Laptop GPU") != trimmed("GeForce RTX 3050 Laptop GPU")


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_every_named_device_is_found_by_its_own_name(
    step: int, tables: Tables, raw: Callable[[str], list[dict[str, Any]]]
) -> None:
    """Looking up the name in a row returns the chip in that row, perhaps among others."""
    lost = []
    for row in raw("gpus")[::step]:
        if row["name"] == row["chip"]:
            continue
        if row["capability"] not in {gpu.capability for gpu in tables.gpu(row["name"])}:
            lost.append(row["name"])
    assert lost == []


def test_every_row_has_the_capability_of_its_chip(raw: Callable[[str], list[dict[str, Any]]]) -> None:
    chips = {row["chip"]: row["capability"] for row in raw("chips")}
    assert [row for row in raw("gpus") if chips[row["chip"]] != row["capability"]] == []


def test_pci_ids_are_unique(raw: Callable[[str], list[dict[str, Any]]]) -> None:
    ids = [row["pci_id"] for row in raw("gpus")]
    assert len(ids) == len(set(ids))
    assert len(ids) > 1100
