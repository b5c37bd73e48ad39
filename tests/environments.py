"""Real TensorFlow in environments of its own, made once and kept.

They lie in the folder that TFGPU_DOCTOR_TEST_ENVIRONMENTS names (by default in the user's cache), one for each
requirement: "2.21.0" holds tensorflow 2.21.0, "2.21.0-and-cuda" the same with NVIDIA's wheels. One that is not there
is made with venv and pip, which takes minutes and gigabytes; it is complete when its marker file is written.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DONE = ".complete"


def folder() -> Path:
    """Where the environments are kept."""
    named = os.environ.get("TFGPU_DOCTOR_TEST_ENVIRONMENTS")
    return Path(named) if named else Path.home() / ".cache" / "tfgpu-doctor" / "test-environments"


def environment(name: str) -> Path:
    """The environment's folder; made where it is not there. Skips the test where that is not possible."""
    place = folder() / name
    python = place / "bin" / "python"
    made_by_hand = not (place / DONE).exists() and any(place.glob("lib/python3*/site-packages/tensorflow/__init__.py"))
    if (place / DONE).exists() or made_by_hand:
        return place
    version, _, extra = name.partition("-")
    requirement = f"tensorflow[{extra}]=={version}" if extra else f"tensorflow=={version}"
    place.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True, timeout=300)
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement],
        capture_output=True,
        text=True,
        timeout=3600,
    )
    if done.returncode:
        pytest.skip(f"{requirement} could not be installed: {done.stderr.strip().splitlines()[-1:]}")
    (place / DONE).write_text(requirement + "\n")
    return place
