"""Installs real TensorFlow, which takes minutes and downloads gigabytes from the package registry. Then tests
the installation as far as a machine without a GPU allows, and on the simulated GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doctor.install import interpreters
from tests.install.opened import CUDA_11, CUDA_12_CUDNN_8, NEWEST, OPEN_LIBRARIES

pytestmark = [
    pytest.mark.slow, pytest.mark.tensorflow,
    pytest.mark.online,  # gigabytes of wheels
    pytest.mark.skipif(sys.platform != "linux", reason="the wheels are for Linux"),
]  # fmt: skip
ROOT = Path(__file__).resolve().parents[2]
# a card is given, because on a machine without a card the plan is for the CPU
CASES = {
    "newest": ("latest", ("3.13", "3.12", "3.11", "3.10"), ()),
    "2.15.1": ("2.15.1", ("3.11", "3.10", "3.9"), ()),
    "2.10": ("2.10", ("3.9", "3.10", "3.8"), ()),
}


@pytest.fixture(scope="module", params=list(CASES))
def installed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path, dict[str, object]]]:
    """An environment that `install` made for one case. It is removed afterwards."""
    spec, pythons, more = CASES[request.param]
    python = next((p for p in pythons if interpreters.find(p)), None)
    if python is None:
        pytest.skip(f"this machine has none of Python {', '.join(pythons)}")
    folder = tmp_path_factory.mktemp("real")
    if shutil.disk_usage(folder).free < 16 << 30:
        pytest.skip("less than 16 GiB of disk space is free")
    command = [
        sys.executable,
        "-m",
        "doctor",
        "install",
        "--tensorflow",
        spec,
        "--python",
        python,
        "--env",
        str(folder / "tf"),
        "--yes",
        "--gpu",
        "RTX 3080",
        "--format",
        "json",
        *more,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, check=False, cwd=ROOT,
                          env={**os.environ, "TFGPU_DOCTOR_TABLES": ""})  # fmt: skip
    if "could not be reached" in done.stderr:
        pytest.skip("no package registry can be reached")
    assert done.returncode == 0, done.stderr[-3000:]
    yield request.param, folder / "tf", json.loads(done.stdout)
    shutil.rmtree(folder)


def site_packages(env: Path) -> Path:
    return next(env.glob("lib/python3*/site-packages"))


def test_installation_says_honestly_what_was_proved(installed: tuple[str, Path, dict[str, object]]) -> None:
    _name, env, summary = installed
    assert (env / "bin" / "python").exists()
    assert summary["result"] in ("consistent", "proved")
    if summary["result"] == "consistent":
        assert "not proved on a GPU here" in " ".join(summary["proof"])  # type: ignore[arg-type]
    assert Path(str(summary["log"])).exists()


def test_check_finds_nothing_wrong_inside(
    installed: tuple[str, Path, dict[str, object]], cli: Callable[..., subprocess.CompletedProcess[bytes]]
) -> None:
    from doctor.install.proof import OUTSIDE

    _name, env, _ = installed
    found = json.loads(cli("check", "--python", str(env), "--format", "json").stdout)
    assert [
        f["code"] for f in found["findings"] if f["severity"] == "error" and f["code"] not in OUTSIDE
    ] == []


def test_tensorflow_opens_every_library_of_its_own_environment(
    installed: tuple[str, Path, dict[str, object]],
) -> None:
    name, env, _ = installed
    clean = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}
    done = subprocess.run(
        [env / "bin/python", "-c", OPEN_LIBRARIES, site_packages(env)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env=clean,
    )
    opened = {Path(line).name for line in done.stdout.splitlines()}
    assert set({"newest": NEWEST, "2.15.1": CUDA_12_CUDNN_8, "2.10": CUDA_11}[name]) <= opened


def test_tensorflow_registers_the_simulated_gpu(installed: tuple[str, Path, dict[str, object]]) -> None:
    _name, env, _ = installed
    code = "import tensorflow as tf; print('found', [d.name for d in tf.config.list_logical_devices('GPU')])"
    command = [sys.executable, "-m", "doctor", "simulate", "--", str(env / "bin/python"), "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=ROOT)
    if "no C compiler" in done.stderr:
        pytest.skip("the simulation needs a C compiler")
    assert "found ['/device:GPU:0']" in done.stdout, done.stderr[-2000:]
