"""Tests lock files, pixi files and compose files: what they require on this machine, and what is wrong with
these requirements."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from doctor.plan.requirements import read
from doctor.plan.yaml_lines import entries
from doctor.tables import Tables
from tests.gate.test_gate import held
from tests.plan.contexts import errors, judged, left_out
from tests.sampling import each

INDEX = "https://index.example/simple"


def uv_lock(*packages: str, project: str = '{ name = "tensorflow", extra = ["and-cuda"] }') -> str:
    head = (
        'version = 1\nrevision = 3\nrequires-python = ">=3.11, <3.12"\n\n[[package]]\nname = "demo"\nversion'
        ' = "0.1"\nsource = { virtual = "." }\ndependencies = [\n   '
        f' {project},\n]\n\n[package.metadata]\nrequires-dist = [{{ name = "tensorflow", specifier = "==9.9"'
        " }]\n"
    )
    return head + "".join(f"\n[[package]]\n{package}\n" for package in packages)


def uv_package(name: str, version: str, needs: str = "", source: str = f'{{ registry = "{INDEX}" }}') -> str:
    return (
        f'name = "{name}"\nversion = "{version}"\nsource = {source}\ndependencies = [\n{needs}]\nwheels = [\n'
        f'    {{ url = "https://files.example/{name}-{version}.whl", hash = "sha256:00", size = 1 }},\n]'
    )


FOR_WINDOWS = '    { name = "tensorflow-intel", marker = "sys_platform == \'win32\'" },\n'
UV = uv_lock(
    uv_package("tensorflow", "2.15.1", FOR_WINDOWS),
    uv_package("tensorflow-intel", "2.15.1"),
    uv_package("numpy", "1.26.4"),
)
POETRY = """\
[[package]]
name = "tensorflow"
version = "2.15.1"
description = "a \\"quoted\\" word"
optional = false
python-versions = ">=3.9"
groups = ["main"]
files = [
    {file = "tensorflow-2.15.1-cp311-cp311-manylinux_2_17_x86_64.whl", hash = "sha256:00"},
]

[package.dependencies]
absl-py = ">=1.0.0"
nvidia-cublas-cu12 = {version = "12.2.5.6", optional = true, markers = "extra == \\"and-cuda\\""}
tensorflow-intel = {version = "2.15.1", markers = "platform_system == \\"Windows\\""}

[package.extras]
and-cuda = ["nvidia-cublas-cu12 (==12.2.5.6)"]

[[package]]
name = "tensorflow-intel"
version = "2.15.1"
description = ""
optional = false
python-versions = ">=3.9"
groups = ["main"]
files = []

[[package]]
name = "nvidia-cublas-cu12"
version = "12.2.5.6"
description = ""
optional = false
python-versions = ">=3"
files = []

[metadata]
lock-version = "2.1"
python-versions = ">=3.10,<3.12"
content-hash = "00"
"""
CONDA_LOCK = """\
version: 1
metadata:
  channels:
  - url: conda-forge
  platforms:
  - linux-64
  - win-64
package:
- name: python
  version: 3.11.8
  manager: conda
  platform: linux-64
  dependencies:
    libzlib: '>=1.2.13'
  url: https://conda.example/conda-forge/linux-64/python-3.11.8-hab00c5b_0_cpython.conda
- name: tensorflow
  version: 2.15.1
  manager: pip
  platform: linux-64
  dependencies: {}
  url: https://files.example/tensorflow-2.15.1-cp311-cp311-manylinux_2_17_x86_64.whl
- name: tensorflow-intel
  version: 2.15.1
  manager: pip
  platform: win-64
  url: https://files.example/tensorflow_intel-2.15.1-cp311-cp311-win_amd64.whl
