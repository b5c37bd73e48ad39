"""Tests Dockerfiles: what they install, what is wrong with it, and the line that fixes it."""

from __future__ import annotations

import re

import pytest

from doctor.plan.requirements import read
from doctor.render.plans import gate_line
from doctor.tables import Tables
from tests.plan.contexts import errors, judged, left_out
from tests.sampling import each


def cures(tables: Tables, text: str, **machine: str) -> list[str]:
    found = judged(tables, "Dockerfile", text, **machine)
    steps = [step for f in found.findings if f.severity == "error" for step in f.prescription]
    assert all(step.kind == "manual" for step in steps), "no command for this machine"
    return list(dict.fromkeys(step.text for step in steps))


@pytest.mark.parametrize(
    "text",
    [
        "FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04\nRUN pip install tensorflow==2.20.0\n",
        "FROM nvidia/cuda:12.5.1-runtime-ubuntu22.04\nRUN apt-get update && python3 -m pip install "
        "--no-cache-dir tensorflow==2.20.0 pandas\n",
        "FROM nvidia/cuda:12.2.0-cudnn8-runtime-ubuntu22.04\nRUN pip install \\\n    numpy \\\n    "
        "'tensorflow==2.20.0' \\\n    pandas\n",
        'FROM nvidia/cuda:12.2.0-cudnn8-runtime-ubuntu22.04\nRUN ["pip", "install", "tensorflow==2.20.0"]\n',
        'FROM python:3.13-slim\nRUN pip install "tensorflow[and-cuda]==2.18.0"\n',
        "FROM python:3.7\nRUN pip install 'tensorflow[and-cuda]>=2.20,<2.21'\n",
        "FROM tensorflow/tensorflow:2.15.0\n",
        "FROM tensorflow/tensorflow:latest-jupyter\n",
        "FROM tensorflow/tensorflow\n",
        "FROM python:3.11\nRUN pip install 'tensorflow[and-cuda]==2.20.0' 'numpy<1.26'\n",
        "FROM python:3.11\nRUN pip install 'tensorflow[and-cuda]==2.20.0' torch==2.6.0\n",
        "FROM python:3.11\nRUN pip install tensorflow-gpu\n",
        "FROM python:3.11\nRUN pip install tensorflow-cpu==2.15.0\n",
    ],
)
def test_changed_lines_make_the_file_pass(tables: Tables, text: str) -> None:
    """Every line that a cure contains is put into the file, each line once. Then the fault is gone."""
    assert errors(judged(tables, "Dockerfile", text))
    lines = text.splitlines()
    put: set[int] = set()
    for cure in cures(tables, text):
        match = re.fullmatch(r"Dockerfile, line (\d+): (.+)", cure)
        if match and int(match[1]) not in put:
            lines[int(match[1]) - 1] = match[2]
            put.add(int(match[1]))
    assert put
    after = judged(tables, "Dockerfile", "\n".join(lines) + "\n")
    assert errors(after) == {}, lines
    assert left_out(after) == []


def test_driver_fix_is_for_the_host_not_for_the_file(tables: Tables) -> None:
    found = judged(tables, "Dockerfile", "FROM tensorflow/tensorflow:2.15.0.post1-gpu\n", driver="450.80.02")
    assert errors(found) == {"driver-too-old": 1}


@pytest.mark.parametrize(("system", "expected"), [("ubuntu22.04", {}), ("ubuntu24.04", {"tf-no-wheel": 2})])
def test_python_comes_from_the_image_not_from_this_machine(
    tables: Tables, system: str, expected: dict[str, int]
) -> None:
    text = f"FROM nvidia/cuda:11.8.0-cudnn8-runtime-{system}\nRUN pip install tensorflow==2.13.1\n"
    for here in ("Ubuntu 20.04", "Ubuntu 24.04", "Debian 12"):
        assert errors(judged(tables, "Dockerfile", text, os=here)) == expected


def test_another_tensorflow_in_an_official_image_must_fit_its_libraries(
    tables: Tables,
) -> None:
    text = "FROM tensorflow/tensorflow:2.17.0-gpu\nRUN pip install tensorflow=={}\n"
    assert "cudnn-version-mismatch" in errors(judged(tables, "Dockerfile", text.format("2.20.0")))
    assert errors(judged(tables, "Dockerfile", text.format("2.17.1"))) == {}


