"""Tests the example CI workflow: it finds a mistake in GPU set-up code that a run without a GPU does not
show."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tensorflow_envs import NEWEST, tensorflow_env

pytestmark = pytest.mark.tensorflow
EXAMPLE = Path(__file__).parents[2] / "examples" / "simulated_gpu_in_ci"
LINES = [
    line.strip()
    for line in (EXAMPLE / "workflow.yml").read_text().splitlines()
    if line.strip().startswith("tfgpu-doctor simulate")
]


def run_line(line: str, script: str) -> subprocess.CompletedProcess[str]:
    """Run a line from the workflow, with another script and with the tool from this checkout."""
    words = shlex.split(line.replace("train.py", script))[1:]
    python = str(tensorflow_env(NEWEST))
    command = [sys.executable, "-m", "doctor", *(python if word == "python" else word for word in words)]
    environment = {"PYTHONPATH": str(EXAMPLE.parents[1]), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
    return subprocess.run(
        command, env=environment, cwd=EXAMPLE, capture_output=True, text=True, timeout=300, check=False
    )


def test_the_workflow_has_lines_and_the_readme_shows_them():
    assert len(LINES) == 3
    assert "```sh\n" + "\n".join(LINES) + "\n```" in (EXAMPLE.parents[1] / "docs" / "simulate.md").read_text()


def test_without_a_gpu_the_mistake_does_not_show():
    python = str(tensorflow_env(NEWEST))
    done = subprocess.run([python, "train.py"], cwd=EXAMPLE, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("line", LINES)
def test_the_workflow_catches_the_mistake(line):
    done = run_line(line, "train.py")
    assert done.returncode == 1
    assert "Physical devices cannot be modified after being initialized" in done.stderr


@pytest.mark.parametrize("line", LINES)
def test_the_workflow_passes_the_mended_script(line):
    done = run_line(line, "train_mended.py")
    assert done.returncode == 0, done.stderr
    assert "Created device" in done.stderr
