"""Installs TensorFlow 2.10 for Python 3.9 in a folder with Debian 11, as a user of Debian 11 would: the tool
runs on a newer Python, and installs for the distribution's own Python. Everything runs inside the folder,
with the C library of Debian 11."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.install.proof import OUTSIDE
from tests.debian_11 import WORK, debian_11, newer_python, reason_against, run_inside
from tests.install.opened import CUDA_11, OPEN_LIBRARIES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tensorflow,
    pytest.mark.skipif(bool(reason_against()), reason=reason_against() or "-"),
]
ENV = f"/{WORK}/tf-gpu"


def tool(folder: Path, *arguments: str, timeout: int = 300) -> subprocess.CompletedProcess[str]:
    return run_inside(folder, [newer_python(), "-m", "doctor", *arguments], timeout)


@pytest.fixture(scope="module")
def installed() -> Iterator[tuple[Path, dict[str, Any]]]:
    """The folder, and the output of `install`. The environment is removed afterwards."""
    folder = debian_11()
    if shutil.disk_usage(folder).free < 8 << 30:
        pytest.skip("less than 8 GiB of disk space is free")
    shutil.rmtree(folder / ENV.lstrip("/"), ignore_errors=True)
    done = tool(
        folder,
        "install",
        "--tensorflow",
        "2.10",
        "--python",
        "3.9",
        "--env",
        ENV,
        "--yes",
        "--format",
        "json",
        timeout=2400,
    )
    if "could not be reached" in done.stderr:
        pytest.skip("no package registry can be reached")
    assert done.returncode == 0, done.stderr[-3000:]
    yield folder, json.loads(done.stdout)
    shutil.rmtree(folder / ENV.lstrip("/"))


def test_it_is_debian_11_with_python_3_9(installed: tuple[Path, dict[str, Any]]) -> None:
    folder, summary = installed
    code = (
        "import os, sys, tensorflow as tf; print('found', sys.version_info[:2], tf.__version__,"
        " os.confstr('CS_GNU_LIBC_VERSION'))"
    )
    done = run_inside(folder, [f"{ENV}/bin/python", "-c", code], 300)
    assert "found (3, 9) 2.10.1 glibc 2.31" in done.stdout, done.stderr[-2000:]
    assert (summary["tensorflow"], summary["python"], summary["route"]) == ("2.10.1", "3.9", "pip-and-cuda")
    assert (folder / "etc/debian_version").read_text().startswith("11.")


def test_installation_is_proved_as_far_as_can_be_without_a_gpu(
    installed: tuple[Path, dict[str, Any]],
) -> None:
    _folder, summary = installed
    assert summary["result"] in ("consistent", "proved")
    assert "2.10.1" in summary["proof"][0]


def test_check_finds_nothing_wrong_inside_it(installed: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = installed
    found = json.loads(tool(folder, "check", "--python", ENV, "--deep", "--format", "json").stdout)
    assert found["facts"]["os"]["value"] == "Debian GNU/Linux 11"
    assert [
        f["code"] for f in found["findings"] if f["severity"] == "error" and f["code"] not in OUTSIDE
    ] == []
    assert set(CUDA_11) <= set(found["facts"]["loaded_libraries"]["value"])


def test_check_judges_the_folder_from_outside_in_the_same_way(
    installed: tuple[Path, dict[str, Any]], cli: Any
) -> None:
    """check --root reads the files in the same folder and runs none of its programs."""
    folder, _ = installed
    found = json.loads(cli("check", "--root", str(folder), "--python", ENV, "--format", "json").stdout)
    assert found["facts"]["tensorflow"]["value"] == "2.10.1"
    assert [
        f["code"] for f in found["findings"] if f["severity"] == "error" and f["code"] not in OUTSIDE
    ] == []


def test_tensorflow_opens_the_libraries_of_cuda_11_through_the_links(
    installed: tuple[Path, dict[str, Any]],
) -> None:
    """TensorFlow itself loads them, with Debian 11's own loader and without LD_LIBRARY_PATH."""
    folder, _ = installed
    done = run_inside(
        folder, [f"{ENV}/bin/python", "-c", OPEN_LIBRARIES, f"{ENV}/lib/python3.9/site-packages"], 300
    )
    assert set(CUDA_11) <= {Path(line).name for line in done.stdout.splitlines()}, done.stderr[-2000:]


def test_tensorflow_registers_the_simulated_gpu_on_debian_11(installed: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = installed
    code = "import tensorflow as tf; print('found', [d.name for d in tf.config.list_logical_devices('GPU')])"
    done = tool(folder, "simulate", "--", f"{ENV}/bin/python", "-c", code, timeout=600)
    assert "found ['/device:GPU:0']" in done.stdout, done.stderr[-3000:]
