"""Tests requirements files: each line that cannot work gives a finding with that line as its evidence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st
from packaging.specifiers import SpecifierSet

from doctor.plan.requirements import read
from doctor.plan.specifiers import keeps_within, range_of, together
from doctor.tables import Tables
from tests.plan.contexts import errors, judged
from tests.sampling import each, examples


def test_line_without_a_wheel_for_this_python(tables: Tables) -> None:
    found = judged(tables, "requirements.txt", "# the model\nnumpy\ntensorflow==2.10.1\n", python="3.12")
    assert errors(found) == {"tf-no-wheel": 3}
    assert "2.16" in " ".join(p.tensorflow for p in found.plans)


def test_line_that_wants_another_cuda_than_the_machine_has(tables: Tables) -> None:
    found = judged(tables, "requirements.txt", "tensorflow==2.4.1\n", cuda="12.2", python="3.8")
    assert errors(found) == {"cuda-version-mismatch": 1}


def test_tensorflow_gpu_of_today_is_a_stub(tables: Tables) -> None:
    assert errors(judged(tables, "requirements.txt", "tensorflow-gpu==2.12.0\n")) == {
        "tf-gpu-package-removed": 1
    }


def test_two_packages_that_are_both_tensorflow(tables: Tables) -> None:
    found = judged(tables, "requirements.txt", "tensorflow==2.11.0\ntensorflow-gpu==2.11.0\n", python="3.10")
    assert "tf-conflicting-packages" in errors(found)


def test_cpu_package_is_named(tables: Tables) -> None:
    assert errors(judged(tables, "requirements.txt", "tensorflow-cpu>=2.15\n")) == {"tf-cpu-only": 1}


def test_pins_must_fit_tensorflows_metadata(tables: Tables) -> None:
    text = "tensorflow[and-cuda]==2.18.0\nnumpy==2.3.0\nnvidia-cudnn-cu12==8.9.7.29\nkeras==3.5.0\n"
    assert errors(judged(tables, "requirements.txt", text)) == {
        "python-dependency-conflict": 2,
        "cudnn-version-mismatch": 3,
    }


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
    assert errors(judged(tables, "environment.yml", text)) == {
        "cuda-version-mismatch": 5,
        "cudnn-version-mismatch": 6,
    }


def test_dockerfile_counts_the_python_of_its_base_and_the_line_within_a_command(tables: Tables) -> None:
    text = (
        "FROM python:3.13-slim\nRUN apt-get update\nRUN pip install --no-cache-dir \\\n    numpy \\\n   "
        ' "tensorflow[and-cuda]==2.18.0"\n'
    )
    found = judged(tables, "Dockerfile", text)
    assert errors(found) == {"tf-no-wheel": 5}
    assert any(e.line == 1 for e in found.findings[0].evidence), "the plan says where the Python comes from"


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("nvidia/cuda:12.2.0-cudnn8-runtime-ubuntu22.04", {"cudnn-version-mismatch": 2}),
        ("nvidia/cuda:12.5.1-cudnn-runtime-ubuntu22.04", {}),
        ("nvidia/cuda:12.5.1-runtime-ubuntu22.04", {"cudnn-missing": 2}),
        (
            "nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04",
            {"cuda-version-mismatch": 2, "cudnn-version-mismatch": 2},
        ),
        ("tensorflow/tensorflow:2.17.0-gpu", {"cudnn-version-mismatch": 2}),
        ("ubuntu:22.04", {"cuda-missing": 2}),
    ],
)
def test_line_without_libraries_must_fit_the_base_image(
    tables: Tables, base: str, expected: dict[str, int]
) -> None:
    found = judged(tables, "Dockerfile", f"FROM {base}\nRUN pip install tensorflow==2.20.0\n")
    assert errors(found) == expected
    assert not errors(
        judged(tables, "Dockerfile", f"FROM {base}\nRUN pip install 'tensorflow[and-cuda]==2.20.0'\n")
    )


def test_line_without_libraries_gets_a_warning_if_nothing_installs_them(tables: Tables) -> None:
    def doubts(name: str, text: str) -> list[str]:
        return [f.code for f in judged(tables, name, text).findings if f.severity == "warning"]

    assert doubts("requirements.txt", "tensorflow==2.20.0\n") == ["cuda-missing"]
    assert doubts("requirements.txt", "tensorflow[and-cuda]==2.20.0\n") == []
    assert doubts("requirements.txt", "tensorflow==2.20.0\nnvidia-cudnn-cu12==9.3.0.75\n") == []
    assert doubts("Dockerfile", "FROM own/base:1\nRUN pip install tensorflow==2.20.0\n") == ["cuda-missing"]
    assert (
        doubts(
            "Dockerfile",
            "FROM python:3.11\nRUN apt-get install -y cuda-toolkit-12-5 libcudnn9\nRUN pip install"
            " tensorflow==2.20.0\n",
        )
        == []
    )


def test_later_stage_of_a_dockerfile_starts_anew() -> None:
    wanted = read(
        "FROM a\nRUN pip install tensorflow==1.15\nFROM python:3.11\nRUN pip install tensorflow\n",
        "Dockerfile",
    )
    assert [(a.name, a.specifier, a.line) for a in wanted.requirements] == [("tensorflow", "", 4)]


def test_pyproject_of_pep_621_and_of_poetry(tables: Tables) -> None:
    text = '[project]\nname = "x"\ndependencies = [\n  "numpy",\n  "tensorflow[and-cuda]>=2.15,<2.16",\n]\n'
    assert errors(judged(tables, "pyproject.toml", text, python="3.13")) == {"tf-no-wheel": 5}
    text = (
        '[tool.poetry.dependencies]\npython = "^3.13"\ntensorflow = {version = "~2.15", extras ='
        ' ["and-cuda"]}\n'
    )
    [line] = read(text, "pyproject.toml").requirements
    assert (line.name, line.specifier, line.extras, line.line) == (
        "tensorflow",
        ">=2.15,<2.16",
        ("and-cuda",),
        3,
    )


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
@given(
    text=st.text(
        alphabet=st.sampled_from("tensorflow-gpu=<>~!.,[]{}:;@#\\\"' \n\t-RUNFROMpip0123456789é"),
        max_size=300,
    )
)
@settings(max_examples=examples(60), deadline=None)
def test_no_text_breaks_the_reader(name: str, text: str) -> None:
    for asked in read(text, name).requirements:
        assert 1 <= asked.line <= text.count("\n") + 1


@pytest.mark.parametrize("line", ["tensorflow-gpu", "tensorflow-gpu>=2.4", "tensorflow-gpu~=2.11"])
def test_tensorflow_gpu_without_an_upper_bound_is_the_stub(tables: Tables, line: str) -> None:
    """pip selects the newest allowed release, 2.12.0, and tries to build it. It does not fall back to
    2.11."""
    assert errors(judged(tables, "requirements.txt", f"{line}\n")) == {"tf-gpu-package-removed": 1}
    assert errors(judged(tables, "requirements.txt", "tensorflow-gpu>=2.4,<2.12\n")) == {}


def test_ranges_that_exclude_what_tensorflow_requires(tables: Tables) -> None:
    found = judged(
        tables, "requirements.txt", "tensorflow[and-cuda]==2.15.1\nnumpy>=2\nprotobuf<3.20\nwrapt<1.15\n"
    )
    assert [(f.code, f.evidence[0].line) for f in found.findings if f.severity == "error"] == [
        ("python-dependency-conflict", 2), ("python-dependency-conflict", 3)]  # fmt: skip


def test_numpy_2_beside_a_release_whose_metadata_lets_it_in(tables: Tables) -> None:
    unbounded = judged(
        tables, "requirements.txt", "tensorflow==2.10.1\nnumpy\nprotobuf<3.20\n", python="3.10"
    )
    assert errors(unbounded) == {}
    assert [f.evidence[0].line for f in unbounded.findings if f.code == "python-dependency-conflict"] == [2]
    assert errors(
        judged(tables, "requirements.txt", "tensorflow==2.10.1\nnumpy==2.0.1\n", python="3.10")
    ) == {"python-dependency-conflict": 2}
    for fine in ("numpy<2", "numpy==1.26.4", "numpy~=1.24"):
        bounded = judged(tables, "requirements.txt", f"tensorflow==2.10.1\n{fine}\n", python="3.10")
        assert not [f for f in bounded.findings if f.code == "python-dependency-conflict"], fine
    on_3_8 = judged(tables, "requirements.txt", "tensorflow==2.10.1\n", python="3.8")
    assert not [f for f in on_3_8.findings if f.code == "python-dependency-conflict"], (
        "NumPy 2 does not support Python 3.8"
    )


def test_extra_that_a_release_does_not_have_installs_nothing(tables: Tables) -> None:
    found = judged(tables, "requirements.txt", "tensorflow[and-cuda]==2.13.1\n")
    missing = next(f for f in found.findings if f.code == "cuda-missing")
    assert "has no extra and-cuda" in missing.explanation


def test_lines_that_exclude_each_other(tables: Tables) -> None:
    found = judged(tables, "requirements.txt", "tensorflow>=2.17\nkeras\ntensorflow<2.16\n")
    conflict = found.findings[0]
    assert (conflict.code, [s.line for s in conflict.evidence]) == ("python-dependency-conflict", [1, 3])
    assert errors(judged(tables, "requirements.txt", "tensorflow>=2.17\ntensorflow<2.19\n")) == {}


def test_findings_about_an_included_file_name_that_file(tables: Tables) -> None:
    found = judged(
        tables, "requirements.txt", "tensorflow==2.18.0\n-r base.txt\n", {"base.txt": "# more\nkeras==2.9\n"}
    )
    assert [(s.where, s.line) for s in found.findings[0].evidence] == [
        ("base.txt", 2),
        ("requirements.txt", 1),
    ]


def test_constraint_limits_requirements_but_requests_nothing(tables: Tables) -> None:
    constrained = judged(
        tables,
        "requirements.txt",
        "tensorflow\n-c constraints.txt\n",
        {"constraints.txt": "tensorflow==2.10.1\nnumpy<2\n"},
    )
    assert constrained.plans[0].tensorflow == "2.10.1"
    found = judged(
        tables,
        "requirements.txt",
        "pandas\n-c constraints.txt\n",
        {"constraints.txt": "tensorflow==2.10.1\n"},
    )
    assert [f.code for f in found.findings] == ["tf-not-installed"]


def test_optional_groups_of_a_pyproject_are_judged_separately(tables: Tables) -> None:
    text = (
        '[project]\ndependencies = ["numpy"]\n[project.optional-dependencies]\ncpu = ["tensorflow-cpu"]\ngpu'
        ' = ["tensorflow[and-cuda]"]\n'
    )
    assert errors(judged(tables, "pyproject.toml", text)) == {"tf-cpu-only": 4}


def test_python_that_a_project_requires_has_to_have_a_wheel(tables: Tables) -> None:
    text = '[project]\nrequires-python = ">=3.12"\ndependencies = ["tensorflow[and-cuda]==2.10.1"]\n'
    assert errors(judged(tables, "pyproject.toml", text)) == {"tf-no-wheel": 3}
    newer = judged(tables, "pyproject.toml", text.replace("2.10.1", "2.20.0"))
    assert errors(newer) == {}
    assert newer.plans[0].python == "3.13", "Ubuntu 22.04 has 3.10, which the project does not allow"
    poetry = (
        '[tool.poetry.dependencies]\npython = "^3.8"\ntensorflow = {version = "2.20.0", extras ='
        ' ["and-cuda"]}\n'
    )
    assert judged(tables, "pyproject.toml", poetry).plans[0].python == "3.10"


def test_marker_about_python_is_evaluated_for_the_python_in_use(tables: Tables) -> None:
    text = (
        "tensorflow==2.10.1; python_version < '3.9'\ntensorflow[and-cuda]==2.20.0; python_version >= '3.9'\n"
    )
    assert judged(tables, "requirements.txt", text).plans[0].tensorflow == "2.20.0"


def test_line_that_is_not_a_requirement_is_reported(tables: Tables) -> None:
    found = judged(tables, "requirements.txt", "tensorflow ==\n")
    assert [(f.severity, f.evidence[0].line) for f in found.findings] == [("warning", 1)]


def test_broken_extra_does_not_matter_to_a_line_with_its_own_cuda(tables: Tables) -> None:
    text = "dependencies:\n  - python=3.11\n  - cudatoolkit=12.2\n  - pip:\n    - tensorflow==2.15.0\n"
    assert "known-release-bug" not in {f.code for f in judged(tables, "environment.yml", text).findings}


CONDA = "dependencies:\n  - python=3.11\n  - cudatoolkit=11.8\n  - pip:\n    - tensorflow{}==2.15.1\n"


def test_the_cure_for_condas_toolkit_installs(tables: Tables) -> None:
    """pip cannot install the extra of 2.15.0, so the cure must not name it."""
    text = CONDA.format("").replace("2.15.1", "2.15.0")
    (misfit,) = judged(tables, "environment.yml", text).findings
    assert misfit.prescription[0].edit is not None
    cured = text.replace("- tensorflow==2.15.0", misfit.prescription[0].edit.new)
    assert judged(tables, "environment.yml", cured.replace("  - cudatoolkit=11.8\n", "")).works


def test_the_extra_and_cuda_does_not_use_the_toolkit_of_conda(tables: Tables) -> None:
    assert judged(tables, "environment.yml", CONDA.format("[and-cuda]")).works
    (misfit,) = judged(tables, "environment.yml", CONDA.format("")).findings
    assert misfit.code == "cuda-version-mismatch"
    assert [step.edit.new for step in misfit.prescription if step.edit] == [
        "- tensorflow[and-cuda]==2.15.1",
        "",
    ]


@each(
    "one, other, expected",
    [
        (">=2", "<2.0.0,>=1.23.5", False),
        ("==1.26.*", "<2,>=1.23", True),
        ("~=1.26", "<2,>=1.23.5", True),
        ("<1.20", ">=1.20", False),
        ("<=1.20", ">=1.20", True),
        ("==4.21.0", "!=4.21.0,>=3.20.3", False),
        ("", ">=1", True),
        ("~=2.17.0", ">=2.16,<2.17", False),
        ("==2.1", ">=2.1.0", True),
        (">1.0", "<=1.0", False),
        ("==2.*", "<2.0.0", False),
        (">=what", "<2", True),
        ("==3.*", "~=3.8", True),
    ],
)
def test_specifiers_that_go_together(one: str, other: str, expected: bool) -> None:
    assert together(one, other) is expected is together(other, one)


@given(
    st.lists(
        st.tuples(st.sampled_from(["<", "<=", ">", ">=", "==", "~="]), st.integers(1, 4), st.integers(0, 3)),
        max_size=3,
    ),
    st.lists(
        st.tuples(st.sampled_from(["<", "<=", ">", ">=", "=="]), st.integers(1, 4), st.integers(0, 3)),
        max_size=3,
    ),
)
@settings(max_examples=examples(300), deadline=None)
def test_specifiers_go_together_as_packaging_says(
    one: list[tuple[str, int, int]], other: list[tuple[str, int, int]]
) -> None:
    """Tries versions around every bound."""
    first, second = (",".join(f"{sign}{a}.{b}" for sign, a, b in parts) for parts in (one, other))
    trials = [f"{a}.{b}{end}" for a in range(6) for b in range(5) for end in ("", ".1")]
    some = any(SpecifierSet(first).contains(v) and SpecifierSet(second).contains(v) for v in trials)
    assert together(first, second) is some
    if range_of(first) is not None and not range_of(first).empty:  # type: ignore[union-attr]
        within = all(SpecifierSet(second).contains(v) for v in trials if SpecifierSet(first).contains(v))
        assert keeps_within(first, second) <= within


def test_lines_that_conflict_with_the_successor_of_tensorflow_gpu_are_named(tables: Tables) -> None:
    text = "tensorflow-gpu==2.12.0\nkeras>=3.0\nnumpy==2.1.0\nprotobuf==5.29.0\npandas\n"
    found = [f for f in judged(tables, "requirements.txt", text).findings if f.severity == "error"]
    assert {(f.code, f.evidence[0].line) for f in found} == {
        ("tf-gpu-package-removed", 1),
        ("python-dependency-conflict", 2),
        ("python-dependency-conflict", 3),
        ("python-dependency-conflict", 4),
    }
