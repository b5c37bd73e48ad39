"""Provides a shorthand for the tests: the installation job for the plan of a described machine, with the venv
and pip of this Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from doctor.install.job import Job, make_job
from doctor.tables import Tables
from tests.plan.contexts import first, outcome

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
RELEASE = next(
    (
        row.version
        for row in reversed(Tables.bundled().releases("linux-x86_64", "tensorflow"))
        if HERE in row.pythons
    ),
    "",
)
"""The newest TensorFlow release that has a wheel for this Python; "" if none has one."""


def job(tables: Tables, env: Path, tensorflow: str = "2.20.0", installer: str = "pip", **more: bool) -> Job:
    """Return a job that uses this Python, so that no other Python has to be downloaded."""
    found = outcome(tables, tensorflow, gpu="RTX 3080", python=HERE)
    return make_job(first(found), found.context, env, installer=installer, **more)


def imported(made: Job) -> list[str]:
    """Return the version of TensorFlow and the variable for memory growth, as a shell prints them without an
    activated environment."""
    code = "import tensorflow, os; print(tensorflow.__version__, os.environ['TF_FORCE_GPU_ALLOW_GROWTH'])"
    out = subprocess.run(
        [made.python, "-c", code], capture_output=True, text=True, check=True, env={}, timeout=60
    )
    return out.stdout.split()
