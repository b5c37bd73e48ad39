"""Tests `tfgpu-doctor devices` as people call it, on simulated machines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.simulate import environment, prepare
from tests.sampling import sampled
from tests.tensorflow_envs import NEWEST, tensorflow_env

ROOT = Path(__file__).resolve().parents[2]
LIST = """
import json, tensorflow as tf
from tensorflow.python.client import device_lib
found = [d.physical_device_desc for d in device_lib.list_local_devices() if d.device_type == "GPU"]
print("@" + json.dumps([text.split("pci bus id: ")[1].split(",")[0] for text in found]))
"""


def devices(variables: dict[str, str], *arguments: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "devices", "--format", "json", *arguments],
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=ROOT,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def workstation():
    """A shared machine in a lab: it has three different GPUs, and somebody's job runs on the second."""
    with environment(prepare(gpus=("GTX 1080", "RTX 3070", "H100"), held_mib=(300, 7000, 300))) as simulation:
        yield {
            k: v
            for k, v in simulation.environment.items()
            if k not in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
        }


def test_memory_and_users_of_each_gpu_are_shown(workstation):
    gpus = devices(workstation)["gpus"]
    assert [(gpu["free_mib"], gpu["memory_mib"]) for gpu in gpus] == [
        (7892, 8192),
        (1192, 8192),
        (81620, 81920),
    ]
    (job,) = gpus[1]["processes"]
    assert (job["memory_mib"], job["name"]) == (7000, "memory_holder")
    assert job["user"]


def test_cuda_counts_the_fastest_first_and_the_page_says_so(workstation):
    page = devices(workstation)
    assert [gpu["tensorflow"] for gpu in page["gpus"]] == ["GPU:1", "GPU:2", "GPU:0"]
    assert any("CUDA_DEVICE_ORDER=PCI_BUS_ID" in note for note in page["notes"])
    assert page["driver_agrees"] is True


def test_the_bus_order_is_used_if_the_variable_requests_it(workstation):
    page = devices(workstation, "--order", "PCI_BUS_ID", "--visible", "2,0")
    assert [gpu["tensorflow"] for gpu in page["gpus"]] == ["GPU:1", None, "GPU:0"]
    assert page["driver_agrees"] is True


@pytest.mark.parametrize("value", sampled(["-1,0", "0,0", "1,7,0", "GPU-5101", "", "2,GPU-51"], 2))
def test_the_driver_shows_what_was_predicted(workstation, value):
    assert devices(workstation, f"--visible={value}")["driver_agrees"] is True


def test_the_environments_own_value_is_explained(workstation):
    page = devices({**workstation, "CUDA_VISIBLE_DEVICES": "-1,0"})
    assert page["visible"] == []
    assert [entry["visible"] for entry in page["entries"]] == [False, False]


def test_text_names_the_users_and_what_tensorflow_sees(workstation):
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "devices", "--visible", "0"],
        env=workstation,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=ROOT,
    )
    assert "TensorFlow sees: GPU:0 = nvidia-smi's GPU 2" in done.stdout
    assert "memory_holder, 7000 MiB" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_value_can_be_explained_for_another_machine(cli):
    page = json.loads(cli("devices", "--visible=1,9,0", "--count", "2", "--format", "json").stdout)
    assert [entry["nvidia_smi"] for entry in page["visible"]] == [1]


@pytest.mark.skipif(Path("/proc/driver/nvidia/version").exists(), reason="this machine has a GPU")
def test_without_a_gpu_the_command_fails_and_names_an_alternative(cli):
    done = cli("devices")
    assert done.returncode == 3
    assert b"--count" in done.stderr


def test_spaces_do_not_separate_the_numbers(cli):
    done = cli("devices", "--visible", "0 1", "--count", "2")
    assert done.returncode == 2
    assert b"commas" in done.stderr
    assert b"--visible 0,1" in done.stderr


@pytest.mark.tensorflow
@pytest.mark.parametrize("value", [None, "2,0", "1,-1,0"])
def test_tensorflow_lists_what_was_predicted(value):
    python = tensorflow_env(NEWEST)
    with environment(prepare(python=str(python), gpus=("GTX 1080", "RTX 3070", "H100"))) as simulation:
        variables = dict(simulation.environment)
        if value is not None:
            variables["CUDA_VISIBLE_DEVICES"] = value
        page = devices(variables)
        done = subprocess.run(
            [str(python), "-c", LIST], env=variables, capture_output=True, text=True, timeout=120, check=True
        )
    listed = json.loads(done.stdout.split("@")[1])
    assert [entry["bus_id"] for entry in page["visible"]] == listed
    assert listed


def test_the_gpu_that_an_entry_names_stands_apart_from_the_reason(cli):
    done = cli("devices", "--count", "2", "--visible=0,-1,1")
    assert b"comes after `-1`, which is not valid and ends the list (nvidia-smi's GPU 1)" in done.stdout
