"""Tests CUDA_VISIBLE_DEVICES on a simulated machine with four GPUs, through the driver as any program uses
it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from doctor.simulate import environment, prepare
from tests.sampling import sampled

FOUR = ("T4", "RTX 3070", "H100", "GTX 1080")
# the buses of the GPUs that the process sees, in its own order; the H100 is the fastest, so CUDA lists it
# first
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
            variables = {**simulation.environment, "CUDA_DEVICE_ORDER": order}
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
    sampled(
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
            ("GPU-5", []),  # matches all four
            ("GPU-5102", [3]),
            ("gpu-5102", [3]),
            ("GPU-5103,GPU-5100", [4, 1]),
            ("GPU-00000000", []),
        ],
        9,
    ),
)
def test_a_value_shows_what_the_driver_would_show(seen, value, buses):
    assert seen(value) == buses


IN_MIG = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
if driver.cuInit(0) == 0:
    count, memory = ctypes.c_int(), ctypes.c_size_t()
    driver.cuDeviceGetCount(ctypes.byref(count))
    for device in range(count.value):
        name = ctypes.create_string_buffer(96)
        driver.cuDeviceGetName(name, 96, device)
        driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        print(name.value.decode().replace("NVIDIA A100-SXM4-40GB", "").strip() or "whole", memory.value >> 30)
"""


@pytest.mark.parametrize(
    ("driver", "value", "shown"),
    sampled(
        [
            # MIG User Guide, "CUDA Device Enumeration", before R570: one instance, and then no whole GPU
            ("550.54.14", None, ["MIG 3g.20gb 20"]),
            ("550.54.14", "0", ["whole 40"]),
            ("550.54.14", "1", ["MIG 3g.20gb 20"]),
            ("550.54.14", "0,1", ["MIG 3g.20gb 20"]),
            ("550.54.14", "MIG-52010007", ["MIG 1g.5gb 5"]),
            ("550.54.14", "MIG-52010007,MIG-52010001", ["MIG 1g.5gb 5"]),
            ("550.54.14", "MIG-GPU-5101/7/0", ["MIG 1g.5gb 5"]),
            ("550.54.14", "MIG-GPU-5101/7/1", []),
            ("550.54.14", "MIG-GPU-5100/7/0", []),  # a whole GPU has no instances
            ("550.54.14", "MIG-8932f937-d72c-4106-c12f-20bd9faed9f6", []),
            # before R470 an instance has no UUID
            ("460.32.03", "MIG-GPU-5101/1/0", ["MIG 3g.20gb 20"]),
            ("460.32.03", "MIG-52010007", []),
            # from R570 on every instance, and the whole GPUs, too
            ("570.86.10", None, ["whole 40", "MIG 3g.20gb 20", "MIG 1g.5gb 5"]),
            ("570.86.10", "MIG-52010007,MIG-52010001", ["MIG 1g.5gb 5", "MIG 3g.20gb 20"]),
        ],
        5,
    ),
)
def test_instances_of_a_divided_gpu_are_shown_as_each_driver_shows_them(inside, driver, value, shown):
    variables = {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        **({} if value is None else {"CUDA_VISIBLE_DEVICES": value}),
    }
    wishes = {"gpus": ["A100"], "count": 2, "mig": ["off", "1g.5gb,3g.20gb"], "driver": driver}
    assert inside(IN_MIG, variables=variables, **wishes).stdout.splitlines() == shown


def test_a_divided_gpu_on_which_no_instance_is_made_is_no_device(inside):
    assert inside(IN_MIG, gpus=["A100"], mig=["empty"]).stdout == ""


def test_a_whole_uuid_names_its_gpu(seen):
    assert seen(f"{uuid(1)},{uuid(0)}") == [2, 1]


def test_the_same_gpu_by_uuid_twice_hides_all(seen):
    assert seen(f"{uuid(1)},{uuid(1)}") == []


def test_without_a_device_order_the_fastest_comes_first(seen):
    assert seen(None, order="FASTEST_FIRST") == [3, 1, 2, 4]
    assert seen("0", order="FASTEST_FIRST") == [3]
