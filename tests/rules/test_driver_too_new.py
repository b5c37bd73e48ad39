"""A driver is called too new for a GPU only where nothing shows that it serves it."""

from __future__ import annotations

from doctor.diagnose import diagnose
from doctor.facts import DriverVersion, Facts, Gpu, KernelModule, Platform, Source, TensorFlowVersion
from doctor.tables import Tables

HERE = Source("the machine")
KEPLER = {"name": "NVIDIA GeForce GTX 680", "compute_capability": "3.0", "bus_id": "0000:01:00.0"}


def _verdict(gpu: Gpu, tables: Tables) -> str:
    facts = (
        Platform(HERE, "linux", "x86_64"),
        KernelModule(HERE, "nvidia"),
        DriverVersion(HERE, "550.54.14", "kernel"),
        gpu,
        TensorFlowVersion(HERE, "2.15.1", "tensorflow"),
    )
    return diagnose(Facts(facts, "machine", "a machine"), tables).verdict.code


def test_a_gpu_that_only_the_bus_shows_is_one_that_the_driver_dropped(tables: Tables) -> None:
    assert _verdict(Gpu(HERE, **KEPLER), tables) == "driver-too-new"


def test_a_gpu_that_the_driver_lists_is_served_by_it(tables: Tables) -> None:
    assert (
        _verdict(Gpu(HERE, **KEPLER, uuid="GPU-00000001-0000-0000-0000-000000000000", index=0), tables)
        == "gpu-arch-too-old"
    )
