"""Tests thousands of machines and requests: no plan contradicts the tables or the rules of `check`, no plan
leads to yet another plan, and the shell of each command can parse it."""

from __future__ import annotations

import itertools
import random
import re
import shlex
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from packaging.specifiers import SpecifierSet

from doctor.compat import judge
from doctor.compat.installed import required
from doctor.compat.software import row_serves_gpu
from doctor.diagnose import diagnose
from doctor.facts import (
    CudaVersion,
    CudnnVersion,
    DriverVersion,
    Fact,
    Facts,
    Gpu,
    LibraryLoaded,
    Platform,
    PythonVersion,
    Source,
    TensorFlowBuild,
    TensorFlowVersion,
)
from doctor.plan import Outcome, Plan, PlanContext, VersionRequest, make_plans
from doctor.plan.described import described
from doctor.tables import Tables, dotted
from tests.plan.contexts import outcome
from tests.sampling import sampled

if TYPE_CHECKING:
    from typing import TypeAlias

GPUS = (
    "3.0",
    "3.5",
    "3.7",
    "5.0",
    "5.2",
    "6.0",
    "6.1",
    "7.0",
    "7.5",
    "8.0",
    "8.6",
    "8.9",
    "9.0",
    "10.0",
    "12.0",
    None,
)
DRIVERS = (
    None,
    "390.157",
    "418.226.00",
    "450.80.02",
    "470.256.02",
    "525.60.13",
    "535.183.01",
    "550.54.14",
    "570.86.10",
    "580.65.06",
    "595.45.04",
)
PYTHONS = (None, "3.6", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
SYSTEMS = (
    None,
    "Ubuntu 24.04",
    "Debian 11",
    "CentOS 7",
    "Windows 11",
    "WSL",
    "macOS arm64",
    "Ubuntu 22.04 aarch64",
    "docker",
)
WISHES = ("", "", "latest", "1.15", "2.4", "2.10", "2.12", "2.15.0", "2.16.1", ">=2.17,<2.20", "2.21")
LIBRARIES = (
    (None, None),
    (None, None),
    (None, None),
    ("10.1", "7.6.5"),
    ("11.2", "8.1"),
    ("12.3", "8.9.7"),
    ("12.5", "9.3"),
)
SIZE = 5200
SEED = 20261121

Case: TypeAlias = "tuple[str, dict[str, Any]]"


def cases(count: int) -> list[Case]:
    """Return a random selection from all combinations of the values. It is the same in every run."""
    every = list(itertools.product(GPUS, DRIVERS, PYTHONS, SYSTEMS, WISHES, LIBRARIES))
    found: list[Case] = []
    for gpu, driver, python, system, version_request, (cuda, cudnn) in random.Random(SEED).sample(
        every, count
    ):
        machine = {"os": system, "gpu": gpu, "driver": driver, "python": python, "cuda": cuda, "cudnn": cudnn}
        found.append((version_request, {key: value for key, value in machine.items() if value is not None}))
    return found


def planned_facts(plan: Plan, context: PlanContext) -> Facts:
    """Return the facts about the machine after the plan was followed. Every library that the build needs is
    loaded."""
    build, here = plan.candidate.build, Source("the plan")
    side = "wsl" if plan.route == "wsl2" else context.kind
    facts: list[Fact] = [
        Platform(here, side, "aarch64" if "aarch64" in context.platform else "x86_64"),
        TensorFlowVersion(here, build.version, build.package),
    ]
    if plan.candidate.nvidia is not None:  # not a build from the package index
        facts.append(TensorFlowBuild(here, True))
    if plan.python:
        facts.append(PythonVersion(here, plan.python, 64))
    facts += [Gpu(here, None, capability) for capability in context.capabilities]
    driver = plan.candidate.driver.driver if plan.candidate.driver else context.driver
    if driver:
        facts.append(DriverVersion(here, driver))
    if plan.route == "pip-system-cuda" and context.cuda:
        facts.append(CudaVersion(here, context.cuda))
        facts += [CudnnVersion(here, context.cudnn)] if context.cudnn else []
    elif plan.cuda and plan.cudnn:
        facts += [CudaVersion(here, plan.cuda), CudnnVersion(here, plan.cudnn)]
    facts += [LibraryLoaded(here, name) for name in build.libraries]
    return Facts(tuple(facts), "machine", "planned")


def agrees_with_the_tables(plan: Plan, found: Outcome, tables: Tables) -> Iterator[str]:
    """Yield the contradictions between a plan and the answers of the tables to direct questions."""
    candidate, situation = plan.candidate, plan.candidate.situation
    from dataclasses import replace

    if candidate.driver is not None:
        situation = replace(situation, driver=candidate.driver.driver)
    for name, answer in judge(candidate.build, replace(situation, route=None), tables).answers:
        if answer.verdict == "no":
            yield f"{name}: {answer.reason}"
    if situation.route != "pip-and-cuda":
        return
    packages = candidate.workarounds.packages
    pins = {**candidate.build.extras["and-cuda"]} if packages is None else {}
    if packages is not None:
        brought = replace(situation, route=None, cuda=packages.cuda, cudnn=packages.cudnn)
        for name, answer in judge(candidate.build, brought, tables).answers:
            if answer.verdict == "no" or (name in ("cuda", "cudnn") and answer.verdict != "yes"):
                yield f"with {packages.requirements}: {name}: {answer.reason}"
    for pin in candidate.pins:
        name = re.match(r"[\w-]+", pin.requirement)
        assert name is not None
        pins[name[0]] = ",".join(p for p in (pins.get(name[0], ""), pin.requirement[len(name[0]) :]) if p)
    for package, specifier in pins.items():
        if package.startswith("nvidia-cudnn"):
            allowed = [
                r for r in tables.cudnns() if r.package == package and r.version in SpecifierSet(specifier)
            ]
            picked = max(allowed, key=lambda r: dotted(r.version))
            if row_serves_gpu(picked, found.context.capabilities).verdict == "no":
                yield f"pip picks {picked.ref}"
    needed = set(required(candidate.build, tables))
    missed = (
        needed if not candidate.build.extras else needed & set(candidate.build.pip_libraries_missed or ())
    )
    if not missed <= {link.library for link in candidate.links}:
        yield f"not found: {missed}"


def contradictions(
    version_request: str, machine: dict[str, Any], tables: Tables
) -> tuple[list[str], set[tuple[str, str]]]:
    """Return the faults in the plans for one case, and the commands in the plans, each with its platform."""
    found = outcome(tables, version_request, **machine)
    wrong: list[str] = []
    printed: set[tuple[str, str]] = set()
    if not found.plans:
        return ["no plan at all"], printed
    for plan in found.plans:
        printed |= {(step.platform, step.text) for step in plan.commands if step.kind == "shell"}
        if plan.route == "cpu":
            continue
        if plan.candidate.nvidia is None:
            wrong += [
                f"{plan.tensorflow} {plan.route}: {w}" for w in agrees_with_the_tables(plan, found, tables)
            ]
        diagnosis = diagnose(planned_facts(plan, found.context), tables)
        wrong += [
            f"{plan.tensorflow} {plan.route}: check says {f.code}: {f.title}"
            for f in diagnosis.findings
            if f.severity == "error"
        ]
    best = found.plans[0]
    if best.route in ("pip-and-cuda", "pip-system-cuda"):
        wrong += [f"planned again: {title}" for title in loop(best, found, tables)]
    return wrong, printed


def loop(best: Plan, found: Outcome, tables: Tables) -> list[str]:
    """Return the errors in a second plan, which is made for the machine as it is after the first plan."""
    context = found.context
    facts = described(tables, os=None, gpu=list(context.capabilities) or None, python=best.python)
    driver = best.candidate.driver.driver if best.candidate.driver else context.driver
    more: list[Fact] = [f for f in context.facts if isinstance(f, Platform)]
    more += [DriverVersion(Source("the plan"), driver)] if driver else []
    kept = [f for f in facts if not isinstance(f, Platform)]
    system = best.route == "pip-system-cuda"
    version_request = VersionRequest(
        f"=={best.tensorflow}",
        best.python,
        context.cuda if system else None,
        context.cudnn if system else None,
    )
    again = make_plans(PlanContext(Facts((*kept, *more), "machine", "planned"), tables, version_request))
    wrong = [f.title for f in again.findings if f.severity == "error"]
    if again.plans[0].tensorflow != best.tensorflow:
        wrong.append(f"{again.plans[0].tensorflow} instead of {best.tensorflow}")
    return wrong


def check_commands(printed: set[tuple[str, str]]) -> None:
    """Check that each command can be parsed by its shell. sh reads it without running it; commands for cmd
    and PowerShell must contain no character that these interpret."""
    script = []
    for kind, text in sorted(printed):
        assert "\n" not in text
        if kind == "windows":
            if text.startswith("powershell "):
                continue  # the vendor's own line, which both shells accept
            assert not re.search(r"[%$`!^&|']", re.sub(r'-c "[^"]*"', "", text)), text
            assert text.count('"') % 2 == 0, text
        else:
            assert shlex.split(text), text
            script.append(text)
    done = subprocess.run(
        ["sh", "-n"], input="\n".join(script), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("part", sampled(range(10), 1))
def test_plans_for_some_machines_hold(tables: Tables, part: int) -> None:
    hold(tables, cases(SIZE)[part * 8 : part * 8 + 8])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_plans_for_thousands_of_machines_hold(tables: Tables, part: int) -> None:
    size = SIZE // 8
    hold(tables, cases(SIZE)[part * size : (part + 1) * size])


def hold(tables: Tables, chosen: list[Case]) -> None:
    wrong: list[str] = []
    printed: set[tuple[str, str]] = set()
    for version_request, machine in chosen:
        found, commands = contradictions(version_request, machine, tables)
        printed |= commands
        wrong += [f"{version_request!r} {machine}: {w}" for w in found]
    assert wrong == []
    check_commands(printed)


@pytest.mark.slow
def test_grid_is_as_large_as_promised() -> None:
    assert len(cases(SIZE)) == SIZE >= 5000
