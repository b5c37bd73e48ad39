"""Every pin that a plan for a grid of machines prints exists on the package index, for its Python and platform."""

from __future__ import annotations

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
def offered(name: str, python: str) -> tuple[str, ...]:
    """The versions with a wheel for a Python on Linux that pip's own configured index offers."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", "--pre", "--python-version", python, "--only-binary=:all:", name],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    line = re.search(r"Available versions: (.*)", done.stdout)
    return tuple(line[1].split(", ")) if line else ()


def test_every_pin_of_every_plan_is_on_the_index(tables: Tables) -> None:
    wanted: set[tuple[str, str, str]] = set()
    for wish, machine in cases(SIZE)[:250]:
        for plan in outcome(tables, wish, **machine).plans:
            build, python = plan.candidate.build, plan.candidate.python
            if python is None:
                continue
            # the row names the file that was read from the index for this very Python and platform
            file = build.data["wheels"][python]["file"]
            assert re.search(PLATFORM_TAGS[build.platform], file), (plan.tensorflow, python, file)
            if build.platform != "linux-x86_64":
                continue
            wanted |= {(*re.fullmatch(r"([\w-]+)(.+)", pin.requirement).groups(), python) for pin in plan.candidate.pins}  # type: ignore[union-attr]
            if plan.candidate.situation.route == "pip-and-cuda":
                wanted |= {(name, spec.partition(";")[0], python) for name, spec in build.extras["and-cuda"].items()}
    assert wanted
    pure = {(name, spec, "3.10" if name.startswith("nvidia-") else python) for name, spec, python in wanted}
    missing = [
        f"{name}{spec} for Python {python}"
        for name, spec, python in sorted(pure)
        if not any(Version(v) in SpecifierSet(spec, prereleases=True) for v in offered(name, python))
    ]
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
