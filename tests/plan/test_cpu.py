"""Tests plans for the CPU: if there is no GPU, and if the user asks for such a plan."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from doctor.cli import main
from doctor.facts import Absent, EnvironmentKind, Facts, Platform, PythonVersion, Source
from doctor.plan import PlanContext, VersionRequest, make_plans
from doctor.plan.described import described
from doctor.plan.files import judged_files
from doctor.plan.reasons import against_newer
from doctor.tables import Tables
from tests.plan.contexts import outcome
from tests.sampling import sampled

HERE = Source("the machine")


def machine(*more: EnvironmentKind, python: str = "3.12") -> Facts:
    """Return a machine whose bus was read and contains no NVIDIA device."""
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
    found = make_plans(PlanContext(machine(), tables, VersionRequest()))
    assert found.works
    first = found.plans[0]
    assert first.route == "cpu"
    assert any(f"tensorflow=={first.tensorflow}" in step.text for step in first.commands), "pinned"
    assert not any("nvidia" in step.text or "and-cuda" in step.text for step in first.commands)
    assert {plan.route for plan in found.plans[1:]} > {"pip-and-cuda"}, "the plans for a GPU follow"


def test_a_login_node_prepares_for_the_nodes_with_gpus(tables: Tables) -> None:
    found = make_plans(PlanContext(machine(EnvironmentKind(HERE, "slurm")), tables, VersionRequest()))
    assert found.plans[0].route == "pip-and-cuda"


@pytest.mark.parametrize(("asked", "command"), sampled(itertools.product(
    [["--cpu"], ["--gpu", "none"], ["--gpu", "None", "--os", "Ubuntu 24.04"], ["--cpu", "--gpu", "RTX 5090"]],
    ["plan", "install"],
), 2))  # fmt: skip
def test_plan_for_the_cpu_can_be_requested(
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
def test_gpu_none_cannot_be_combined_with_a_gpu(asked: list[str]) -> None:
    assert main(["plan", *asked]) == 2


def test_request_that_no_release_fulfils_on_the_cpu_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--cpu", "--tensorflow", "1.15", "--python", "3.12", "--os", "Ubuntu 24.04"]) == 1
    assert "tf-no-wheel" in capsys.readouterr().out


@pytest.mark.parametrize(("system", "version_request", "python"), sampled(itertools.product(
    ("Ubuntu 18.04", "Ubuntu 20.04", "Ubuntu 22.04", "Debian 12", "RHEL 8", "Fedora 40", "linux"),
    ("", "1.15", "2.4", "2.14", "2.15", "latest"), (None, "3.6", "3.14"),
), 8))  # fmt: skip
def test_every_sentence_names_the_python_of_the_plan(
    tables: Tables, system: str, version_request: str, python: str | None
) -> None:
    facts = outcome(tables, version_request, os=system, gpu="RTX 3060").context.facts
    if python is not None:
        facts = Facts((*facts, PythonVersion(HERE, python, 64)), "machine", "a machine")
    found = make_plans(PlanContext(facts, tables, VersionRequest(version_request)))
    texts = [f.title + f.explanation for f in found.findings] + [
        why for plan in found.plans for why in plan.why
    ]
    assert not [text for text in texts if "Python None" in text]
    for plan in found.plans:
        if plan.candidate.another_python:
            assert not [
                why
                for why in plan.why
                if why.startswith("not ") and f"no wheel for Python {found.context.python}" in why
            ]
    assert against_newer(found.plans[0].candidate, []) == []


WITHOUT_A_GPU = {
    "tensorflow==2.15.0\n": 0,
    "tensorflow==2.20.0\ntorch==2.6.0\n": 0,
    "tensorflow[and-cuda]==2.15.1\n": 0,
    "tensorflow[and-cuda]==2.15.0\n": 1,
    "tensorflow[and-cuda]==2.20.0\ntorch==2.6.0\n": 1,
    "tensorflow==1.15.0\n": 1,
    "tensorflow-cpu==2.15.0\n": 3,
    "tensorflow-cpu==2.15.0\ntensorflow==2.15.0\n": 1,
}
"""Files, and the exit code of the gate for the CPU. Only pip can refuse them, because neither a GPU nor CUDA
is required."""


@pytest.mark.parametrize(("text", "asked"), sampled(itertools.product(
    WITHOUT_A_GPU, [["--cpu"], ["--gpu", "none"], ["--cpu", "--gpu", "RTX 5090"]],
), 10))  # fmt: skip
def test_file_is_judged_for_the_cpu_on_request(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, asked: list[str]
) -> None:
    code = WITHOUT_A_GPU[text]
    path = tmp_path / "requirements.txt"
    path.write_text(text)
    call = ["plan", "-r", str(path), "--python", "3.11", "--os", "Ubuntu 24.04", *asked]
    assert main([*call, "--check"]) == code, capsys.readouterr().out
    words = capsys.readouterr().out
    assert ("on the CPU only" in words or "--fix shows" in words) is (code != 3)
    assert not any(word in words for word in ("cuda-missing", "tf-cpu-only", "gpu-")), words
    main([*call, "--format", "json"])
    assert {plan["route"] for plan in json.loads(capsys.readouterr().out)["plans"]} == {"cpu"}


@pytest.mark.parametrize(("base", "code"), [
    ("tensorflow/tensorflow:2.15.0", 0), ("tensorflow/tensorflow:2.15.0-gpu", 0), ("tensorflow/"
                                                                                   "tensorflow:latest", 3),
    ("nvcr.io/nvidia/tensorflow:23.10-tf2-py3", 3),
])  # fmt: skip
def test_image_is_judged_for_the_cpu_on_request(tmp_path: Path, base: str, code: int) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM {base}\n")
    assert (
        main(["plan", "-r", str(tmp_path / "Dockerfile"), "--cpu", "--os", "Ubuntu 24.04", "--check"]) == code
    )


def test_extra_that_pip_cannot_install_is_an_error_without_a_gpu_too(tables: Tables) -> None:
    """Without a GPU, the first plan is for the CPU, so no plan examines the extra in the line."""
    found = judged_files(
        PlanContext(machine(python="3.11"), tables, VersionRequest()),
        {"requirements.txt": "tensorflow[and-cuda]==2.15.0\n"},
    )
    assert [f.code for f in found.findings if f.severity == "error"] == ["known-release-bug"]


def test_nearest_release_is_the_newest_patch_of_the_nearest_minor_version(tables: Tables) -> None:
    context = PlanContext(
        described(tables, os="Ubuntu 22.04"), tables, VersionRequest("2.10", python="3.11", cpu=True)
    )
    (finding,) = make_plans(context).findings
    assert "TensorFlow 2.12.1 on Python 3.11" in finding.explanation


def test_plan_for_the_cpu_does_not_deny_that_plans_for_a_gpu_work(tables: Tables) -> None:
    found = outcome(tables, "2.12", os="Ubuntu 22.04", gpu="RTX 4090", driver="535.104.05")
    assert found.plans[0].route != "cpu"
    (why,) = found.plans[-1].why
    assert why.startswith("the plan computes on the CPU: the last resort if no plan with a GPU works (")


def test_alpine_is_the_evidence_that_no_wheel_for_the_cpu_fits(tables: Tables) -> None:
    alpine = described(tables, os="Alpine")
    found = make_plans(PlanContext(alpine, tables, VersionRequest(python="3.13", cpu=True)))
    (finding,) = found.findings
    assert (finding.code, finding.evidence[0].where) == ("tf-no-wheel", "--os")
    assert "musl" in finding.title
    assert not found.plans
