"""CUDA_VISIBLE_DEVICES on a simulated machine with four GPUs, asked through the driver as any program asks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from doctor.simulate import environment, prepare

FOUR = ("T4", "RTX 3070", "H100", "GTX 1080")
# what the process sees, as the buses of the GPUs in its own order; the H100 is the fastest, so CUDA counts it first
ASK = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
if driver.cuInit(0) == 0:
    count = ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    for device in range(count.value):
        text = ctypes.create_string_buffer(32)
        driver.cuDeviceGetPCIBusId(text, 32, device)
        print(int(text.value.split(b":")[1], 16), end=" ")
"""


@pytest.fixture(scope="module")
def seen():
    scenario = prepare(gpus=FOUR)
    with environment(scenario) as simulation:

        def ask(value, order="PCI_BUS_ID"):
            variables = simulation.environment | {"CUDA_DEVICE_ORDER": order}
            if value is not None:
                variables["CUDA_VISIBLE_DEVICES"] = value
            done = subprocess.run(
                [sys.executable, "-c", ASK], env=variables, capture_output=True, text=True, check=True
            )
            return [int(bus) for bus in done.stdout.split()]

        yield ask


def uuid(index: int) -> str:
    machine = prepare(gpus=FOUR).machine
    return machine.gpus[index].uuid(index)


@pytest.mark.parametrize(
    ("value", "buses"),
    [
        (None, [1, 2, 3, 4]),
        ("0,1,2,3", [1, 2, 3, 4]),
        ("2", [3]),
        ("3,1", [4, 2]),
        ("", []),
        ("-1", []),
        ("-1,0", []),
        ("0,-1,1", [1]),
        ("0,2,-1,1", [1, 3]),
        ("0,7,1", [1]),
        ("7", []),
        ("0,0", []),
        ("1,0,1", []),
        (" 1 , 2 ", [2, 3]),
        ("1gpu2,2ampere", [2, 3]),
        ("all", []),
        ("NoDevFiles", []),
        ("0,GPU-51", [1]),
        ("MIG-8932f937-d72c-4106-c12f-20bd9faed9f6", []),
        ("MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0", []),
        ("GPU-5", []),  # fits all four
        ("GPU-5102", [3]),
        ("gpu-5102", [3]),
        ("GPU-5103,GPU-5100", [4, 1]),
        ("GPU-00000000", []),
    ],
)
def test_a_value_shows_what_the_driver_would_show(seen, value, buses):
    assert seen(value) == buses


def test_a_whole_uuid_names_its_gpu(seen):
    assert seen(f"{uuid(1)},{uuid(0)}") == [2, 1]


def test_the_same_gpu_by_uuid_twice_hides_all(seen):
    assert seen(f"{uuid(1)},{uuid(1)}") == []


def test_without_a_device_order_the_fastest_comes_first(seen):
    assert seen(None, order="FASTEST_FIRST") == [3, 1, 2, 4]
    assert seen("0", order="FASTEST_FIRST") == [3]
