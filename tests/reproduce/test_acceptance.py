"""Tests the acceptance script on a simulated GPU. The record for a real GPU has to be made on a machine with
a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.simulate import environment, prepare
from tests.tensorflow_envs import NEWEST, tensorflow_env

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "gpu_acceptance"


def accept(variables, *arguments, limit: int = 500):
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        env=dict(variables),
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )


@pytest.mark.skipif(Path("/proc/driver/nvidia/version").exists(), reason="this machine has a GPU")
def test_without_a_gpu_there_is_no_record(tmp_path):
    variables = {k: v for k, v in os.environ.items() if k != "TFGPU_DOCTOR_SIMULATION"}
    done = accept(variables, "--output", str(tmp_path / "record.json"))
    assert done.returncode == 3
    assert not (tmp_path / "record.json").exists()


@pytest.mark.tensorflow
def test_every_step_is_right_and_the_record_says_that_it_was_a_simulation(tmp_path):
    python = tensorflow_env(NEWEST)
    with environment(prepare(python=str(python), gpus=("RTX 3070",))) as simulation:
        done = accept(
            simulation.environment,
            "--python",
            str(python),
            "--quick",
            "--output",
            str(tmp_path / "record.json"),
        )
    record = json.loads((tmp_path / "record.json").read_text())
    steps = {name: step["right"] for name, step in record["steps"].items()}
    assert all(steps.values()), done.stderr
    assert {"native, first time", "native, second time", "with TensorFlow", "bench", "devices after"} <= set(
        steps
    )
    assert record["simulated"] is True
    assert done.returncode == 0


@pytest.mark.gpu
def test_every_step_is_right_on_this_machines_gpu(tmp_path):
    done = accept(os.environ, "--output", str(tmp_path / "record.json"), limit=1800)
    assert done.returncode == 0, done.stderr
