"""Tests that the tool lists everything that it did not examine, and that no gate calls such a file ok."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doctor.plan.conda import match_spec
from doctor.tables import Tables
from tests.plan.contexts import errors, judged, left_out
from tests.sampling import each

if TYPE_CHECKING:
    from typing import TypeAlias

Cli: TypeAlias = "Callable[..., subprocess.CompletedProcess[bytes]]"
MACHINE = ("--gpu", "RTX 3080", "--driver", "550.54.14", "--os", "Ubuntu 24.04")


def check(cli: Cli, path: Path, text: str) -> tuple[int, str]:
    path.write_text(text)
    done = cli("plan", "--check", "-r", str(path), *MACHINE)
    return done.returncode, done.stdout.decode()


@pytest.mark.parametrize(("name", "text", "line"), [
    ("environment.yml", "dependencies:\n  - tensorflow=2.10\n  - cudatoolkit=11.2\n", 2),
    ("environment.yml", "dependencies: [python=3.9, tensorflow=2.10]\n", 1),
    ("environment.yml", "dependencies:\n  - conda-forge::tensorflow-gpu=2.10=cuda112py39*\n", 2),
    ("environment.yml", "dependencies:\n  - tensorflow=2.10|2.11\n", 2),
    ("requirements.txt", "tensorflow @ https://example.org/tensorflow.whl\n", 1),
    ("requirements.txt", "https://example.org/tensorflow-2.15.0-cp311-cp311-linux_x86_64.whl\n", 1),
    ("requirements.txt", "./wheels/tensorflow-2.15.0.whl\n", 1),
    ("requirements.txt", "tensorflow[and-cuda]==2.20.0\n-r https://example.org/more.txt\n", 2),
    ("requirements.txt", "tensorflow==${VERSION}\n", 1),
    ("requirements.txt", "tensorflow==2.15.0+nv23.11\n", 1),
    ("requirements.txt", "tf-nightly\n", 1),
    ("pyproject.toml", '[project]\ndynamic = ["dependencies"]\n', 2),
    ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = [{version = "2.15", python = "3.9"}]\n', 2),
    ("setup.py", "install_requires = ['tensorflow']\n", 1),
    ("Dockerfile", "FROM nvcr.io/nvidia/tensorflow:23.10-tf2-py3\n", 1),
    ("Dockerfile", "FROM tensorflow/tensorflow:2.19.0-gpu\n", 1),
    ("Dockerfile", "ARG TAG\nFROM tensorflow/tensorflow:${TAG}-gpu\n", 2),
    ("Dockerfile", "FROM python:3.11\nRUN conda install -y tensorflow=2.10 cudatoolkit=11.2\n", 2),
    ("Dockerfile", "FROM python:3.11\nRUN pip install tensorflow>=2.15\n", 2),
    ("Dockerfile", "FROM python:3.11\nRUN uv add tensorflow\n", 2),
    ("Dockerfile", "FROM python:3.11\nRUN pip install tensorflow==$VERSION\n", 2),
    ("Dockerfile", "FROM python:3.11\nRUN pip install -r missing.txt 'tensorflow[and-cuda]==2.20.0'\n", 1),
])  # fmt: skip
def test_gate_says_that_it_could_not_examine_a_line(
    cli: Cli, tmp_path: Path, name: str, text: str, line: int
) -> None:
    code, words = check(cli, tmp_path / name, text)
    assert code == 3, words
    assert words.startswith("could not examine: ")
    assert f"{name}:{line})" in words or "missing.txt:1)" in words
    assert words.count("\n") == 1


def test_file_without_tensorflow_is_not_ok(cli: Cli, tmp_path: Path) -> None:
    assert check(cli, tmp_path / "requirements.txt", "numpy\n")[0] == 3


def test_error_comes_before_what_was_not_examined(cli: Cli, tmp_path: Path) -> None:
    code, words = check(cli, tmp_path / "requirements.txt", "tensorflow-cpu==2.15.0\ntf-nightly\n")
    assert code == 1
    assert "not examined: tf-nightly" in words


def test_plain_packages_are_listed_and_do_not_fail_the_check(cli: Cli, tmp_path: Path) -> None:
    code, words = check(
        cli, tmp_path / "requirements.txt", "tensorflow[and-cuda]==2.20.0\npandas==1.0\nnumpy<2.3\n"
    )
    assert code == 0
    assert "not examined: the requirements of pandas" in words
    assert "numpy" not in words


def test_without_check_there_is_a_plan_that_says_what_it_leaves_out(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "environment.yml").write_text("dependencies:\n  - tensorflow=2.10\n")
    done = cli("plan", "-r", str(tmp_path / "environment.yml"), *MACHINE)
    assert done.returncode == 3
    assert b"not examined: - tensorflow=2.10" in done.stdout
    assert b"do not consider this line" in b" ".join(done.stdout.split())


@each(
    "text, expected",
    [
        ("cudatoolkit=11.2", ("cudatoolkit", "==11.2.*", "")),
        ("cudatoolkit==11.2", ("cudatoolkit", "==11.2", "")),
        ("cudnn=8.1=h123_0", ("cudnn", "==8.1", "h123_0")),
        ("tensorflow>=2.10", ("tensorflow", ">=2.10", "")),
        ("conda-forge::cudnn", ("cudnn", "", "")),
        ("conda-forge/linux-64::cudnn=8.1", ("cudnn", "==8.1.*", "")),
        ("tensorflow 2.10.* cuda112*", ("tensorflow", "==2.10.*", "cuda112*")),
        ("python >=3.8,<3.11", ("python", ">=3.8,<3.11", "")),
        ("tensorflow[version='>=2.10,<2.12',build=cuda*]", ("tensorflow", ">=2.10,<2.12", "cuda*")),
        ("numpy 1.26", ("numpy", "==1.26", "")),
        ("cuda-version=12", ("cuda-version", "==12.*", "")),
        ("tensorflow=2.10.*", ("tensorflow", "==2.10.*", "")),
    ],
)
def test_match_specifications_of_conda_as_pip_writes_them(text: str, expected: tuple[str, str, str]) -> None:
    found = match_spec(text, 1, text)
    assert found is not None
    assert (found.name, found.specifier, found.build) == expected


@pytest.mark.parametrize(
    "text", ["tensorflow=2.10|2.11", "tensorflow[version='2.1|2.2']", "=2.10", "tensorflow=^2$"]
)
def test_match_specification_that_pip_cannot_express_is_not_read(text: str) -> None:
    assert match_spec(text, 1, text) is None


@pytest.mark.parametrize(
    ("pins", "expected", "open_"),
    [
        ("cudatoolkit=11.2", {"cuda-version-mismatch": 2}, []),
        ("cudatoolkit>=11,<12", {"cuda-version-mismatch": 2}, []),
        ("cuda-version=12.5", {}, []),
        ("cuda-version>=12,<13", {}, []),
        ("cuda-version>=11", {}, [2]),
        ("cudatoolkit>=99", {}, [2]),
        ("cudnn=8.9", {"cudnn-version-mismatch": 2}, []),
        ("cudnn>=8,<9", {"cudnn-version-mismatch": 2}, []),
        ("cudnn>=9.3,<9.4", {}, []),
        ("cudnn>=8", {}, [2]),
    ],
)
def test_cuda_of_conda_beside_tensorflow_of_pip(
    tables: Tables, pins: str, expected: dict[str, int], open_: list[int]
) -> None:
    found = judged(
        tables,
        "environment.yml",
        f"dependencies:\n  - {pins}\n  - pip:\n    - tensorflow==2.20.0\n",
        driver="550.54.14",
    )
    assert errors(found) == expected
    assert left_out(found) == open_


def test_cuda_of_conda_is_held_to_the_driver_where_conda_brings_tensorflow(tables: Tables) -> None:
    text = "dependencies:\n  - tensorflow=2.15\n  - cuda-version=12.2\n"
    assert errors(judged(tables, "environment.yml", text, driver="470.256.02")) == {"driver-too-old": 3}
    assert errors(judged(tables, "environment.yml", text, driver="535.183.01")) == {}


@pytest.mark.parametrize("build", ["cpu_py310h", "mkl_py310h", "eigen_py39h", "cpu*"])
def test_conda_build_for_the_cpu_is_reported(tables: Tables, build: str) -> None:
    found = judged(tables, "environment.yml", f"dependencies:\n  - tensorflow=2.10={build}\n")
    assert errors(found) == {"tf-cpu-only": 2}
