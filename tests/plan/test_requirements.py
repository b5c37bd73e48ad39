"""Requirement files: each line that cannot work is a finding with that line as its evidence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.plan import Ground, Outcome, Wish
from doctor.plan.described import described
from doctor.plan.files import judged_files
from doctor.plan.requirements import read
from doctor.tables import Tables


def judged(tables: Tables, name: str, text: str, **machine: str) -> Outcome:
    options = {"os": "Ubuntu 22.04", "driver": "535.183.01", **machine}
    facts = described(tables, gpu=["RTX 3080"], **options)  # type: ignore[arg-type]
    wish = Wish(cuda=machine.get("cuda"), cudnn=machine.get("cudnn"), python=machine.get("python"))
    return judged_files(Ground(facts, tables, wish), {name: text})


def errors(found: Outcome) -> dict[str, int | None]:
    """Code and line of each error."""
    return {f.code: f.evidence[0].line for f in found.findings if f.severity == "error"}


def test_line_without_a_wheel_for_this_python(tables: Tables) -> None:
    found = judged(tables, "requirements.txt", "# the model\nnumpy\ntensorflow==2.10.1\n", python="3.12")
    assert errors(found) == {"tf-no-wheel": 3}
    assert "2.16" in " ".join(p.tensorflow for p in found.plans)


def test_line_that_wants_another_cuda_than_the_machine_has(tables: Tables) -> None:
    found = judged(tables, "requirements.txt", "tensorflow==2.4.1\n", cuda="12.2", python="3.8")
    assert errors(found) == {"cuda-version-mismatch": 1}


def test_tensorflow_gpu_of_today_is_a_stub(tables: Tables) -> None:
    assert errors(judged(tables, "requirements.txt", "tensorflow-gpu==2.12.0\n")) == {"tf-gpu-package-removed": 1}


def test_two_packages_that_are_both_tensorflow(tables: Tables) -> None:
    found = judged(tables, "requirements.txt", "tensorflow==2.11.0\ntensorflow-gpu==2.11.0\n", python="3.10")
    assert "tf-conflicting-packages" in errors(found)


def test_cpu_package_is_named(tables: Tables) -> None:
    assert errors(judged(tables, "requirements.txt", "tensorflow-cpu>=2.15\n")) == {"tf-cpu-only": 1}


def test_pins_beside_tensorflow_are_held_to_its_metadata(tables: Tables) -> None:
    text = "tensorflow[and-cuda]==2.18.0\nnumpy==2.3.0\nnvidia-cudnn-cu12==8.9.7.29\nkeras==3.5.0\n"
    assert errors(judged(tables, "requirements.txt", text)) == {"python-dependency-conflict": 2, "cudnn-version-mismatch": 3}


def test_marker_for_another_platform_does_not_count(tables: Tables) -> None:
    text = "tensorflow==2.20.0; sys_platform == 'linux'\ntensorflow-cpu==2.10.0; sys_platform == 'win32'\n"
    assert errors(judged(tables, "requirements.txt", text)) == {}


def test_environment_yml_with_its_cuda_python_and_pip_list(tables: Tables) -> None:
    text = """name: x
channels: [conda-forge]
dependencies:
  - python=3.8
  - cudatoolkit=10.1
  - conda-forge::cudnn=7.6.5=cuda10
  - pip:
    - tensorflow==2.4.0  # the model
