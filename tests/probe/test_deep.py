"""Tests the check that runs TensorFlow, with a stand-in for TensorFlow that prints, lists devices, fails,
crashes, floods the output or hangs."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from doctor.diagnose import diagnose
from doctor.facts import Facts, GpuRegistered, LibraryNotLoaded, Symptom
from doctor.probe import deep, look
from doctor.probe.machine import Machine
from doctor.tables import Tables

STAND_IN = """
import sys, os
__version__ = "2.15.1"
{start}
class _Named:
    def __init__(self, **kw): self.__dict__.update(kw)
class _Result:
    def __init__(self, value): self.value, self.device = value, "/GPU:0"
    def numpy(self): return self
    def min(self): return self.value
    def max(self): return self.value
class _Device:
    def __init__(self, name): pass
    def __enter__(self): {enter}
    def __exit__(self, *error): return False
device = _Device
ones = lambda shape: None
config = _Named(
    list_physical_devices=lambda kind: [_Named(name="/physical_device:GPU:0")] * {gpus},
    experimental=_Named(
        set_memory_growth=lambda gpu, on: None,
        get_device_details=lambda gpu: {{"device_name": "Test GPU", "compute_capability": (8, 6)}},
        get_memory_info=lambda name: {{"peak": 1048576}},
    ),
)
sysconfig = _Named(get_build_info=lambda: {{"cuda_version": "12.2", "cudnn_version": "8"}})
test = _Named(is_built_with_cuda=lambda: True)
linalg = _Named(matmul=lambda a, b: _Result({product}))
nn = _Named(conv2d=lambda *a: _Result(36.0))
"""


def seen(tmp_path: Path, limit: float = 60.0, **parts: str) -> Facts:
    """Return the facts from a deep check with a stand-in."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=120
    )
    (site,) = (tmp_path / "venv").glob("lib/python3*/site-packages")
    (site / "tensorflow").mkdir()
    values = {"start": "", "enter": "pass", "gpus": "1", "product": "64.0", **parts}
    (site / "tensorflow/__init__.py").write_text(STAND_IN.format(**values))
    (site / "tensorflow-2.15.1.dist-info").mkdir()
    machine = dataclasses.replace(
        Machine.here(), env={"PATH": os.environ["PATH"], "TF_CPP_MIN_LOG_LEVEL": "3"}
    )
    found = look(machine, str(tmp_path / "venv"))
    assert found.environment is not None
    return found.facts.plus(deep.examine(machine, found.environment, found.facts, limit))


pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


def test_a_working_gpu_is_registered_and_both_operations_are_right(tmp_path: Path) -> None:
    facts = seen(tmp_path)
    assert [(gpu.index, gpu.name) for gpu in facts.of(GpuRegistered)] == [(0, "Test GPU")]
    assert [fact.get("op") for fact in facts.symptoms("deep-operation")] == ["matmul", "convolution"]
    assert [fact.get("peak_mib") for fact in facts.symptoms("deep-memory")] == ["1.0"]


def test_wrong_results_are_distinguished_from_right_ones(tmp_path: Path) -> None:
    facts = seen(tmp_path, product="63.0")
    assert [fact.get("op") for fact in facts.symptoms("deep-operation-wrong")] == ["matmul"]
    assert diagnose(facts, Tables.bundled()).worst == "error"


def test_tensorflows_output_is_read_like_a_pasted_report(tmp_path: Path) -> None:
    line = (
        "2026-01-01 00:00:00.000000: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could"
        " not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file:"
        " No such file or directory"
    )
    facts = seen(tmp_path, start=f"sys.stderr.write({line!r} + chr(10))", gpus="0")
    logged = [fact for fact in facts.of(LibraryNotLoaded) if fact.source.where == deep.LOG]
    assert {fact.name for fact in logged} == {"libcudnn.so.8"}
    assert facts.has("gpu-list-empty")


def test_variables_that_suppress_tensorflows_messages_are_unset(tmp_path: Path) -> None:
    check = (
        "assert 'TF_CPP_MIN_LOG_LEVEL' not in os.environ and 'dso_loader=1' in os.environ['TF_CPP_VMODULE']"
    )
    assert not seen(tmp_path, start=check).has("deep-import-failed")


def test_the_verdict_of_a_failed_import_contains_its_error(tmp_path: Path) -> None:
    facts = seen(tmp_path, start="raise ImportError('libfoo.so.1: cannot open shared object file')")
    (failed,) = facts.symptoms("deep-import-failed")
    assert "libfoo.so.1" in failed.get("error")
    assert diagnose(facts, Tables.bundled()).worst == "error"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("os.kill(os.getpid(), 11)", "SIGSEGV"),
        ("os.kill(os.getpid(), 4)", "SIGILL"),
        ("os.abort()", "SIGABRT"),
    ],
)
def test_a_crash_is_a_fact_with_its_signal_and_stage(tmp_path: Path, code: str, name: str) -> None:
    facts = seen(tmp_path, start=code)
    (crashed,) = facts.symptoms("deep-crashed")
    assert (crashed.get("signal"), crashed.get("stage")) == (name, "started")
    assert diagnose(facts, Tables.bundled()).worst == "error"


@pytest.mark.slow
def test_a_hang_ends_with_the_limit(tmp_path: Path) -> None:
    start = time.monotonic()
    facts = seen(tmp_path, limit=3.0, enter="import time; time.sleep(600)")
    assert time.monotonic() - start < 60
    (hung,) = facts.symptoms("deep-hung")
    assert hung.get("stage") == "devices"


def test_a_flood_of_messages_is_cut_off(tmp_path: Path) -> None:
    start = time.monotonic()
    facts = seen(tmp_path, enter="[sys.stderr.write('x' * 1000000) for _ in iter(int, 1)]")
    assert time.monotonic() - start < 60
    (failed,) = facts.symptoms("deep-failed")
    assert isinstance(failed, Symptom)
    assert "exceeded 4194304 bytes" in failed.get("error")


def test_a_file_in_the_current_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tensorflow.py").write_text("raise SystemExit('run')")
    monkeypatch.chdir(tmp_path)
    assert len(seen(tmp_path).of(GpuRegistered)) == 1
