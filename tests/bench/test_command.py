"""Tests `tfgpu-doctor bench` as users run it, from the command line."""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.bench.results import Bench, Measurement
from doctor.commands.bench import _print
from doctor.simulate import environment, prepare
from tests.tensorflow_envs import NEWEST, tensorflow_env

ROOT = Path(__file__).resolve().parents[2]


def bench(variables, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "doctor", "bench", "--quick", "--format", "json", *arguments],
        env=dict(variables),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        cwd=ROOT,
    )


def test_unsupported_format_is_a_usage_error(cli):
    assert cli("bench", "--format", "html").returncode == 2
    assert cli("bench", "--limit", "0").returncode == 2


def test_an_environment_without_tensorflow_and_numpy_ends_with_3(cli, tmp_path):
    import venv

    venv.create(tmp_path / "bare", with_pip=False)
    done = cli("bench", "--quick", "--python", str(tmp_path / "bare"))
    assert done.returncode == 3
    assert b"numpy" in done.stderr.lower()
    assert b"Traceback" not in done.stderr
    assert b"neither TensorFlow nor NumPy" in done.stderr


def test_a_narrow_table_cuts_off_no_value(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    measured = Measurement("matmul", 512, "CPU", False, 0.0763, (0.0284, 0.0571, 0.062), 2.0**28)
    result = Bench("NumPy 2.4.6", None, False, 2, None, (measured,), ())
    out = io.StringIO()
    _print(result, out, argparse.Namespace(format="text", color="never"))
    assert "…" not in out.getvalue()


@pytest.mark.tensorflow
def test_the_cpu_alone_is_measured_where_there_is_no_gpu():
    done = bench({**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}, "--python", str(tensorflow_env(NEWEST)))
    answer = json.loads(done.stdout)
    assert done.returncode == 0
    assert answer["gpu"] is None
    assert answer["software"] == f"TensorFlow {NEWEST}"
    assert {row["op"] for row in answer["measurements"]} == {"matmul", "convolution"}
    large = [row for row in answer["measurements"] if row["op"] == "matmul"][-1]
    assert large["repeats"] >= 3
    assert large["quartiles_seconds"][0] <= large["median_seconds"] <= large["quartiles_seconds"][1]
    assert any("times are those of the CPU" in note for note in answer["notes"])


@pytest.mark.tensorflow
def test_the_gpus_path_runs_with_and_without_transfer_and_a_simulation_is_named():
    python = tensorflow_env(NEWEST)
    with environment(prepare(python=str(python))) as simulation:
        answer = json.loads(bench(simulation.environment, "--python", str(python)).stdout)
    kinds = {(row["op"], row["device"], row["transfer"]) for row in answer["measurements"]}
    assert kinds == {
        (op, device, transfer)
        for op in ("matmul", "convolution")
        for device, transfer in (("CPU", False), ("GPU", False), ("GPU", True))
    }
    assert answer["simulated"] is True
    assert "mean nothing" in answer["notes"][0]
