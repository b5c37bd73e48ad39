"""Tests that `check` and `plan` agree: the steps of a finding name the release that `plan` recommends for
that machine."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from doctor.case import Case
from doctor.diagnose import diagnose
from doctor.facts import (
    Absent,
    DriverVersion,
    Fact,
    Facts,
    Gpu,
    Platform,
    PythonVersion,
    Source,
    TensorFlowBuild,
    TensorFlowVersion,
)
from doctor.findings import Finding
from doctor.plan import PlanContext, VersionRequest, make_plans
from doctor.plan.recommended import recommended
from doctor.tables import Tables

HERE = Source("the machine")
GPUS = ("3.5", "3.7", "5.0", "5.2", "6.1", "7.0", "7.5", "8.6", "8.9", "9.0", "12.0", None)
DRIVERS = (None, "450.80.02", "470.256.02", "525.60.13", "535.183.01", "550.54.14", "580.65.06")
PYTHONS = (None, "3.6", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
SYSTEMS = ("linux", "wsl", "windows")
INSTALLED = (None, "2.17.0", "2.21.0", "cpu")
CODES = ("tf-not-installed", "tf-cpu-only", "gpu-arch-too-old", "gpu-arch-too-new", "tf-gpu-package-removed")
NAMED = re.compile(r"tensorflow(?:-gpu)?(?:\[and-cuda\])?==(\d[\w.]*)")


def machines(count: int) -> list[Facts]:
    """Return a fixed selection from all combinations of the values."""
    every = list(itertools.product(GPUS, DRIVERS, PYTHONS, SYSTEMS, INSTALLED))
    return [machine(*case) for case in random.Random(20261121).sample(every, count)]


def machine(
    gpu: str | None, driver: str | None, python: str | None, system: str, installed: str | None
) -> Facts:
    facts: list[Fact] = [Platform(HERE, system, "x86_64")]
    facts += [Gpu(HERE, "an NVIDIA card", gpu)] if gpu else []
    facts += [DriverVersion(HERE, driver)] if driver else []
    facts += [PythonVersion(HERE, python, 64)] if python else []
    if installed is None:
        facts.append(Absent(HERE, "tensorflow"))
    else:
        facts.append(
            TensorFlowVersion(
                HERE,
                "2.17.0" if installed == "cpu" else installed,
                "tensorflow-cpu" if installed == "cpu" else "tensorflow",
            )
        )
        facts += [TensorFlowBuild(HERE, False)] if installed == "cpu" else []
    return Facts(tuple(facts), "machine", "a machine")


def named(finding: Finding) -> str | None:
    """Return the TensorFlow release that a finding prescribes: the first release in a command."""
    found = (NAMED.search(step.text) for step in finding.prescription)
    return next((match[1] for match in found if match), None)


def disagreements(facts: Facts, tables: Tables) -> list[str]:
    plan = next(
        (p for p in make_plans(PlanContext(facts, tables, VersionRequest())).plans if p.route != "cpu"), None
    )
    quick = recommended(Case(facts, tables))
    wrong = (
        []
        if (quick.build.version if quick else None) == (plan.tensorflow if plan else None)
        else ["the quick answer differs from plan's"]
    )
    for finding in diagnose(facts, tables).findings:
        version = named(finding)
        if finding.code in CODES and version is not None and plan is not None and version != plan.tensorflow:
            wrong.append(f"{finding.code} names {version}, plan {plan.tensorflow} by {plan.route}")
    return wrong


def test_prescriptions_name_what_plan_recommends(tables: Tables) -> None:
    chosen = machines(10)
    assert [(list(facts), w) for facts in chosen for w in disagreements(facts, tables)] == []


@pytest.mark.slow
def test_prescriptions_name_what_plan_recommends_on_a_thousand_machines(tables: Tables) -> None:
    chosen = machines(1000)
    judged = sum(
        any(named(f) for f in diagnose(facts, tables).findings if f.code in CODES) for facts in chosen[:100]
    )
    assert judged > 20, "otherwise, the test would prove nothing"
    assert [(list(facts), w) for facts in chosen for w in disagreements(facts, tables)] == []


def test_pascal_gets_one_answer_from_check_and_plan(tables: Tables) -> None:
    facts = machine("6.1", "535.183.01", "3.12", "linux", None)
    finding = next(f for f in diagnose(facts, tables).findings if f.code == "tf-not-installed")
    assert (
        named(finding)
        == "2.20.0"
        == make_plans(PlanContext(facts, tables, VersionRequest())).plans[0].tensorflow
    )
    assert any("nvidia-cudnn-cu12" in step.text for step in finding.prescription)