"""
PIXI_LOCK = """\
version: 6
environments:
  default:
    channels:
    - url: https://conda.example/conda-forge/
    packages:
      linux-64:
      - conda: https://conda.example/conda-forge/linux-64/python-3.11.8-hab00c5b_0_cpython.conda
      - pypi: https://files.example/ab/cd/tensorflow-2.15.1-cp311-cp311-manylinux_2_17_x86_64.whl
      win-64:
      - pypi: https://files.example/ab/cd/tensorflow_cpu-2.15.1-cp311-cp311-win_amd64.whl
packages:
- pypi: https://files.example/ab/cd/tensorflow-2.15.1-cp311-cp311-manylinux_2_17_x86_64.whl
  name: tensorflow
  version: 2.15.1
"""
LOCKS = {"uv.lock": UV, "poetry.lock": POETRY, "conda-lock.yml": CONDA_LOCK, "pixi.lock": PIXI_LOCK}


@pytest.mark.parametrize("name", LOCKS)
def test_lock_that_works_is_ok(tables: Tables, name: str) -> None:
    """The lock file lists packages for Windows beside those for Linux. They do not count as a second
    TensorFlow installation."""
    found = judged(tables, name, LOCKS[name])
    assert errors(found) == {}
    assert left_out(found) == []
    assert found.plans[0].tensorflow == "2.15.1"


@pytest.mark.parametrize("name", LOCKS)
def test_lock_is_held_to_the_driver(tables: Tables, name: str) -> None:
    found = judged(tables, name, LOCKS[name], driver="470.82.01")
    line = next(n for n, text in enumerate(LOCKS[name].splitlines(), 1) if "2.15.1" in text)
    assert errors(found) == {"driver-too-old": line}


@pytest.mark.parametrize("name", LOCKS)
def test_packages_of_windows_count_there(tables: Tables, name: str) -> None:
    asked = {line.name for line in read(LOCKS[name], name).requirements}
    assert asked & {"tensorflow-intel", "tensorflow-cpu"}


def test_what_poetry_locks_for_an_extra_is_there(tables: Tables) -> None:
    assert not [f for f in judged(tables, "poetry.lock", POETRY).findings if f.code == "cuda-missing"]


def test_cure_of_a_lock_is_in_the_projects_own_requirements(tables: Tables) -> None:
    text = uv_lock(uv_package("tensorflow-gpu", "2.15.0"), project='{ name = "tensorflow-gpu" }')
    found = judged(tables, "uv.lock", text)
    steps = [step for f in found.findings for step in f.prescription]
    assert any("update the lock file" in step.text for step in steps)
    assert not [step for step in steps if step.edit is not None]


def test_lock_with_two_releases_is_not_called_ok(tables: Tables) -> None:
    text = uv_lock(uv_package("tensorflow", "2.15.1"), uv_package("tensorflow", "2.20.0"))
    assert judged(tables, "uv.lock", text).unexamined


def test_fork_by_platform_is_distinguished(tables: Tables) -> None:
    """The project requires another release on macOS. Only the release for this machine is judged."""
    needs = (
        '{ name = "tensorflow", version = "2.15.1", marker = "sys_platform == \'darwin\'" },\n    { name ='
        ' "tensorflow", version = "2.20.0", extra = ["and-cuda"], marker = "sys_platform == \'linux\'" }'
    )
    found = judged(
        tables,
        "uv.lock",
        uv_lock(uv_package("tensorflow", "2.15.1"), uv_package("tensorflow", "2.20.0"), project=needs),
    )
    assert errors(found) == {}
    assert left_out(found) == []
    assert found.plans[0].tensorflow == "2.20.0"


def test_package_from_elsewhere_is_not_examined(tables: Tables) -> None:
    own = uv_package("tensorflow", "2.15.1", source='{ url = "https://example.org/tensorflow.whl" }')
    assert judged(tables, "uv.lock", uv_lock(own)).unexamined
    other = uv_package("tensorflow", "2.15.1", source='{ registry = "https://wheels.example/simple" }')
    rest = [uv_package(name, "1.0") for name in ("a", "b")]
    assert judged(tables, "uv.lock", uv_lock(other, *rest)).unexamined


def test_requirement_only_of_another_platform_is_none(tables: Tables) -> None:
    """Requirements of a package that is only for Windows do not apply on this machine either."""
    needs = '{ name = "windows-only", marker = "sys_platform == \'win32\'" },\n    { name = "tensorflow" }'
    text = uv_lock(
        uv_package("windows-only", "1.0", '    { name = "tensorflow-cpu" },\n'),
        uv_package("tensorflow-cpu", "2.15.1"),
        uv_package("tensorflow", "2.15.1"),
        project=needs,
    )
    assert "tf-cpu-only" not in errors(judged(tables, "uv.lock", text))


def test_large_lock_with_many_ways_takes_no_time(tables: Tables) -> None:
    """Every package requires every other package under its own marker, so following every path would take too
    long."""
    names = [f"p{number}" for number in range(60)]
    needs = {
        name: "".join(
            f'    {{ name = "{other}", marker = "python_version > \'3.{at}\'" }},\n'
            for at, other in enumerate(names)
        )
        for name in names
    }
    text = uv_lock(*(uv_package(name, "1.0", needs[name]) for name in names), project='{ name = "p0" }')
    assert len(read(text, "uv.lock").requirements) == len(names)


@pytest.mark.parametrize("most", [2000, pytest.param(8000, marks=pytest.mark.slow)])
def test_hostile_locks_take_no_time(most: int) -> None:
    """A long chain of markers, many packages of the same name, and open brackets are read within seconds,
    even at the largest size."""
    chain = [
        uv_package(f"p{n}", "1.0", f'    {{ name = "p{n + 1}", marker = "os_name == \'{n}\'" }},\n')
        for n in range(most)
    ]
    namesakes = [uv_package("a", f"1.{n}", '    { name = "a" },\n') for n in range(most)]
    brackets = ["dependencies = [ " + "{ a = [ " * 2000 for _ in range(most // 40)]
    begun = time.process_time()
    for packages in (chain, namesakes, brackets):
        read(uv_lock(*packages, project='{ name = "p0" }, { name = "a" }'), "uv.lock")
    for name in ("conda-lock.yml", "pixi.lock", "compose.yml"):
        read("\n".join(["package:", *("- url: " + "/a-a-a" * 3000 for _ in range(most // 40))]), name)
        read("\n".join("  " * n + "a:" for n in range(most // 4)), name)
    assert time.process_time() - begun < most / 400


def test_conda_explicit_list(tables: Tables) -> None:
    text = (
        "# platform:"
        " linux-64\n@EXPLICIT\nhttps://conda.example/conda-forge/linux-64/tensorflow-2.15.0-"
        "cuda120py311h5cbd639_3.conda#00\n"
    )
    assert left_out(judged(tables, "conda-linux-64.lock", text)) == [3]


@pytest.mark.parametrize(("text", "expected"), [
    ('[dependencies]\npython = "3.11.*"\n\n[pypi-dependencies]\ntensorflow = { version = "==2.15.1", extras '
     '= ["and-cuda"] }\n', {}),
    ('[dependencies]\npython = "3.13.*"\n\n[pypi-dependencies]\ntensorflow = { version = "==2.15.1", extras '
     '= ["and-cuda"] }\n', {"tf-no-wheel": 5}),
    ('[dependencies]\npython = "3.11.*"\n[pypi-dependencies]\ntensorflow-cpu = "*"\n', {"tf-cpu-only": 4}),
    ('[pypi-dependencies]\ntensorflow = { version = "==2.15.1", extras = ["and-cuda"] '
     '}\n[target.win-64.pypi-dependencies]\ntensorflow-cpu = "*"\n', {}),
    ('[feature.cuda.pypi-dependencies]\ntensorflow = { version = "==2.15.1", extras = ["and-cuda"] '
     '}\n[feature.cpu.pypi-dependencies]\ntensorflow-cpu = "*"\n', {"tf-cpu-only": 4}),
])  # fmt: skip
def test_pixi(tables: Tables, text: str, expected: dict[str, int]) -> None:
    assert errors(judged(tables, "pixi.toml", text)) == expected
    inside = text.replace("[", "[tool.pixi.", 1) if text.startswith("[") else text
    lines = [f"[tool.pixi.{line[1:]}" if line.startswith("[") else line for line in text.splitlines()]
    assert errors(judged(tables, "pyproject.toml", "\n".join(lines))) == expected, inside


def test_pixi_takes_tensorflow_of_conda_for_unexamined(tables: Tables) -> None:
    text = '[dependencies]\ntensorflow = { version = "2.15.*", build = "cuda*" }\n'
    assert left_out(judged(tables, "pixi.toml", text)) == [2]


COMPOSE = """\
services:
  train:
    image: "{image}"
    command: |
      image: tensorflow/tensorflow:2.15.0
      gpus: all
{more}
  db:
    image: postgres:16