"""
    assert errors(judged(tables, "environment.yml", text)) == {"cuda-version-mismatch": 5, "cudnn-version-mismatch": 6}


def test_dockerfile_counts_the_python_of_its_base_and_the_line_within_a_command(tables: Tables) -> None:
    text = 'FROM python:3.13-slim\nRUN apt-get update\nRUN pip install --no-cache-dir \\\n    numpy \\\n    "tensorflow[and-cuda]==2.18.0"\n'
    found = judged(tables, "Dockerfile", text)
    assert errors(found) == {"tf-no-wheel": 5}
    assert any(e.line == 1 for e in found.findings[0].evidence), "where the Python comes from is said"


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("nvidia/cuda:12.2.0-cudnn8-runtime-ubuntu22.04", {"cudnn-version-mismatch": 2}),
        ("nvidia/cuda:12.5.1-cudnn-runtime-ubuntu22.04", {}),
        ("nvidia/cuda:12.5.1-runtime-ubuntu22.04", {"cudnn-missing": 2}),
        ("nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04", {"cuda-version-mismatch": 2, "cudnn-version-mismatch": 2}),
        ("tensorflow/tensorflow:2.17.0-gpu", {}),
        ("ubuntu:22.04", {}),
    ],
)
def test_line_without_its_libraries_is_held_to_the_base_image(tables: Tables, base: str, expected: dict[str, int]) -> None:
    found = judged(tables, "Dockerfile", f"FROM {base}\nRUN pip install tensorflow==2.20.0\n")
    assert errors(found) == expected
    assert not errors(judged(tables, "Dockerfile", f"FROM {base}\nRUN pip install 'tensorflow[and-cuda]==2.20.0'\n"))


def test_line_without_its_libraries_is_doubted_where_nothing_brings_them(tables: Tables) -> None:
    def doubts(name: str, text: str) -> list[str]:
        return [f.code for f in judged(tables, name, text).findings if f.severity == "warning"]

    assert doubts("requirements.txt", "tensorflow==2.20.0\n") == ["cuda-missing"]
    assert doubts("requirements.txt", "tensorflow[and-cuda]==2.20.0\n") == []
    assert doubts("requirements.txt", "tensorflow==2.20.0\nnvidia-cudnn-cu12==9.3.0.75\n") == []
    assert doubts("Dockerfile", "FROM python:3.11\nRUN pip install tensorflow==2.20.0\n") == ["cuda-missing"]
    assert doubts("Dockerfile", "FROM python:3.11\nRUN apt-get install -y cuda-toolkit-12-5 libcudnn9\nRUN pip install tensorflow==2.20.0\n") == []


def test_later_stage_of_a_dockerfile_starts_anew() -> None:
    wanted = read("FROM a\nRUN pip install tensorflow==1.15\nFROM python:3.11\nRUN pip install tensorflow\n", "Dockerfile")
    assert [(a.name, a.specifier, a.line) for a in wanted.requirements] == [("tensorflow", "", 4)]


def test_pyproject_of_pep_621_and_of_poetry(tables: Tables) -> None:
    text = '[project]\nname = "x"\ndependencies = [\n  "numpy",\n  "tensorflow[and-cuda]>=2.15,<2.16",\n]\n'
    assert errors(judged(tables, "pyproject.toml", text, python="3.13")) == {"tf-no-wheel": 5}
    text = '[tool.poetry.dependencies]\npython = "^3.13"\ntensorflow = {version = "~2.15", extras = ["and-cuda"]}\n'
    [line] = read(text, "pyproject.toml").requirements
    assert (line.name, line.specifier, line.extras, line.line) == ("tensorflow", "~=2.15", ("and-cuda",), 3)


def test_file_without_tensorflow_says_so(tables: Tables) -> None:
    found = judged(tables, "requirements.txt", "numpy\n")
    assert found.works
    assert [f.severity for f in found.findings] == ["warning"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tensorflow == 2.15.0", ("tensorflow", "==2.15.0")),
        ("TensorFlow_GPU>=1.15,<2", ("tensorflow-gpu", ">=1.15,<2")),
        ("tensorflow[and-cuda] ~= 2.18 ; python_version >= '3.9'", ("tensorflow", "~=2.18")),
        ("tensorflow==2.15.* --hash=sha256:00", ("tensorflow", "==2.15.*")),
        ("tensorflow @ https://example.org/x.whl", ("tensorflow", "")),
    ],
)
def test_spellings_of_a_requirement(line: str, expected: tuple[str, str]) -> None:
    [found] = read(line, "requirements.txt").requirements
    assert (found.name, found.specifier) == expected


@pytest.mark.parametrize("name", ["requirements.txt", "pyproject.toml", "environment.yml", "Dockerfile"])
@given(text=st.text(alphabet=st.sampled_from("tensorflow-gpu=<>~!.,[]{}:;@#\\\"' \n\t-RUNFROMpip0123456789é"), max_size=300))
@settings(max_examples=60, deadline=None)
def test_no_text_breaks_the_reader(name: str, text: str) -> None:
    for asked in read(text, name).requirements:
        assert 1 <= asked.line <= text.count("\n") + 1
