"""Tests TensorFlow together with other GPU frameworks: the tables alone show which packages pip cannot
install together."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings, strategies as st
from packaging.specifiers import SpecifierSet

from doctor.backports import removeprefix
from doctor.plan import PlanContext, VersionRequest
from doctor.plan.described import described
from doctor.plan.requested import Requested, requirement
from doctor.plan.resolution import Solution, Solver, TooManyTriesError
from doctor.tables import Tables
from tests.plan.contexts import errors, judged, left_out
from tests.sampling import examples, sampled

FILES = {
    "requirements.txt": "{0}\n{1}\n",
    "pyproject.toml": '[project]\ndependencies = ["{0}",\n"{1}"]\n',
    "environment.yml": "dependencies:\n  - pip:\n    - {0}\n    - {1}\n",
    "Dockerfile": "FROM python:3.12\nRUN pip install '{0}' \\\n  '{1}'\n",
}


def solver(tables: Tables, python: str | None = "3.12") -> Solver:
    return Solver(
        PlanContext(
            described(tables, gpu=["RTX 3080"], driver="550.54.14"), tables, VersionRequest(python=python)
        )
    )


def lines(*texts: str) -> list[Requested]:
    found = [requirement(text, at) for at, text in enumerate(texts, 1)]
    return [one for one in found if one is not None]


@pytest.mark.parametrize(
    ("name", "one", "other"),
    sampled(
        (
            (name, *pair)
            for name in FILES
            for pair in [
                ("tensorflow[and-cuda]==2.20.0", "torch==2.6.0"),
                ("tensorflow[and-cuda]==2.18.0", "torch==2.6.0"),
                ("tensorflow[and-cuda]==2.20.0", "torch>=2.1,<2.5"),
                ("tensorflow[and-cuda]==2.20.0", "torchvision==0.21.0"),
                ("tensorflow[and-cuda]==2.17.1", "jax[cuda12]==0.5.3"),
                ("tensorflow[and-cuda]==2.17.1", "onnxruntime-gpu[cuda,cudnn]==1.22.0"),
                ("tensorflow==2.17.1", "jax==0.9.2"),
            ]
        ),
        9,
    ),
)
def test_what_pip_refuses_together_is_an_error_with_both_lines_and_both_rows(
    tables: Tables, name: str, one: str, other: str
) -> None:
    found = judged(tables, name, FILES[name].format(one, other), python="3.12")
    conflict = next(
        f
        for f in found.findings
        if f.code == "python-dependency-conflict" and "cannot be installed together" in f.title
    )
    assert conflict.severity == "error"
    assert {
        one.split("=")[0].split(">")[0] in e.text or other.split("=")[0].split(">")[0] in e.text
        for e in conflict.evidence
    } == {True}
    assert len(conflict.evidence) == 2
    assert any(ref.startswith("tensorflow ") for ref in conflict.tables)
    assert any(not ref.startswith("tensorflow ") for ref in conflict.tables)
    assert "separate environments" in conflict.prescription[-1].text


@pytest.mark.parametrize(("one", "other"), [
    ("tensorflow[and-cuda]==2.20.0", "torch==2.6.0"), ("tensorflow[and-cuda]==2.18.0", "torch==2.6.0"),
    ("tensorflow[and-cuda]==2.17.1", "jax[cuda12]==0.5.3"),
])  # fmt: skip
def test_releases_in_a_fix_can_be_installed_together(tables: Tables, one: str, other: str) -> None:
    found = judged(tables, "requirements.txt", f"{one}\n{other}\n", python="3.12")
    steps = [
        step
        for f in found.findings
        if f.severity == "error"
        for step in f.prescription
        if "line" in step.text
    ]
    both = [step.text for step in steps if "of both" in step.why]
    ways = [[step.text] for step in steps if "of both" not in step.why] + ([both] if both else [])
    assert ways
    for way in ways:
        cured = [one, other]
        for step in way:
            at, _, line = removeprefix(step, "requirements.txt, line ").partition(": ")
            cured[int(at) - 1] = line
        after = judged(tables, "requirements.txt", "\n".join(cured) + "\n", python="3.12")
        assert errors(after) == {}, cured
        assert not any("overwrite" in f.title for f in after.findings), cured


@pytest.mark.parametrize(
    "other",
    [
        "torch==2.8.0",
        "torch==2.10.0",
        "jax[cuda12]==0.5.3",
        "cupy-cuda12x==13.4.0",
        "onnxruntime-gpu[cuda,cudnn]==1.22.0",
        "numpy<2.3",
    ],
)
def test_what_pip_installs_together_is_no_error(tables: Tables, other: str) -> None:
    found = judged(tables, "requirements.txt", f"tensorflow[and-cuda]==2.20.0\n{other}\n", python="3.12")
    assert errors(found) == {}
    assert found.unexamined == ()


def test_packages_for_two_cuda_majors_in_one_folder_get_a_warning(tables: Tables) -> None:
    found = judged(tables, "requirements.txt", "tensorflow[and-cuda]==2.20.0\ntorch==2.11.0\n", python="3.12")
    doubt = next(f for f in found.findings if "overwrite" in f.title)
    assert doubt.severity == "warning"
    assert "nvidia-cudnn-cu12 and nvidia-cudnn-cu13 both install libcudnn" in doubt.explanation


def test_release_that_another_line_rules_out_is_not_planned(tables: Tables) -> None:
    """pip falls back to an older TensorFlow release if the line for TensorFlow allows that."""
    found = judged(tables, "requirements.txt", "tensorflow[and-cuda]\nnumpy<1.26\n", python="3.11")
    assert errors(found) == {}
    assert found.plans[0].tensorflow == "2.17.1", "2.18.0 and later need NumPy 1.26"


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("torch==2.99.0", 2),
        ("torch==1.13.1", 2),
        ("torch @ https://example.org/torch.whl", 2),
        ("jax[cuda12_pip]==0.4.20", 2),
        ("torchtext==0.18.0", 2),
        ("vllm", 2),
        ("mxnet-cu112==1.9.1", 2),
    ],
)
def test_framework_that_is_not_in_the_tables_is_reported(tables: Tables, line: str, at: int) -> None:
    found = judged(tables, "requirements.txt", f"tensorflow[and-cuda]==2.20.0\n{line}\n", python="3.12")
    assert errors(found) == {}
    assert left_out(found) == [at]


def test_torch_of_another_index_is_not_the_torch_of_the_tables(tables: Tables) -> None:
    text = (
        "--extra-index-url"
        " https://download.pytorch.org/whl/cu118\ntensorflow[and-cuda]==2.20.0\ntorch==2.6.0\n"
    )
    found = judged(tables, "requirements.txt", text, python="3.12")
    assert errors(found) == {}
    assert left_out(found) == [3]
    poetry = (
        '[tool.poetry.dependencies]\ntensorflow = "2.20.0"\ntorch = {version = "2.6.0", source = "pytorch"}\n'
    )
    assert left_out(judged(tables, "pyproject.toml", poetry, python="3.12")) == [3]
    uv = (
        '[project]\ndependencies = ["tensorflow==2.20.0",\n"torch==2.6.0"]\n[tool.uv.sources]\ntorch = {index'
        ' = "pytorch-cu118"}\n'
    )
    assert left_out(judged(tables, "pyproject.toml", uv, python="3.12")) == [3]


@given(data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_solution_fulfils_every_requirement_of_every_release_in_it(data: st.DataObject) -> None:
    tables = Tables.bundled()
    search = solver(tables, data.draw(st.sampled_from(["3.10", "3.11", "3.12", None])))
    chosen = data.draw(
        st.lists(st.sampled_from(sorted(search.frameworks)), min_size=1, max_size=3, unique=True)
    )
    versions = [
        data.draw(st.sampled_from(["", *(f"=={row.version}" for row in tables.frameworks(name))]))
        for name in chosen
    ]
    asked = lines("tensorflow[and-cuda]", *(f"{name}{version}" for name, version in zip(chosen, versions)))
    try:
        found = search.solve(asked)
        apart = search.solve(asked, apart=True)
    except TooManyTriesError:  # in this case, the plan says that the file was not examined
        assume(False)
    if found is not None:
        fulfilled(found)
    assert apart is None or found is not None


def fulfilled(found: Solution) -> None:
    for name, needs in found.needs.items():
        release = found.releases.get(name)
        for need in needs:
            assert (
                release is None or need in found.unknown or release.version in SpecifierSet(need.specifier)
            ), (name, need)


def test_requirements_that_no_release_meets_have_no_solution(tables: Tables) -> None:
    search = solver(tables)
    assert search.solve(lines("tensorflow[and-cuda]==2.20.0", "torch==2.6.0")) is None
    assert search.solve(lines("tensorflow[and-cuda]==2.20.0", "torch<2.7")) is None
    found = search.solve(lines("tensorflow[and-cuda]==2.20.0", "torch<2.11"))
    assert found is not None
    assert found.releases["torch"].version == "2.10.0"
