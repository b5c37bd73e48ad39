"""Tests that GPU monitoring programs show the simulated GPUs, and the processes that use their memory."""

from __future__ import annotations

import json
import subprocess

import pytest

from doctor.simulate import environment, prepare
from tests.tensorflow_envs import package_env

pytestmark = pytest.mark.slow
NVITOP = """
import json
from nvitop import Device
rows = [[gpu.name(), gpu.memory_used() >> 20, gpu.memory_total() >> 20, len(gpu.processes())]
        for gpu in Device.all()]
print(json.dumps(rows))
"""


@pytest.fixture(scope="module")
def clients():
    return package_env("nvml-clients", ["gpustat", "nvitop"]).parent


@pytest.fixture
def card():
    with environment(prepare(gpus=["RTX 3070", "T4"], held_mib=[3256, 1000])) as simulation:
        yield simulation


def output(card, *command):
    done = subprocess.run(
        command, env=card.environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_gpustat_shows_both_gpus_and_the_holder_of_memory(clients, card):
    shown = output(card, str(clients / "gpustat"), "--json")
    assert shown["driver_version"] == "550.54.14"
    assert [(gpu["name"], gpu["memory.used"], gpu["memory.total"]) for gpu in shown["gpus"]] == [
        ("NVIDIA GeForce RTX 3070", 3256, 8192),
        ("Tesla T4", 1000, 16384),
    ]
    assert [process["gpu_memory_usage"] for gpu in shown["gpus"] for process in gpu["processes"]] == [
        3256,
        1000,
    ]
    assert {process["command"] for gpu in shown["gpus"] for process in gpu["processes"]} == {"memory_holder"}


def test_nvitop_shows_the_same(clients, card):
    shown = output(card, str(clients / "python"), "-c", NVITOP)
    assert shown == [["NVIDIA GeForce RTX 3070", 3256, 8192, 1], ["Tesla T4", 1000, 16384, 1]]


@pytest.mark.parametrize(
    "wishes", [{"gpus": ["RTX 3070"], "held_mib": [1000]}, {"gpus": ["A100"], "mig": ["3g.20gb,1g.5gb"]}]
)
@pytest.mark.parametrize("command", [["nvitop", "-1"], ["gpustat"]], ids=lambda command: command[0])
def test_their_own_pages_come_out_whole_and_without_a_complaint(clients, command, wishes):
    with environment(prepare(**wishes)) as simulation:
        variables = {**simulation.environment, "TERM": "xterm", "COLUMNS": "120"}
        done = subprocess.run(
            [str(clients / command[0]), *command[1:]],
            env=variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    expected = ["RTX 3070", "1000"] if "held_mib" in wishes else ["A100"]
    assert all(word in done.stdout for word in expected)
    if command[0] == "nvitop" and "mig" in wishes:
        assert "3g.20gb @ GI/CI: 1/0" in done.stdout
        assert "1g.5gb @ GI/CI: 7/0" in done.stdout


def test_gpustat_reports_a_driver_that_does_not_run(clients):
    with environment(prepare(faults=["nvml-driver-not-loaded"])) as simulation:
        done = subprocess.run(
            [str(clients / "gpustat")],
            env=simulation.environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode != 0
    assert "Driver Not Loaded" in done.stdout + done.stderr
