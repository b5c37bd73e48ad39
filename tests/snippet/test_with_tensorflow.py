"""Tests that every snippet does what it says, with real TensorFlow on two simulated GPUs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from doctor.remedies.snippets import SNIPPETS, Options
from doctor.simulate import environment, prepare
from tests.tensorflow_envs import NEWEST, OLDER, tensorflow_env

pytestmark = pytest.mark.tensorflow
RUNNER = Path(__file__).with_name("each_in_its_own_process.py")
GROWTH = "[tf.config.experimental.get_memory_growth(g) for g in tf.config.get_visible_devices('GPU')]"
LIMITS = (
    "[[c.memory_limit for c in tf.config.get_logical_device_configuration(g) or ()] for g in"
    " tf.config.list_physical_devices('GPU')]"
)
LOGICAL = "(tf.ones([2, 2]) @ tf.ones([2, 2])).device[-5:], len(tf.config.list_logical_devices('GPU'))"

# name, request, question to ask afterwards, required answer
CASES = [
    ("memory-growth", {}, GROWTH, "[True, True]"),
    ("memory-growth", {"gpus": (1,)}, GROWTH, "[True]"),
    ("memory-growth", {}, LOGICAL, "('GPU:0', 2)"),
    ("memory-limit", {"memory_mib": 1536}, LIMITS, "[[1536], []]"),
    ("memory-limit", {"memory_mib": 1536, "gpus": (0, 1)}, LIMITS, "[[1536], [1536]]"),
    ("memory-limit", {"memory_mib": 1536, "gpus": (0, 1)}, LOGICAL, "('GPU:0', 2)"),
    # the second card has 16384 MiB, the first has 8192
    ("memory-fraction", {"fraction": 0.25}, LIMITS, "[[2048], []]"),
    ("memory-fraction", {"fraction": 0.25, "gpus": (0, 1)}, LIMITS, "[[2048], [4096]]"),
    ("visible-devices", {"gpus": (1,)}, LOGICAL, "('GPU:0', 1)"),
    ("virtual-gpus", {"count": 3, "memory_mib": 512}, LIMITS, "[[512, 512, 512], []]"),
    ("virtual-gpus", {"count": 3, "memory_mib": 512}, LOGICAL, "('GPU:0', 4)"),
    ("soft-placement", {}, "tf.config.get_soft_device_placement()", "True"),
    ("log-placement", {}, "tf.debugging.get_log_device_placement()", "True"),
    ("device-placement", {"gpus": (1,)}, "(a.device[-5:], product.device[-5:])", "('CPU:0', 'GPU:1')"),
    ("multi-gpu", {}, "(strategy.num_replicas_in_sync, batch_size)", "(2, 64)"),
    ("multi-gpu", {"gpus": (1,)}, "strategy.extended.worker_devices[0][-5:]", "'GPU:1'"),
    ("cpu-only", {}, LOGICAL, "('CPU:0', 0)"),
    (
        "environment",
        {"gpus": (1,)},
        "tf.config.list_physical_devices('GPU')[1:], " + LOGICAL,
        "([], 'GPU:0', 1)",
    ),
]


def outcome(version: str, release: str) -> dict[str, tuple[str, str]]:
    """Return {case: (answer, output)} for all cases, with the snippets for `release`."""
    programs = [
        (f"{i} {name}", SNIPPETS[name](Options(release, **wish)).code, check)  # type: ignore[arg-type]
        for i, (name, wish, check, _) in enumerate(CASES)
    ]
    scenario = prepare(python=str(tensorflow_env(version)), gpus=("RTX 3070", "T4"))
    with environment(scenario) as simulation:
        done = subprocess.run(
            [str(tensorflow_env(version)), str(RUNNER)],
            input=json.dumps(programs),
            env={**simulation.environment, "TF_CPP_MIN_LOG_LEVEL": "3"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    return {name: (answer, printed) for name, answer, printed in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize(
    ("version", "release"),
    [(NEWEST, NEWEST), (OLDER, OLDER), (OLDER, "2.2.0")],
    ids=["Keras 3 names", "2.4 names", "2.0 names in a release that still has them"],
)
def test_every_snippet_does_what_it_says(version, release):
    answers = outcome(version, release)
    wrong = []
    for i, (name, wish, _, expected) in enumerate(CASES):
        answer, _ = answers[f"{i} {name}"]
        if answer != expected:
            wrong.append(f"{name} {wish}: {answer} in place of {expected}")
    assert not wrong, "\n".join(wrong)
    assert "2 GPUs" in next(printed for key, (_, printed) in answers.items() if key.endswith(" multi-gpu"))


def test_every_snippet_but_multi_worker_stands_in_the_list_of_cases():
    assert {name for name, *_ in CASES} | {"multi-worker"} == set(SNIPPETS)


@pytest.mark.parametrize("version", [NEWEST, OLDER])
def test_two_workers_find_each_other_through_the_multi_worker_snippet(version):
    import socket

    with socket.socket() as one, socket.socket() as two:
        one.bind(("localhost", 0))
        two.bind(("localhost", 0))
        workers = tuple(f"localhost:{s.getsockname()[1]}" for s in (one, two))
    children = [
        subprocess.Popen(
            [
                str(tensorflow_env(version)),
                "-c",
                SNIPPETS["multi-worker"](Options(version, workers=workers, index=i)).code,
            ],
            env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for i in (0, 1)
    ]
    try:
        for child in children:
            out, _ = child.communicate(timeout=120)
            assert child.returncode == 0, out[-2000:]
            assert "2 replicas" in out
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_a_snippet_pasted_too_late_fails_as_where_to_put_it_says():
    code = "import tensorflow as tf\ntf.ones([1]) + 1\n" + SNIPPETS["memory-growth"](Options(NEWEST)).code
    with environment(prepare(python=str(tensorflow_env(NEWEST)))) as simulation:
        done = subprocess.run(
            [str(tensorflow_env(NEWEST)), "-c", code],
            env=simulation.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert "cannot be modified after being initialized" in done.stderr
