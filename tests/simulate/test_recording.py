"""Tests that the recorded logs are what TensorFlow prints: a sample of them is recorded again and
compared."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from scripts.recordings.catalogue import catalogue
from scripts.recordings.running import record
from scripts.recordings.text import normalised
from tests.tensorflow_envs import NEWEST, tensorflow_env

LOGS = Path(__file__).parents[1] / "data" / "logs"
SAMPLE = (
    "unknown-error",
    "driver-mismatch",
    "cudnn-missing.loader-verbose",
    "cudnn-32-bit.loader-verbose",
    "gpu-too-old",
    "hidden",
    "cudnn-out-of-memory",
    "growth-late",
)

OF_THE_PROCESSOR = ("oneDNN custom operations are on", "All log messages before absl::InitializeLog()")
"""A notice that is not printed on some processors, and that of abseil, which precedes the first line of
either library."""


STARTS = 4
"""The number of starts. One of them must print the kept log: if two threads fail, a run prints one error or
both."""


def printed(log: str) -> Counter[str]:
    """Return the lines of a log without their order, because several threads print at the same time."""
    lines = (line for line in log.splitlines() if not any(notice in line for notice in OF_THE_PROCESSOR))
    return Counter(lines)


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", SAMPLE)
def test_a_log_recorded_again_is_the_log_that_is_kept(name: str):
    recording = next(recording for recording in catalogue(NEWEST) if recording.name == name)
    kept = LOGS / ("simulated" if recording.simulated else "recorded") / NEWEST / f"{name}.log"
    for _ in range(STARTS):
        log, sidecar = record(recording, tensorflow_env(NEWEST))
        if printed(log) == printed(kept.read_text()):
            break
    assert printed(log) == printed(kept.read_text())
    assert sidecar["exit_code"] == json.loads(kept.with_suffix(".json").read_text())["exit_code"]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (
            "2026-11-21 03:33:59.124171: E external/cuda_fft.cc:607] Unable",
            "2026-01-02 03:04:05.678901: E external/cuda_fft.cc:607] Unable\n",
        ),
        (
            "I0000 00:00:1795231991.438315   14012 port.cc:153] oneDNN",
            "I0000 00:00:1767323045.678901    4242 port.cc:153] oneDNN\n",
        ),
        ("4/4 - 1s - loss: 0.0 - 603ms/epoch - 151ms/step", "4/4 - 0s - loss: 0.0 - 0ms/epoch - 0ms/step\n"),
        ("rerun with --vmodule=x on vm.", "rerun with --vmodule=x on host.\n"),
        ('File "/opt/envs/2.21/lib/x.py"', 'File "/home/user/venv/lib/x.py"\n'),
        ("Looking in links: /opt/wheels\nERROR: none", "ERROR: none\n"),
    ],
)
def test_what_differs_from_run_to_run_is_replaced(text: str, clean: str):
    assert normalised(text, {"/opt/envs/2.21": "/home/user/venv", "vm": "host"})[0] == clean


def test_a_long_log_keeps_its_beginning_and_its_end():
    lines = [f"line {number}" for number in range(50_000)]
    kept, _ = normalised("\n".join(lines), {})
    assert kept.startswith("line 0\n")
    assert kept.endswith("line 49999\n")
    assert "lines left out" in kept
    assert len(kept) < 61_000
