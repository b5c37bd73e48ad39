"""Tests that cuDNN's handle is created without TensorFlow on a simulated GPU, and what happens if nothing can
be reproduced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.simulate import environment, prepare

ROOT = Path(__file__).resolve().parents[2]
NO_GPU = not Path("/proc/driver/nvidia/version").exists()


def reproduce(variables, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "doctor", "reproduce", "cudnn-init-oom", "--backend", "native", *arguments],
        env=dict(variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
    )


@pytest.fixture
def card():
    with environment(prepare(gpus=("T4",))) as simulation:
        yield simulation


@pytest.fixture(scope="module")
def reproduced():
    """The result of a run on a separate simulated card, and the content of the memory ledger afterwards."""
    with environment(prepare(gpus=("T4",))) as simulation:
        done = reproduce(simulation.environment, "--format", "json")
        yield done, Path(simulation.folder / "ledger").read_bytes()


def test_the_handle_fails_with_the_gpu_full_and_is_made_with_memory_free(reproduced):
    done, _ = reproduced
    answer = json.loads(done.stdout)
    assert [(r["mode"], r["outcome"], r["verdict"]) for r in answer["rows"]] == [
        ("ample memory", "passed", "healthy"),
        ("GPU full", "failed", "cudnn-init-oom"),
        ("memory free again", "passed", "healthy"),
    ]
    assert answer["rows"][1]["line"] == "cudnnCreate: CUDNN_STATUS_NOT_INITIALIZED"
    assert answer["rows"][1]["free_before_mib"] == 0
    assert done.returncode == 0
    assert answer["simulated"] is True


def test_all_memory_is_freed(reproduced):
    done, ledger = reproduced
    answer = json.loads(done.stdout)
    assert answer["free_at_end_mib"] == answer["free_at_start_mib"] == 16384
    assert not any(ledger)


@pytest.mark.slow
def test_a_gpu_that_others_use_is_refused_with_their_names():
    with environment(prepare(gpus=("T4",), held_mib=(3000,))) as simulation:
        refused = reproduce(simulation.environment)
        forced = reproduce(simulation.environment, "--force", "--format", "json")
    assert refused.returncode == 3
    assert "3000 MiB" in refused.stderr
    assert "--force" in refused.stderr
    assert json.loads(forced.stdout)["reproduced"] is True


@pytest.mark.slow
def test_a_handle_that_never_works_is_not_blamed_on_memory():
    with environment(prepare(gpus=("T4",)).with_failing_calls("fail cudnnCreate 1001")) as simulation:
        done = reproduce(simulation.environment, "--format", "json")
    answer = json.loads(done.stdout)
    assert answer["rows"][0]["verdict"] == "undetermined"
    assert "memory is not the cause" in answer["conclusion"]
    assert done.returncode == 3


@pytest.mark.slow
def test_a_call_that_hangs_is_ended_at_the_limit():
    with environment(prepare(gpus=("T4",)).with_failing_calls("hang cudnnCreate")) as simulation:
        done = reproduce(simulation.environment, "--format", "json", "--limit", "2")
        rows = json.loads(done.stdout)["rows"]
        assert [row["outcome"] for row in rows] == ["unfinished", "unfinished"]
        assert not any(Path(simulation.folder / "ledger").read_bytes())
    assert done.returncode == 3


@pytest.mark.slow
def test_the_plot_is_written_as_svg(card, tmp_path):
    done = reproduce(card.environment, "--output", str(tmp_path / "memory.svg"))
    assert done.returncode == 0
    import xml.etree.ElementTree as Tree

    assert Tree.parse(tmp_path / "memory.svg").getroot().tag.endswith("svg")
    assert "GPU full" in (tmp_path / "memory.svg").read_text()


@pytest.mark.skipif(not NO_GPU, reason="this machine has a GPU")
def test_without_a_gpu_it_ends_with_3_and_offers_the_simulation():
    variables = {k: v for k, v in os.environ.items() if k != "TFGPU_DOCTOR_SIMULATION"}
    done = reproduce(variables)
    assert done.returncode == 3
    assert "--simulate" in done.stderr
    assert done.stdout == ""
