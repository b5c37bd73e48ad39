"""Tests NVML clients on a simulated machine: NVIDIA's own Python binding reads it like a real machine."""

from __future__ import annotations

import json

import pytest

from tests.sampling import sampled

ASK = """
import json, pynvml
pynvml.nvmlInit()
rows = []
for index in range(pynvml.nvmlDeviceGetCount()):
    gpu = pynvml.nvmlDeviceGetHandleByIndex(index)
    pci = pynvml.nvmlDeviceGetPciInfo(gpu)
    rows.append([
        pynvml.nvmlDeviceGetName(gpu),
        list(pynvml.nvmlDeviceGetCudaComputeCapability(gpu)),
        pynvml.nvmlDeviceGetMemoryInfo(gpu).total >> 20,
        pci.busId, hex(pci.pciDeviceId), pynvml.nvmlDeviceGetUUID(gpu), pynvml.nvmlDeviceGetComputeMode(gpu),
    ])
print(json.dumps([pynvml.nvmlSystemGetDriverVersion(), pynvml.nvmlSystemGetCudaDriverVersion(), rows]))
pynvml.nvmlShutdown()
"""


def test_a_mix_of_gpus_is_listed_in_the_order_of_the_bus(inside):
    done = inside(ASK, gpus=["T4", "RTX 3070"], driver="535.104.05", variables={"CUDA_VISIBLE_DEVICES": "1"})
    driver, cuda, rows = json.loads(done.stdout)
    assert (driver, cuda) == ("535.104.05", 12020)
    assert [row[:5] for row in rows] == [
        ["Tesla T4", [7, 5], 16384, "00000000:01:00.0", "0x1eb810de"],
        ["NVIDIA GeForce RTX 3070", [8, 6], 8192, "00000000:02:00.0", "0x248410de"],
    ]
    assert len({row[5] for row in rows}) == 2


def test_a_count_and_another_memory(inside):
    done = inside(ASK, gpus=["RTX 3070"], count=3, memory_mib=[4096])
    assert [row[2] for row in json.loads(done.stdout)[2]] == [4096] * 3


MIG = """
import json, pynvml
pynvml.nvmlInit()
rows = []
for index in range(pynvml.nvmlDeviceGetCount()):
    gpu = pynvml.nvmlDeviceGetHandleByIndex(index)
    try:
        mode = pynvml.nvmlDeviceGetMigMode(gpu)
    except pynvml.NVMLError as error:
        rows.append(type(error).__name__)
        continue
    parts = []
    for place in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
        try:
            part = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, place)
        except pynvml.NVMLError_NotFound:
            continue
        assert pynvml.nvmlDeviceIsMigDeviceHandle(part)
        whole = pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(part)
        assert pynvml.nvmlDeviceGetUUID(whole) == pynvml.nvmlDeviceGetUUID(gpu)
        attributes = pynvml.nvmlDeviceGetAttributes_v2(part)
        parts.append([pynvml.nvmlDeviceGetName(part), pynvml.nvmlDeviceGetUUID(part)[:12],
                      pynvml.nvmlDeviceGetGpuInstanceId(part),
                      pynvml.nvmlDeviceGetMemoryInfo(part).total >> 30, attributes.multiprocessorCount])
    rows.append([mode, parts])
print(json.dumps(rows))
"""


def test_a_divided_gpu_is_seen_with_its_instances(inside):
    rows = json.loads(inside(MIG, gpus=["A100", "A100", "T4"], mig=["1g.5gb,3g.20gb", "off", "off"]).stdout)
    a100 = "NVIDIA A100-SXM4-40GB"
    assert rows == [
        [
            [1, 1],
            [
                [f"{a100} MIG 3g.20gb", "MIG-52000001", 1, 20, 42],
                [f"{a100} MIG 1g.5gb", "MIG-52000007", 7, 5, 14],
            ],
        ],
        [[0, 0], []],
        "NVMLError_NotSupported",
    ]


def test_memory_that_a_process_uses_counts_for_the_instance_and_its_gpu(inside):
    code = """
import ctypes, json, pynvml
driver, context, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
assert driver.cuInit(0) == driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxSetCurrent(context) == 0
assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1000 << 20)) == 0
too_much = driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4000 << 20))
pynvml.nvmlInit()
gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
parts = [pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, place) for place in (0, 1)]
(process,) = pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)
used = [pynvml.nvmlDeviceGetMemoryInfo(one).used >> 20 for one in (gpu, *parts)]
print(json.dumps([too_much, *used, process.gpuInstanceId]))
"""
    done = inside(
        code, gpus=["A100"], mig=["3g.20gb,1g.5gb"], variables={"CUDA_VISIBLE_DEVICES": "MIG-52000007"}
    )
    assert json.loads(done.stdout) == [2, 1256, 0, 1256, 7]


@pytest.mark.parametrize(
    ("fault", "error"),
    sampled(
        [
            ("nvml-no-permission", "NVMLError_NoPermission"),
            ("nvml-driver-not-loaded", "NVMLError_DriverNotLoaded"),
            ("nvml-mismatch", "NVMLError_LibRmVersionMismatch"),
            ("nvml-unknown-error", "NVMLError_Unknown"),
            ("nvml-missing", "NVMLError_LibraryNotFound"),
            ("gpu-lost", "NVMLError_GpuIsLost"),
            ("driver-mismatch", "NVMLError_LibRmVersionMismatch"),
        ],
        2,
    ),
)
def test_a_fault_is_the_error_that_nvidias_binding_names(inside, fault, error):
    done = inside(ASK, faults=[fault])
    assert done.returncode == 1
    assert f"pynvml.{error}" in done.stderr


def test_handles_are_found_by_address_and_uuid_and_nothing_else(inside):
    code = """
import pynvml
pynvml.nvmlInit()
gpu = pynvml.nvmlDeviceGetHandleByIndex(1)
print(pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByPciBusId(b"0000:02:00.0")))
print(pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByUUID(pynvml.nvmlDeviceGetUUID(gpu))))
for wrong in (lambda: pynvml.nvmlDeviceGetHandleByIndex(2),
              lambda: pynvml.nvmlDeviceGetHandleByPciBusId(b"0000:09:00.0")):
    try:
        wrong()
    except pynvml.NVMLError as error:
        print(type(error).__name__)
"""
    done = inside(code, count=2)
    assert done.stdout.split() == ["1", "1", "NVMLError_InvalidArgument", "NVMLError_NotFound"]
