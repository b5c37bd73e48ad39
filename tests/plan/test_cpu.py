"""Plans for the CPU: where there is no GPU, and where it is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.cli import main
from doctor.facts import Absent, EnvironmentKind, Facts, Platform, PythonVersion, Source
from doctor.plan import Ground, Wish, make_plans
from doctor.plan.reasons import against_newer
from doctor.tables import Tables
from tests.plan.grounds import outcome

HERE = Source("the machine")


def machine(*more: EnvironmentKind, python: str = "3.12") -> Facts:
    """A machine whose bus was read and has no NVIDIA device."""
    return Facts(
        (
            Platform(HERE, "linux", "x86_64"),
            PythonVersion(HERE, python, 64),
            Absent(HERE, "nvidia gpu"),
            *more,
        ),
        "machine",
        "a machine",
    )


def test_without_a_gpu_the_first_plan_brings_no_cuda(tables: Tables) -> None:
    found = make_plans(Ground(machine(), tables, Wish()))
    assert found.works
    first = found.plans[0]
    assert first.route == "cpu"
    assert any(f"tensorflow=={first.tensorflow}" in step.text for step in first.commands), "pinned"
    assert not any("nvidia" in step.text or "and-cuda" in step.text for step in first.commands)
    assert {plan.route for plan in found.plans[1:]} > {"pip-and-cuda"}, "those for a GPU follow"


def test_a_login_node_prepares_for_the_nodes_with_gpus(tables: Tables) -> None:
    found = make_plans(Ground(machine(EnvironmentKind(HERE, "slurm")), tables, Wish()))
    assert found.plans[0].route == "pip-and-cuda"


@pytest.mark.parametrize(
    "asked",
    [["--cpu"], ["--gpu", "none"], ["--gpu", "None", "--os", "Ubuntu 24.04"], ["--cpu", "--gpu", "RTX 5090"]],
)
@pytest.mark.parametrize("command", ["plan", "install"])
def test_the_cpu_can_be_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, asked: list[str]
) -> None:
    more = ["--format", "json"] if command == "plan" else ["--dry-run", "--env", str(tmp_path / "env")]
    assert main([command, *asked, *more]) == 0
    out = capsys.readouterr().out
    assert "and-cuda" not in out
    if command == "plan":
        document = json.loads(out)
        assert [plan["route"] for plan in document["plans"]] == ["cpu"]
        assert document["findings"] == []


@pytest.mark.parametrize("asked", [["--gpu", "none,T4"], ["--cpu", "--cuda", "12.2"]])
def test_no_gpu_and_a_gpu_is_no_call(asked: list[str]) -> None:
    assert main(["plan", *asked]) == 2


def test_a_wish_that_no_release_fulfils_on_the_cpu_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--cpu", "--tensorflow", "1.15", "--python", "3.12", "--os", "Ubuntu 24.04"]) == 1
    assert "tf-no-wheel" in capsys.readouterr().out


@pytest.mark.parametrize(
    "system", ["Ubuntu 18.04", "Ubuntu 20.04", "Ubuntu 22.04", "Debian 12", "RHEL 8", "Fedora 40", "linux"]
)
@pytest.mark.parametrize("wish", ["", "1.15", "2.4", "2.14", "2.15", "latest"])
@pytest.mark.parametrize("python", [None, "3.6", "3.14"])
def test_no_sentence_names_a_python_that_is_not_the_plans(
    tables: Tables, system: str, wish: str, python: str | None
) -> None:
    facts = outcome(tables, wish, os=system, gpu="RTX 3060").ground.facts
    if python is not None:
        facts = Facts((*facts, PythonVersion(HERE, python, 64)), "machine", "a machine")
    found = make_plans(Ground(facts, tables, Wish(wish)))
    told = [f.title + f.explanation for f in found.findings] + [
        why for plan in found.plans for why in plan.why
    ]
    assert not [text for text in told if "Python None" in text]
    for plan in found.plans:
        if plan.candidate.another_python:
            assert not [
                why
                for why in plan.why
                if why.startswith("not ") and f"no wheel for Python {found.ground.python}" in why
            ]
    assert against_newer(found.plans[0].candidate, []) == []
