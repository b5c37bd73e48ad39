"""Every pin that a plan for a grid of machines prints exists on the package index, for its Python and platform."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from doctor.tables import Tables
from tests.plan.grounds import outcome
from tests.plan.test_grid import SIZE, cases

pytestmark = pytest.mark.online
PLATFORM_TAGS = {"linux-x86_64": r"manylinux.*x86_64|any", "windows-amd64": "win_amd64|any", "linux-aarch64": r"manylinux.*aarch64|any",
                 "macos-arm64": r"macosx.*(arm64|universal2)|any", "macos-x86_64": r"macosx.*(x86_64|universal2)|any"}  # fmt: skip


@cache
def offered(name: str) -> tuple[str, ...]:
    """The versions that pip's own configured index offers, newest first."""
    done = subprocess.run([sys.executable, "-m", "pip", "index", "versions", "--pre", "--json", name],
                          capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
    if done.returncode == 0:
        return tuple(json.loads(done.stdout)["versions"])
    done = subprocess.run([sys.executable, "-m", "pip", "index", "versions", "--pre", name], capture_output=True, text=True, timeout=120,
                          check=False)  # fmt: skip
    line = re.search(r"Available versions: (.*)", done.stdout)
    return tuple(line[1].split(", ")) if line else ()


def test_every_pin_of_every_plan_is_on_the_index(tables: Tables) -> None:
    wanted: set[tuple[str, str]] = set()
    for wish, machine in cases(SIZE)[:250]:
        for plan in outcome(tables, wish, **machine).plans:
            for step in plan.commands:
                for requirement in re.findall(r"['\"]?([a-z][\w.-]*)(?:\[[\w,-]+\])?((?:==|<|>=|~=)[\d.a-z,<>=]+)", step.text):
                    if " install " in step.text and "pip" in step.text:
                        wanted.add(requirement)
            build = plan.candidate.build
            if plan.candidate.python is not None:
                # pip index asks for this Python only: the file for the plan's own is in the release's row, read from the index
                assert plan.candidate.python in build.data["wheels"], (plan.tensorflow, plan.python)
                assert re.search(PLATFORM_TAGS[build.platform], build.data["wheels"][plan.candidate.python]["file"])
            if plan.candidate.situation.route == "pip-and-cuda" and plan.route != "cpu":
                wanted |= {(name, spec.partition(";")[0]) for name, spec in build.extras["and-cuda"].items()}
    assert wanted
    missing = []
    for name, spec in sorted(wanted):
        if name in ("tensorflow", "tensorflow-gpu"):
            continue  # the row above: pip shows only what this very Python can install
        if not any(Version(v) in SpecifierSet(spec, prereleases=True) for v in offered(name)):
            missing.append(f"{name}{spec}")
    assert missing == []


def test_wheels_of_the_first_plans_can_be_downloaded_for_their_python(tables: Tables) -> None:
    """pip itself resolves the wheel of each TensorFlow for the plan's Python and platform, without fetching it."""
    asked = {(p.package, p.tensorflow, str(p.python)) for wish, machine in cases(SIZE)[:60] for p in outcome(tables, wish, **machine).plans[:1]
             if p.route == "pip-and-cuda"}  # fmt: skip
    for package, version, python in sorted(asked):
        tags = ["--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_17_x86_64", "--platform", "manylinux_2_27_x86_64"]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--ignore-installed", "--only-binary=:all:",
             "--python-version", python, *tags, "--target", "/nonexistent", f"{package}=={version}"],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{package} {version} for Python {python}: {done.stderr[-400:]}"
