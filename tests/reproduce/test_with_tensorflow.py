"""Tests with real TensorFlow on the simulated GPU that cuDNN lacks memory at its start by default, and that
it starts after the cure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from doctor.remedies import code
from doctor.reproduce.with_tensorflow import judged
from doctor.simulate import environment, prepare
from tests.tensorflow_envs import NEWEST, OLDER, tensorflow_env

pytestmark = pytest.mark.tensorflow
ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "doctor", "reproduce", "cudnn-init-oom", "--simulate", "--format", "json"]
JOB = """
import sys
import tensorflow as tf
tf.matmul(tf.ones([64, 64]), tf.ones([64, 64]))
print("started", flush=True)
sys.stdin.readline()
print(tf.nn.conv2d(tf.ones([4, 32, 32, 8]), tf.ones([3, 3, 8, 16]), 1, "SAME").device, flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("version", [OLDER, NEWEST])
def test_the_default_fails_genuinely_and_every_cure_passes(version):
    done = subprocess.run(
        [*COMMAND, "--python", str(tensorflow_env(version))],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        cwd=ROOT,
    )
    answer = json.loads(done.stdout)
    default, *cures = answer["rows"]
    assert (default["outcome"], default["verdict"]) == ("failed", "cudnn-init-oom")
    assert "Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED" in default["line"]
    assert {row["mode"]: row["outcome"] for row in cures} == {
        "memory growth": "passed",
        "memory limit": "passed",
        "growth variable": "passed",
        "async allocator": "passed",
    }
    assert all("Loaded cuDNN version" in row["line"] for row in cures)
    assert len({row["held_by_other_mib"] for row in answer["rows"]}) == 1, (
        "every attempt has the same lack of memory"
    )
    assert answer["free_at_end_mib"] == answer["free_at_start_mib"]
    assert answer["simulated"] is True
    assert done.returncode == 0


def test_attempts_that_take_too_long_are_ended_and_called_unfinished(tmp_path):
    done = subprocess.run(
        [*COMMAND, "--python", str(tensorflow_env(NEWEST)), "--limit", "1"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        cwd=ROOT,
    )
    answer = json.loads(done.stdout)
    assert {row["outcome"] for row in answer["rows"]} == {"unfinished"}
    assert answer["free_at_end_mib"] == answer["free_at_start_mib"]
    assert done.returncode == 3
    assert os.listdir(tmp_path) == []  # noqa: PTH208


def inside_a_simulation() -> list[str]:
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if b"TFGPU_DOCTOR_SIMULATION=" in environ.read_bytes():
                found.append(environ.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_it_is_interrupted_while_tensorflow_runs(number, tmp_path):
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    command = subprocess.Popen(
        [*COMMAND, "--python", str(tensorflow_env(NEWEST))],
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        start_new_session=True,
    )
    mark = f"{tmp_path}/tfgpu-doctor-simulation-".encode()

    def mine() -> list[str]:
        return [p for p in inside_a_simulation() if mark in _environ(p)]

    end = time.monotonic() + 60
    while len(mine()) < 3 and time.monotonic() < end:  # the watchdog, the other process, TensorFlow
        time.sleep(0.1)
    time.sleep(1)
    assert len(mine()) >= 3
    command.send_signal(number)
    command.wait(30)
    end = time.monotonic() + 15
    while (mine() or os.listdir(tmp_path)) and time.monotonic() < end:  # noqa: PTH208
        time.sleep(0.1)
    assert mine() == []
    assert os.listdir(tmp_path) == []  # noqa: PTH208


def _environ(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def start(python: Path, variables: dict[str, str], configuration: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(python), "-c", configuration + "\n" + JOB],
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outcome(job: subprocess.Popen[str]) -> tuple[bool, str]:
    """Return the result of a job: (whether its convolution ran, its log)."""
    out, log = job.communicate("\n\n", timeout=120)
    return "device:GPU:0" in out, log


@pytest.mark.parametrize("version", [OLDER, NEWEST])
def test_two_tensorflow_processes_on_one_card_the_second_fails_and_is_cured(version):
    python = tensorflow_env(version)
    # more than the 225 MiB that TensorFlow leaves free; 2.21 makes two handles
    scenario = prepare(python=str(python), gpus=("RTX 3070",)).setting(cudnn__handle_mib=250)
    with environment(scenario) as simulation:
        first = start(python, simulation.environment)  # takes nearly all, as TensorFlow does
        try:
            assert first.stdout is not None
            assert first.stdin is not None
            assert first.stdout.readline() == "started\n"
            first.stdin.write("\n")
            first.stdin.flush()
            assert "GPU:0" in first.stdout.readline()
            ran = {}
            for name, configuration in (
                ("default", ""),
                ("growth", code.memory_growth(version)),
                ("limit", code.memory_limit(version, 128)),
            ):
                second = start(python, simulation.environment, configuration)
                ran[name], log = outcome(second)
                if name == "default":
                    verdict, line = judged(log, passed=False)
        finally:
            first.kill()
            first.communicate()
    assert ran == {"default": False, "growth": True, "limit": True}
    assert verdict in ("cudnn-init-oom", "gpu-memory-held")
    assert "Could not create cudnn handle" in line
