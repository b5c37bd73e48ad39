"""Tests what the tool does with the driver's answers. Libraries that are compiled for the tests answer,
refuse, hang or crash."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from pathlib import Path

import pytest

from doctor.facts import (
    Absent,
    CudaCallFailed,
    DriverCuda,
    DriverMismatch,
    DriverVersion,
    Fact,
    Gpu,
    GpuMemory,
    GpuProcess,
    LibraryLoaded,
    Symptom,
    Unreadable,
)
from doctor.probe import calls, examine
from doctor.probe.machine import Machine
from doctor.probe.script import script
from tests.probe.machines import Folder
from tests.probe.shared_objects import compile_library, needs_compiler
from tests.probe.test_verdicts import with_wheels
from tests.remedies.following import answers, under_variables

ANSWERING = """
int cuDriverGetVersion(int *v) { *v = 12040; return 0; }
int cuGetErrorName(int code, const char **name)
{ *name = code == 100 ? "CUDA_ERROR_NO_DEVICE" : 0; return *name ? 0 : 1; }
int cuInit(unsigned flags) { %s }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDeviceGetName(char *name, int size, int d) { __builtin_strcpy(name, "Test GPU"); return 0; }
int cuDeviceGetAttribute(int *v, int a, int d)
{ *v = a == 75 ? 8 : a == 76 ? 6 : a == 16 ? 46 : 0; return 0; }
int cuDeviceGetPCIBusId(char *bus, int size, int d) { __builtin_strcpy(bus, "0000:01:00.0"); return 0; }
int cuDeviceTotalMem_v2(unsigned long *n, int d) { *n = 8ul << 30; return 0; }
"""


def with_libcuda(folder: Path, init: str) -> Machine:
    """Return this machine, with a libcuda that is compiled for the test."""
    compile_library(folder / "libcuda.so.1", soname="libcuda.so.1", code=ANSWERING % init)
    env = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(folder)}
    return dataclasses.replace(Machine.here(), env=env)


def asked(machine: Machine) -> list[Fact]:
    return list(calls.ask(machine))


@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux shared objects")
class TestLibcuda:
    """Tests with a libcuda that is really loaded and called, in a separate process."""

    def test_its_gpus_and_versions_become_facts(self, tmp_path: Path) -> None:
        facts = asked(with_libcuda(tmp_path, "return 0;"))
        (gpu,) = [fact for fact in facts if isinstance(fact, Gpu)]
        assert (gpu.name, gpu.compute_capability, gpu.memory_mib, gpu.multiprocessors) == (
            "Test GPU",
            "8.6",
            8192,
            46,
        )
        assert [fact.version for fact in facts if isinstance(fact, DriverCuda)] == ["12.4"]
        (opened,) = [fact for fact in facts if isinstance(fact, LibraryLoaded)]
        assert opened.path == str(tmp_path / "libcuda.so.1")

    def test_an_error_of_the_driver_is_reported_by_name(self, tmp_path: Path) -> None:
        facts = asked(with_libcuda(tmp_path, "return 100;"))
        refused = [fact for fact in facts if isinstance(fact, CudaCallFailed) and fact.call == "cuInit"]
        assert [fact.error for fact in refused] == ["CUDA_ERROR_NO_DEVICE"]

    def test_a_code_without_a_name_keeps_its_number(self, tmp_path: Path) -> None:
        facts = asked(with_libcuda(tmp_path, "return 999;"))
        assert [f.error for f in facts if isinstance(f, CudaCallFailed) and f.call == "cuInit"] == [
            "CUDA_ERROR_999"
        ]

    def test_a_driver_that_hangs_is_a_fact_after_the_limit(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(calls, "LIMIT", 2.0)
        start = time.monotonic()
        facts = asked(with_libcuda(tmp_path, "for (;;) {}"))
        assert time.monotonic() - start < 15
        (hung,) = [fact for fact in facts if isinstance(fact, Symptom) and fact.kind == "hung-driver"]
        assert hung.get("call") == "cuInit"
        assert any(isinstance(fact, Unreadable) and fact.what == "libcuda.so.1" for fact in facts)

    def test_a_driver_that_crashes_does_not_end_the_check(self, tmp_path: Path) -> None:
        facts = asked(with_libcuda(tmp_path, "*(volatile int *)0 = 1; return 0;"))
        crashes = [fact for fact in facts if isinstance(fact, Symptom) and fact.kind == "driver-call-crashed"]
        assert ("cuInit", "11") in [(fact.get("call"), fact.get("signal")) for fact in crashes]

    def test_a_process_that_started_the_check_and_uses_the_gpu_is_reported(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        node = tmp_path / "nvidia-uvm"
        own = script("_ask_driver.py").replace("/dev/nvidia-uvm", str(node.resolve()))
        monkeypatch.setattr("doctor.probe.script.script", lambda name: own)
        machine = with_libcuda(tmp_path, "return 0;")
        with node.open("w"):
            seen = [fact for fact in asked(machine) if isinstance(fact, Symptom)]
        assert [s.get("pids").split() for s in seen if s.kind == "caller-uses-gpu"] == [[str(os.getpid())]]
        assert not any(isinstance(f, Symptom) and f.kind == "caller-uses-gpu" for f in asked(machine))

    def test_a_library_without_the_drivers_functions_is_not_a_driver(self, tmp_path: Path) -> None:
        compile_library(tmp_path / "libcuda.so.1", soname="libcuda.so.1")
        machine = dataclasses.replace(
            Machine.here(), env={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(tmp_path)}
        )
        (refused,) = [f for f in asked(machine) if isinstance(f, CudaCallFailed) and f.call == "cuInit"]
        assert "symbol not found" in refused.error


def test_each_gpu_is_one_fact_with_the_details_from_all_probes(tmp_path: Path) -> None:
    facts = Folder(tmp_path).working_gpu().facts()
    (gpu,) = facts.of(Gpu)
    assert (gpu.name, gpu.pci_id, gpu.memory_mib, gpu.index) == (
        "NVIDIA GeForce RTX 3070",
        "10de:2484",
        8192,
        0,
    )
    assert facts.of(GpuMemory)[0].free_mib == 8192 - 300
    assert facts.absent("nvidia gpu") is None


def test_hostile_answers_become_no_facts_and_cause_no_crash(tmp_path: Path) -> None:
    machine = Folder(tmp_path).gpu().driver()
    lines = [
        (
            '{"part": "nvml", "answer": {"devices": [1, null, {"index": "x", "memory": ["a"], "name": 5}],'
            ' "driver": 7}}'
        ),
        '{"part": "cuda", "answer": {"cuda": "no", "devices": "none", "files": 3}}',
        "no json at all",
        '{"part": 7}',
    ]
    machine.record["answers"] = {"driver": {"status": 0, "out": "\n".join(lines)}}
    facts = machine.facts()
    assert not [fact for fact in facts.of(Unreadable) if "the probe failed" in fact.reason]


def test_a_process_has_a_name_only_if_the_answer_contains_it(tmp_path: Path) -> None:
    machine = Folder(tmp_path).working_gpu()
    answer = (
        '{"part": "nvml", "answer": {"devices": [{"index": 0, "bus_id": "0000:01:00.0", "compute_mode": 3,'
        ' "mig": 1, "processes": [[10, 1073741824, "python"], [11, 2097152, null]]}]}}'
    )
    machine.record["answers"] = {"driver": {"status": 0, "out": answer}}
    facts = machine.facts()
    assert [(p.pid, p.name, p.memory_mib) for p in facts.of(GpuProcess)] == [
        (10, "python", 1024),
        (11, None, 2),
    ]
    assert facts.has("compute-mode-exclusive", "mig-enabled")


@pytest.mark.parametrize(
    ("line", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023",
            "535.129.03",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build", "550.54.14"),
        ("NVRM version: NVIDIA UNIX aarch64 Kernel Module  570.26  Tue", "570.26"),
    ],
)
def test_the_kernel_modules_version_is_read_in_every_format(tmp_path: Path, line: str, version: str) -> None:
    facts = Folder(tmp_path).write("/proc/driver/nvidia/version", line + "\n").facts()
    assert [(fact.version, fact.part) for fact in facts.of(DriverVersion)] == [(version, "kernel")]


def test_different_versions_of_module_and_libraries_are_a_mismatch(tmp_path: Path) -> None:
    facts = Folder(tmp_path).gpu().kernel_module("535.129.03").user_driver("550.54.14").facts()
    (mismatch,) = facts.of(DriverMismatch)
    assert (mismatch.kernel, mismatch.user) == ("535.129.03", "550.54.14")


def test_a_missing_driver_is_absent_and_not_unreadable(tmp_path: Path) -> None:
    facts = Folder(tmp_path).gpu(driver=None).facts()
    assert {fact.what for fact in facts.of(Absent)} >= {
        "nvidia driver",
        "nvidia kernel module",
        "libcuda",
        "device nodes",
    }


def test_without_a_readable_bus_no_gpu_is_reported_as_absent(tmp_path: Path) -> None:
    machine = Folder(tmp_path)
    os.rename(tmp_path / "sys", tmp_path / "elsewhere")  # noqa: PTH104
    facts = machine.facts()
    assert facts.absent("nvidia gpu") is None
    assert [fact.what for fact in facts.of(Unreadable) if fact.what == "nvidia gpu"]


def test_secure_boot_and_the_kernel_log_are_read(tmp_path: Path) -> None:
    machine = Folder(tmp_path).working_gpu()
    variable = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    machine.write(variable, b"\x06\0\0\0\x01")
    lines = "kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.\n" * 3
    facts = machine.write("/var/log/kern.log", lines).facts()
    assert facts.has("secure-boot-enabled")
    assert [fact.get("xid") for fact in facts.symptoms("xid")] == ["79"]


def test_a_gpu_that_the_kernel_cannot_wake_is_lost(tmp_path: Path) -> None:
    line = (
        "kernel: nvidia 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible\n"
    )
    facts = Folder(tmp_path).working_gpu().write("/var/log/kern.log", line).facts()
    assert len(facts.symptoms("gpu-lost")) == 1


def test_a_gpu_reserved_for_a_virtual_machine_is_reported(tmp_path: Path) -> None:
    facts = Folder(tmp_path).gpu(driver="vfio-pci").facts()
    assert [fact.get("driver") for fact in facts.symptoms("gpu-bound-to-other-driver")] == ["vfio-pci"]


def test_the_machine_that_runs_this_can_be_examined() -> None:
    facts = examine(Machine.here())
    assert not [fact for fact in facts.of(Unreadable) if "the probe failed" in fact.reason]


@pytest.mark.parametrize(
    ("callers", "named", "code"),
    [
        ([], True, "gpu-memory-held"),
        ([], False, "gpu-memory-held"),
        ([4000], True, "healthy"),
        ([4000], False, "healthy"),
        ([77], True, "gpu-memory-held"),
    ],
)
def test_memory_held_by_the_notebook_that_runs_the_check_is_not_counted_as_held_by_others(
    callers: list[int], named: bool, code: str, tmp_path: Path
) -> None:
    machine = with_wheels(Folder(tmp_path).working_gpu(), "2.15.1").answers(used_mib=[7800], named=named)
    machine.answered({**answers(machine), "callers": callers})
    assert machine.diagnosis().verdict.code == code


@pytest.mark.parametrize(
    ("visible", "code"), [("0", "healthy"), ("1", "gpu-memory-held"), ("0,1", "gpu-memory-held")]
)
def test_only_memory_on_visible_gpus_counts_as_held_by_others(
    visible: str, code: str, tmp_path: Path
) -> None:
    machine = with_wheels(Folder(tmp_path).working_gpu(), "2.15.1").answers(used_mib=[300, 7800])
    machine.pci("0000:02:00.0", "10de", "2484", "030000", "nvidia").env(CUDA_VISIBLE_DEVICES=visible)
    under_variables(machine)
    assert machine.diagnosis().verdict.code == code


def test_the_memory_of_a_divided_gpu_is_not_the_memory_of_an_instance(tmp_path: Path) -> None:
    machine = with_wheels(Folder(tmp_path).working_gpu(), "2.15.1").answers(used_mib=[7800])
    parts = answers(machine)
    instance = {"name": "MIG 1g.1gb", "uuid": "MIG-1", "memory": None, "numbers": [1, 0]}
    parts["nvml"]["devices"][0].update(mig=1, mig_devices=[instance])
    assert machine.answered(parts).diagnosis().verdict.code == "healthy"
