"""Tests the wording of steps: several ways to fix a cause are set apart, and each step reads as a request."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from doctor.findings import Diagnosis, manual, shell
from doctor.render import Options, content, rendered
from doctor.shell import run
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
