"""Tests the wording of steps: several ways to fix a cause are set apart, and each step reads as a request."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from doctor.facts import Source
from doctor.findings import Diagnosis, Finding, manual, shell
from doctor.render import Options, content, rendered
from doctor.shell import Command, run
from tests.render.conftest import MISMATCH

HEADINGS = {"text": "  Way 2\n", "markdown": "**Way 2**\n", "html": "<h3>Way 2</h3>"}


def test_a_step_that_begins_with_or_begins_another_way() -> None:
    steps = [
        manual("Install A"),
        manual("Or use B"),
        shell(run("b"), "starts B"),
        shell(run("c"), "or, without B, installs C"),
    ]
    ways = content.ways(steps)
    assert [way.heading for way in ways] == ["Way 1", "Way 2", "Way 3"]
    said = [[content.instruction(step) for step in way.steps] for way in ways]
    assert said == [["Install A"], ["Use B", "Start B:"], ["Without B, installs C:"]]
    assert content.what_to_do(ways) == "What to do: one of these 3 ways"


def test_steps_without_an_alternative_have_no_heading() -> None:
    (way,) = content.ways([manual("Install A"), manual("Order B"), manual("or")])
    assert (way.heading, content.what_to_do([way])) == ("", "What to do")
    assert len(way.steps) == 3


@pytest.mark.parametrize("kind", sorted(HEADINGS))
def test_every_format_sets_the_ways_apart(kind: str, diagnosed: Callable[..., Diagnosis]) -> None:
    text = re.sub(r"libcudnn\.so\.7", "libcudart.so.10.1", MISMATCH)
    shown = rendered(diagnosed(text), Options(kind))
    assert "What to do: one of these" in shown
    assert HEADINGS[kind] in shown
    assert not re.search(r"\d\. Or ", shown)


def test_a_reason_is_a_sentence_of_its_own_and_a_condition_has_no_second_brackets() -> None:
    step = manual("Look at pip list", "it shows B")
    assert content.instruction(step) == "Look at pip list. It shows B"
    step = shell(run("x"), "creates it (if it is missing)", platform="linux")
    assert content.instruction(step) == "Create it (if it is missing; on Linux):"


def test_only_the_clause_of_the_verb_becomes_a_request() -> None:
    step = shell(run("x"), "installs A and shows B; A was compiled elsewhere and does not import")
    assert content.instruction(step) == "Install A and show B; A was compiled elsewhere and does not import:"


@pytest.mark.parametrize(
    ("steps", "check", "heading"),
    [
        (
            [run("new/bin/python", "-m", "pip", "install", "a"), run("pip", "install", "b")],
            "new/bin/python",
            1,
        ),
        (
            [run("pip", "install", "b"), run("new/bin/python", "-m", "pip", "install", "a")],
            "new/bin/python",
            2,
        ),
        ([run("new/bin/python", "-m", "pip", "install", "a")], "new/bin/python", 0),
        ([run("python3", "-m", "pip", "install", "a"), run("pip", "install", "b")], "python3", 0),
    ],
)
def test_a_check_in_the_python_of_one_way_names_that_way(
    steps: list[Command], check: str, heading: int
) -> None:
    prescription = tuple(shell(step, "or adds it" if at else "adds it") for at, step in enumerate(steps))
    proof = shell(run(check, "-c", "import tensorflow"))
    finding = Finding("x", "error", "X", "X.", (Source("-"),), prescription=prescription, proof=proof)
    named = content.checked_way(finding, content.ways(prescription))
    assert named == (f" (Way {heading})" if heading else "")


def test_each_way_of_getting_the_libraries_stands_alone(diagnosed: Callable[..., Diagnosis]) -> None:
    """In an active conda environment, conda, pip and NVIDIA's archives are three ways."""
    diagnosis = diagnosed(
        "# packages in environment at /home/ana/miniconda3/envs/tf:\n"
        "cudatoolkit               10.1.243             h6bb024c_0\n"
        "cudnn                     7.6.5                cuda10.1_0\n"
        "tensorflow                2.10.0                   pypi_0    pypi\n"
        '$ python -c "import tensorflow as tf; print(tf.test.is_gpu_available())"\nFalse\n'
    )
    ways = content.ways(diagnosis.verdict.prescription)
    kinds = [
        next(k for k in ("conda install", "pip install", "archives") if k in w.steps[0].text) for w in ways
    ]
    assert kinds[:3] == ["conda install", "pip install", "archives"]


def test_a_way_through_a_new_conda_environment_activates_it(diagnosed: Callable[..., Diagnosis]) -> None:
    diagnosis = diagnosed(
        "tensorflow 2.10.0\nCould not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0:"
        " cannot open shared object file: No such file or directory\n"
    )
    (way,) = [w for w in content.ways(diagnosis.verdict.prescription) if "conda create" in w.steps[0].text]
    assert way.steps[-1].text.startswith("conda activate ")
