"""Provides reports and diagnoses for the tests of every output format."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doctor.diagnose import diagnose
from doctor.findings import Diagnosis
from doctor.logs import read
from doctor.tables import Tables
from tests.in_process import called

if TYPE_CHECKING:
    from typing import TypeAlias

ROOT = Path(__file__).resolve().parent.parent.parent
Run: TypeAlias = "Callable[..., subprocess.CompletedProcess[bytes]]"

MISMATCH = """\
2020-05-01 10:00:00.000000: I tensorflow/stream_executor/platform/default/dso_loader.cc:44] Successfully \
opened dynamic library libcuda.so.1
2020-05-01 10:00:00.100000: W tensorflow/stream_executor/platform/default/dso_loader.cc:55] Could not load \
dynamic library 'libcudnn.so.7'; dlerror: libcudnn.so.7: cannot open shared object file: No such file or \
directory; LD_LIBRARY_PATH: /home/alice/cuda/lib64
2020-05-01 10:00:00.200000: I tensorflow/stream_executor/cuda/cuda_gpu_executor.cc:983] successful NUMA \
node read from SysFS had negative value (-1), but there must be at least one NUMA node, so returning NUMA \
node zero
2020-05-01 10:00:00.300000: W tensorflow/core/common_runtime/gpu/gpu_device.cc:1592] Cannot dlopen some GPU \
libraries. Please make sure the missing libraries mentioned above are installed properly if you would like \
to use GPU.
Skipping registering GPU devices...
alice@render-box:~$ python3 -c "import tensorflow as tf; print(tf.__version__)"
2.1.0
"""
"""A report with one cause, one harmless line, and private names."""


@pytest.fixture
def diagnosed(tables: Tables) -> Callable[..., Diagnosis]:
    """A function that returns the diagnosis of a text."""

    def of(text: str | bytes, name: str = "report.txt") -> Diagnosis:
        return diagnose(read(text.encode() if isinstance(text, str) else text, name), tables)

    return of


@pytest.fixture
def tool(tmp_path: Path) -> Run:
    """Run `tfgpu-doctor` with arguments, input and environment. Returns its output as bytes. If environment
    variables are given, it runs in its own process, because they decide how it opens its streams."""

    def run(*arguments: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
        import os

        base = {
            k: v
            for k, v in os.environ.items()
            if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONIOENCODING")
        }
        if not env:
            return called(*arguments, input=stdin, cwd=tmp_path, env=base)
        return subprocess.run(
            [sys.executable, "-m", "doctor", *arguments],
            input=stdin,
            capture_output=True,
            timeout=120,
            cwd=tmp_path,
            env={**base, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **env},
        )

    return run
