"""Tests that a driver is called too new or too old for a GPU only if there is no sign that it supports the
GPU."""

from __future__ import annotations

from doctor.diagnose import diagnose
from doctor.facts import (
    DriverVersion,
    Fact,
    Facts,
    Gpu,
    KernelModule,
    Platform,
    Source,
    Symptom,
    TensorFlowVersion,
)
from doctor.logs import read
from doctor.tables import Tables

HERE = Source("the machine")
KEPLER = {"name": "NVIDIA GeForce GTX 680", "compute_capability": "3.0", "bus_id": "0000:01:00.0"}


def _verdict(gpu: Gpu, tables: Tables, driver: str = "550.54.14", *more: Fact) -> str:
    facts = (
        *more,
        Platform(HERE, "linux", "x86_64"),
        KernelModule(HERE, "nvidia"),
        DriverVersion(HERE, driver, "kernel"),
        gpu,
        TensorFlowVersion(HERE, "2.15.1", "tensorflow"),
    )
    return diagnose(Facts(facts, "machine", "a machine"), tables).verdict.code


def test_a_gpu_that_only_the_bus_shows_was_dropped_by_the_driver(tables: Tables) -> None:
    assert _verdict(Gpu(HERE, **KEPLER), tables) == "driver-too-new"


def test_the_driver_supports_a_gpu_that_it_lists(tables: Tables) -> None:
    assert (
        _verdict(Gpu(HERE, **KEPLER, uuid="GPU-00000001-0000-0000-0000-000000000000", index=0), tables)
        == "gpu-arch-too-old"
    )


def test_a_gpu_newer_than_the_driver_is_not_called_absent(tables: Tables) -> None:
    blackwell = Gpu(HERE, name="NVIDIA GeForce RTX 5070", compute_capability="12.0", bus_id="0000:01:00.0")
    assert _verdict(blackwell, tables, "535.183.01") == "gpu-arch-too-new"  # the driver may support it
    assert _verdict(blackwell, tables, "535.183.01", Symptom(HERE, "smi-no-devices")) == "driver-too-old"
    said = b"RTX 5070, driver 535.183.01, TensorFlow 2.19, Linux\n$ nvidia-smi\nNo devices were found\n"
    assert diagnose(read(said, "report"), tables).verdict.code == "driver-too-old"