"""
RESERVED = """\
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              count: 1
              capabilities: [gpu]
"""


@pytest.mark.parametrize(("image", "more", "expected"), [
    ("tensorflow/tensorflow:2.15.0.post1-gpu", "    gpus: all\n", {}),
    ("tensorflow/tensorflow:2.15.0.post1-gpu", RESERVED, {}),
    ("tensorflow/tensorflow:2.15.0.post1-gpu", RESERVED.replace("[gpu]", "\n                - gpu"), {}),
    ("tensorflow/tensorflow:2.15.0.post1-gpu", "    runtime: nvidia\n", {}),
    ("tensorflow/tensorflow:2.15.0.post1-gpu", "    restart: always\n", {"container-no-gpu": 3}),
    ("tensorflow/tensorflow:2.15.0", "    gpus: all\n", {"tf-cpu-only": 3}),
])  # fmt: skip
def test_compose(tables: Tables, image: str, more: str, expected: dict[str, int]) -> None:
    found = judged(tables, "compose.yml", COMPOSE.format(image=image, more=more))
    assert {
        f.code: f.evidence[0].line for f in found.findings if f.code in ("container-no-gpu", "tf-cpu-only")
    } == expected


def test_compose_judges_what_it_builds(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "Dockerfile").write_text(
        "FROM python:3.11\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n"
    )
    (tmp_path / "app" / "requirements.txt").write_text("tensorflow-gpu\n")
    path = tmp_path / "docker-compose.yml"
    path.write_text(
        "services:\n  train:\n    build:\n      context: ./app\n    gpus: all\n  web:\n    build: ./web\n"
    )
    found = held(path)
    assert found.exit_code == 1
    (error,) = [f for f in found.whole.findings if f.severity == "error"]
    assert (error.evidence[0].where, error.evidence[0].line) == (
        str(tmp_path / "app" / "requirements.txt"),
        1,
    )
    assert any("web/Dockerfile" in f.explanation for f in found.whole.findings), "a missing file is not ok"


def test_yaml_paths() -> None:
    text = "a:\n- b: 1\n  c: 'x: y'\n- d\ne:\n  f: |\n    g: 1\n  h: [1, 2]\n"
    found = [(entry.path, entry.value) for entry in entries(text.splitlines()) if entry.value]
    assert found == [(("a", 2, "b"), "1"), (("a", 2, "c"), "x: y"), (("a", 4), "d"), (("e", "h"), "[1, 2]")]


NO_LOCK = ("", "\0", "[" * 5000, "{" * 5000, "- " * 5000, "a: " * 5000, '"' * 5001, "[[package]]\n" * 500,
           'name = "' + "\\" * 4000)  # fmt: skip


@each(
    "name, text",
    itertools.product(
        ("uv.lock", "poetry.lock", "conda-lock.yml", "pixi.lock", "pixi.toml", "compose.yml", "pylock.toml"),
        NO_LOCK,
    ),
)
def test_what_is_no_such_file_is_read_without_an_error(name: str, text: str) -> None:
    read(text, name)