@each(
    "text, expected",
    [
        ("FROM a AS base\nRUN pip install tensorflow==2.15\nFROM base\n", [("tensorflow", "==2.15", 2)]),
        ("FROM a AS base\nRUN pip install tensorflow==2.15\nFROM b\nCOPY --from=base /x /x\n", []),
        ("ARG V=2.15\nFROM a\nARG V\nRUN pip install tensorflow==$V\n", [("tensorflow", "==2.15", 4)]),
        ("FROM a\nENV V 2.15\nRUN pip install tensorflow==${V}\n", [("tensorflow", "==2.15", 3)]),
        ("FROM a\nRUN pip install tensorflow==${V:-2.16}\n", [("tensorflow", "==2.16", 2)]),
        (
            'FROM a\nRUN ["python", "-m", "pip", "install", "tensorflow>=2.15"]\n',
            [("tensorflow", ">=2.15", 2)],
        ),
        ('FROM a\nRUN ["sh", "-c", "pip install tensorflow==2.15"]\n', [("tensorflow", "==2.15", 2)]),
        (
            "FROM a\nRUN <<EOF\nset -e\npip install tensorflow==2.15\nEOF\nRUN pip install numpy\n",
            [("tensorflow", "==2.15", 4), ("numpy", "", 6)],
        ),
        (
            "FROM a\nRUN --mount=type=cache,target=/root pip3 install tensorflow==2.15\n",
            [("tensorflow", "==2.15", 2)],
        ),
        ("FROM a\nRUN uv pip install --system tensorflow==2.15\n", [("tensorflow", "==2.15", 2)]),
        (
            "FROM a\nRUN pip install \\\n  # the model\n  tensorflow==2.15 \\\n\n  numpy\n",
            [("tensorflow", "==2.15", 4), ("numpy", "", 6)],
        ),
        (
            "FROM a\nRUN cd x; pip install 'tensorflow==2.15;python_version<\"3.12\"' || true\n",
            [("tensorflow", "==2.15", 2)],
        ),
        (
            "FROM a\nRUN pip install -q -i https://x/simple tensorflow==2.15 --upgrade\n",
            [("tensorflow", "==2.15", 2)],
        ),
        (
            "FROM a\nRUN conda install -y -c conda-forge -n env cudatoolkit=11.2"
            " && pip install tensorflow==2.10\n",
            [("cudatoolkit", "==11.2.*", 2), ("tensorflow", "==2.10", 2)],
        ),
        ("from a\nrun pip install tensorflow==2.15\n", [("tensorflow", "==2.15", 2)]),
    ],
)
def test_every_form_of_an_install_command_is_read(text: str, expected: list[tuple[str, str, int]]) -> None:
    assert [(a.name, a.specifier, a.line) for a in read(text, "Dockerfile").requirements] == expected


def test_copied_file_is_read_from_the_dockerfiles_folder(tables: Tables) -> None:
    text = "FROM python:3.12\nCOPY requirements.txt /app/\nRUN pip install -r /app/requirements.txt\n"
    assert errors(judged(tables, "Dockerfile", text, {"requirements.txt": "tensorflow==2.10.1\n"})) == {
        "tf-no-wheel": 1,
        "cuda-missing": 1,
    }
    assert left_out(judged(tables, "Dockerfile", text, {"requirements.txt": None})) == [1]


@pytest.mark.parametrize(
    "base", ["python:3.11", "docker.io/library/ubuntu:22.04", "tensorflow/tensorflow:2.20.0"]
)
def test_a_base_image_without_cuda_is_a_fault_if_nothing_installs_cuda(tables: Tables, base: str) -> None:
    found = judged(tables, "Dockerfile", f"FROM {base}\nRUN pip install tensorflow==2.20.0\n")
    assert errors(found) == {"cuda-missing": 2}
    both = judged(tables, "Dockerfile", f"FROM {base}\nRUN pip install tensorflow[and-cuda]==2.20.0\n")
    assert not errors(both)


def test_a_base_image_that_is_not_known_may_contain_cuda(tables: Tables) -> None:
    found = judged(tables, "Dockerfile", "FROM own/base:1\nRUN pip install tensorflow==2.20.0\n")
    assert not errors(found)
    (missing,) = [f for f in found.findings if f.code == "cuda-missing"]
    assert "it is not known whether the base image own/base:1 contains them" in missing.explanation
    line = gate_line(found)
    assert line.startswith("ok: tensorflow 2.20.0; warning: cuda-missing")  # not the plan's CUDA and Python


@pytest.mark.parametrize(
    ("release", "faults", "open_lines"),
    [
        ("2.14.0", set(), []),  # wheels for the same Python versions as 2.15
        ("2.11.0", set(), [1]),  # no wheel for Python 3.11
        ("2.4.0", {"tf-no-wheel"}, []),  # no wheel for any of them
    ],
)
def test_the_python_of_an_official_image_is_one_for_which_its_release_has_wheels(
    tables: Tables, release: str, faults: set[str], open_lines: list[int]
) -> None:
    text = f"FROM tensorflow/tensorflow:2.15.0-gpu\nRUN pip install tensorflow=={release}\n"
    found = judged(tables, "Dockerfile", text)
    about_libraries = {"cuda-version-mismatch", "cudnn-version-mismatch"}
    assert errors(found).keys() - about_libraries == faults
    assert left_out(found) == open_lines
    assert left_out(judged(tables, "Dockerfile", text, python="3.10")) == []
