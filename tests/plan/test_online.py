"""Tests that a real resolver with the package index can resolve every set of requirements that the plans in
the grid print, for the plan's Python and platform, with everything that the packages require."""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doctor.plan.routes import install_options
from doctor.tables import Tables
from tests.plan.contexts import outcome
from tests.plan.test_grid import SIZE, cases
from tests.tensorflow_envs import package_env

if TYPE_CHECKING:
    from typing import TypeAlias

pytestmark = [pytest.mark.online, pytest.mark.slow]
PLATFORMS = {
    "linux-x86_64": "x86_64-manylinux_2_28",
    "linux-aarch64": "aarch64-manylinux_2_28",
    "windows-amd64": "x86_64-pc-windows-msvc",
    "macos-arm64": "aarch64-apple-darwin",
    "macos-x86_64": "x86_64-apple-darwin",
}
OLD = "x86_64-manylinux2014"
"""The platform for a glibc older than 2.28, which is the strictest."""
Wanted: TypeAlias = "tuple[str, str, tuple[str, ...], tuple[str, ...]]"


def printed(tables: Tables) -> set[Wanted]:
    """Return the platform (as uv names it), the Python version, the requirements and the uv options for every
    plan that uses pip or uv, including plans in conda environments."""
    found: set[Wanted] = set()
    for version_request, machine in cases(SIZE):
        judged = outcome(tables, version_request, **machine)
        for plan in judged.plans:
            candidate = plan.candidate
            if candidate.python is None:
                continue
            options = install_options(candidate, judged.context, uv=True)
            platform = OLD if options else PLATFORMS[candidate.build.platform]
            found.add((platform, candidate.python, tuple(candidate.installation.requirements), options))
    return found


def resolved(uv: Path, wanted: Wanted, folder: Path) -> str:
    """Return the resolver's error, or "" if there is none."""
    platform, python, asked, options = wanted
    names = [re.match(r"[\w-]+", text)[0] for text in asked]  # type: ignore[index]
    file = folder / f"{abs(hash(wanted))}.in"
    file.write_text("\n".join(asked) + "\n")
    wheels = [word for name in names for word in ("--only-binary", name)]
    environment = {**os.environ}
    if "PIP_INDEX_URL" in os.environ:
        environment.setdefault("UV_INDEX_URL", os.environ["PIP_INDEX_URL"])
    done = subprocess.run(
        [
            uv,
            "pip",
            "compile",
            "--quiet",
            "--no-header",
            "--no-annotate",
            "--python-version",
            python,
            "--python-platform",
            platform,
            *wheels,
            *options,
            str(file),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=environment,
    )
    if done.returncode:
        return f"{wanted}: {done.stderr.strip()[-2000:]}"
    missing = [
        name for name in names if not re.search(rf"^{re.escape(name)}(\[.*\])?==", done.stdout, re.MULTILINE)
    ]
    return f"{wanted}: {missing} not in the answer" if missing else ""


def test_every_set_of_requirements_of_every_plan_resolves_for_its_python_and_platform(
    tables: Tables, tmp_path: Path
) -> None:
    sets = printed(tables)
    print(f"{SIZE} machines and wishes: {len(sets)} sets of requirements")
    assert len(sets) > 60
    uv = package_env("uv", ["uv"]).parent / "uv"
    with ThreadPoolExecutor(2) as pool:
        wrong = [
            problem
            for problem in pool.map(lambda wanted: resolved(uv, wanted, tmp_path), sorted(sets))
            if problem
        ]
    assert wrong == []


def test_wheel_in_each_row_is_for_the_platform_of_the_plan(tables: Tables) -> None:
    """The table row names the file that was read from the index for exactly this Python and platform."""
    tags = {
        "linux-x86_64": r"manylinux.*x86_64|any",
        "windows-amd64": "win_amd64|any",
        "linux-aarch64": r"manylinux.*aarch64|any",
        "macos-arm64": r"macosx.*(arm64|universal2)|any",
        "macos-x86_64": r"macosx.*(x86_64|universal2)|any",
    }
    for version_request, machine in cases(SIZE)[:250]:
        for plan in outcome(tables, version_request, **machine).plans:
            build, python = plan.candidate.build, plan.candidate.python
            if python is not None:
                assert re.search(tags[build.platform], build.data["wheels"][python]["file"]), (
                    plan.tensorflow,
                    python,
                )
