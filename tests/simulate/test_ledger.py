"""Tests the memory of a simulated machine: all its processes and libraries share one ledger."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from doctor.simulate import CallError, environment, prepare

PRELUDE = """
import ctypes, json, os, sys, time
driver, nvml = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnvidia-ml.so.1")
def start():
    assert driver.cuInit(0) == 0
    context = ctypes.c_void_p()
    status = driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxSetCurrent(context)
    return status
def take(mib):
    address = ctypes.c_uint64()
    return driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(mib << 20)), address
def free():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    return free.value >> 20
import pynvml
def seen():
    pynvml.nvmlInit()
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    memory = pynvml.nvmlDeviceGetMemoryInfo(gpu)
    processes = pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)
    return [memory.used >> 20, memory.free >> 20, {p.pid: p.usedGpuMemory >> 20 for p in processes}]
"""


@pytest.fixture
def machine():
    """A machine with one GPU of 8192 MiB. Returns a function that runs code on it, or only starts the code
    (wait=False)."""
    started = []
    with environment(prepare(gpus=["RTX 3070"])) as simulation:

        def run(code, wait=True):
            child = subprocess.Popen(
                [sys.executable, "-c", PRELUDE + code],
                env=simulation.environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            started.append(child)
            line = child.stdout.readline()
            if wait:
                assert child.wait(30) == 0
                return json.loads(line)
            return child

        yield run
        for child in started:
            child.kill()
            child.wait()
            child.stdout.close()


def test_a_context_and_an_allocation_are_seen_by_driver_and_nvml(machine):
    used, free, holders = machine(
        "start(); assert take(1000)[0] == 0; print(json.dumps([*seen()[:2], list(seen()[2].values())]))"
    )
    assert (used, free, holders) == (1256, 8192 - 1256, [1256])


def test_freed_memory_is_there_again(machine):
    before, during, after = machine(
        "start(); a = free(); s, p = take(1000); b = free(); driver.cuMemFree_v2(p); print(json.dumps([a, b,"
        " free()]))"
    )
    assert (before, during, after) == (7936, 6936, 7936)


def test_an_allocation_beyond_the_free_memory_fails_with_out_of_memory(machine):
    assert machine("start(); print(json.dumps([take(8000)[0], take(7000)[0]]))") == [2, 0]


def test_another_process_finds_only_what_is_left(machine):
    holder = machine("start(); take(5000); print('held', flush=True); time.sleep(60)", wait=False)
    used, free, holders = machine("print(json.dumps(seen()))")
    assert (used, free) == (5256, 8192 - 5256)
    assert holders == {str(holder.pid): 5256}
    assert machine("start(); print(json.dumps([free(), take(3000)[0], take(2000)[0]]))") == [
        8192 - 5256 - 256,
        2,
        0,
    ]


@pytest.mark.parametrize("reaped", [True, False], ids=["reaped", "zombie"])
def test_the_memory_of_a_killed_process_is_free_again(machine, reaped):
    holder = machine("start(); take(5000); print('held', flush=True); time.sleep(60)", wait=False)
    os.kill(holder.pid, signal.SIGKILL)
    if reaped:
        holder.wait()
    else:
        wait_for_zombie(holder.pid)
    assert machine("print(json.dumps(seen()))") == [0, 8192, {}]


def wait_for_zombie(pid: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with open(f"/proc/{pid}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] == "Z":
                return
        time.sleep(0.01)
    raise AssertionError("the killed process did not end")


def test_many_processes_at_once_lose_and_invent_nothing(machine):
    code = (
        "start()\nfor _ in range(50):\n  s, p = take(10); assert s == 0;"
        " driver.cuMemFree_v2(p)\ntake(7)\nprint('held', flush=True); time.sleep(60)"
    )
    children = [machine(code, wait=False) for _ in range(6)]
    used, _, holders = machine("print(json.dumps(seen()))")
    assert len(holders) == len(children)
    assert used == len(children) * (256 + 7)


def test_memory_held_from_the_start_belongs_to_a_process():
    with environment(prepare(gpus=["RTX 3070", "T4"], held_mib=[7000, 300])) as simulation:
        code = (
            PRELUDE + "u, f, h = seen(); print(json.dumps([u, [open(f'/proc/{p}/comm').read() for p in h]]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=simulation.environment,
            capture_output=True,
            text=True,
            check=True,
        )
    assert json.loads(done.stdout) == [7000, ["memory_holder\n"]]


def test_more_than_the_gpu_has_cannot_be_held():
    message = "9000 MiB cannot be held on NVIDIA GeForce RTX 3070, which has 8192 MiB"
    with pytest.raises(CallError, match=message):
        prepare(gpus=["RTX 3070"], held_mib=[9000])


def test_a_cudnn_handle_uses_memory_and_fails_without_it(machine):
    code = """
start()
folder = os.path.dirname(os.environ['TFGPU_DOCTOR_SIMULATION']) + '/cuda'
library = [name for name in os.listdir(folder) if 'cudnn' in name][0]
cudnn = ctypes.CDLL(library)
handle = ctypes.c_void_p()
before = free()
first = cudnn.cudnnCreate(ctypes.byref(handle))
between = free()
cudnn.cudnnDestroy(handle)
back = free()
take(free() - 10)
cudnn.cudnnGetErrorString.restype = ctypes.c_char_p
refused = cudnn.cudnnGetErrorString(cudnn.cudnnCreate(ctypes.byref(handle))).decode()
print(json.dumps([before - between, before - back, first, refused]))
"""
    assert machine(code) == [64, 0, 0, "CUDNN_STATUS_NOT_INITIALIZED"]
