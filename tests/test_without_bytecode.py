"""Tests the tool without bytecode, when every imported module is compiled at each start. Each command must
take at most twice its budget, and `explain` must import little source code, because compiling takes most of
its time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT

REPORT = (
    "2026-01-02 03:04:05.678901: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not"
    " load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file: No such"
    " file or directory\nTensorFlow 2.10.0\n"
)
COMPILED = 720_000
"""The bytes of the tool's own source that `explain` may import for one short report. With every rule and
signature, it would be 1.5 million."""
TIMES = {
    "--version": 3,
    "--help": 3,
    "code gpu-hidden": 3,
    "explain REPORT": 9.25,
    "explain REPORT --format json": 9,
    "check --format json": 15,
}
"""The budgets with bytecode, as multiples of `python -c pass`. `explain` takes 7.5 with bytecode and 17
without, a little less with --format json. Of these, Python itself takes 2.1: its start, `-m`, `re`, `json`
and `typing`. Without bytecode, compiling takes more than half of the rest."""


@pytest.mark.slow
@pytest.mark.parametrize("words", TIMES)
def test_start_takes_at_most_twice_its_time_budget(
    times_pass: Callable[..., float], words: str, tmp_path: Path
) -> None:
    report = tmp_path / "report.log"
    report.write_text(REPORT)
    arguments = [str(report) if word == "REPORT" else word for word in words.split()]
    assert times_pass(*arguments, bytecode=False) < 2 * TIMES[words]


def test_reading_a_short_report_imports_few_modules(tmp_path: Path) -> None:
    report = tmp_path / "report.log"
    report.write_text(REPORT)
    code = (
        "import json, sys; from doctor.cli import main; main(sys.argv[1:]); print('@@' +"
        " json.dumps([m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'doctor']))"
    )
    command = [sys.executable, "-c", code, "explain", str(report), "--format", "json"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    files = [Path(name) for name in json.loads(done.stdout.rpartition("@@")[2])]
    assert len(files) > 50
    assert sum(file.stat().st_size for file in files) < COMPILED
