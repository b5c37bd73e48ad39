"""Checks the steps of a prescription: whether each can be pasted, and whether the tables confirm it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from functools import lru_cache

from packaging.requirements import InvalidRequirement, Requirement

from doctor.findings import Finding, Step
from doctor.tables import Tables
from tests.conftest import BUNDLED

PLATFORMS = {
    "linux": "linux-x86_64",
    "wsl": "linux-x86_64",
    "windows": "windows-amd64",
    "macos": "macos-arm64",
}
CONDA = json.loads((BUNDLED / "conda.json").read_text(encoding="utf-8"))["rows"]


def environments(steps: Iterable[Step]) -> dict[str, str]:
    """Return a dictionary from the name or folder of each environment that the steps make to its Python
    version."""
    made: dict[str, str] = {}
    for step in steps:
        if conda := re.match(r"conda create .*-n (\S+) .*python=(3\.\d+)", step.text):
            made[conda[1]] = conda[2]
        if uv := re.match(r"uv venv --python (3\.\d+) (\S+)", step.text):
            made[uv[2]] = uv[1]
    return made


def faults_of_finding(
    finding: Finding, tables: Tables, *, platform: str, python: str | None
) -> Iterator[tuple[str, str]]:
    """Yield (fault, faulty text) for the faults of every step and of the command that verifies the cure."""
    made = environments(finding.prescription)
    commands = [(step.platform, step.text) for step in finding.prescription if step.kind == "shell"]
    yield from (
        ("is described more than once", text)
        for n, (where, text) in enumerate(commands)
        if (where, text) in commands[:n]
    )
    for step in finding.prescription:
        inside = next(
            (
                version
                for name, version in made.items()
                if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", step.text)
            ),
            python,
        )
        yield from ((fault, step.text) for fault in faults(step, tables, platform=platform, python=inside))
    if finding.verify:
        yield from (
            (fault, finding.verify)
            for fault in faults_of_command(finding.verify, tables, platform=platform, python=python)
        )


@lru_cache(maxsize=None)
def parses(command: str) -> bool:
    """Whether a POSIX shell can read a command; it is not run."""
    return (
        subprocess.run(["bash", "-n", "-c", command], capture_output=True, timeout=20, check=False).returncode
        == 0
    )


def faults(step: Step, tables: Tables, *, platform: str, python: str | None) -> Iterator[str]:
    """Yield the faults of a step on a platform (linux, wsl, windows, macos) with a Python version ("3.9")."""
    if step.kind == "python":
        try:
            compile(step.text, "prescription", "exec")
        except SyntaxError as error:
            yield f"does not compile: {error}"
        return
    if step.kind == "manual":
        return
    there = step.platform or platform
    python = python if (there == "windows") == (platform == "windows") else None  # WSL has its own Python
    yield from faults_of_command(step.text, tables, platform=there, python=python)
    at_home = {
        "linux": {"linux"},
        "wsl": {"linux", "wsl", "windows"},
        "windows": {"windows", "wsl"},
        "macos": {"macos"},
    }
    if step.platform and step.platform not in at_home[platform]:
        yield f"is for {step.platform}, and the case is on {platform}"


def faults_of_command(command: str, tables: Tables, *, platform: str, python: str | None) -> Iterator[str]:
    """Yield the faults of a command line."""
    if "\n" in command:
        yield "is more than one line"
    if platform == "windows":
        yield from _windows(command)
    elif not parses(command):
        yield "is no command that a shell can read"
    for words in _commands(command, platform):
        yield from _pip(words, tables, platform, python)
        yield from _conda(words)
        yield from _uv(words)


def _uv(words: list[str]) -> Iterator[str]:
    """Yield the faults of a uv command. uv downloads no Python older than 3.8 (`uv python list --all-versions
    --only-downloads` of uv 0.13)."""
    if words[:3] == ["uv", "venv", "--python"] and tuple(map(int, words[3].split("."))) < (3, 8):
        yield f"asks uv for Python {words[3]}, which it has not"


def _windows(command: str) -> Iterator[str]:
    if command.count('"') % 2:
        yield "has a double quote without its partner"
    bare = re.sub(r'"[^"]*"', "", command)
    if re.search(r"['$`<>]", bare):
        yield "has marks that cmd and PowerShell do not read as meant"
    if re.search(r"\b(?:export|sudo|unset|grep|apt|ldconfig|dmesg)\b|/dev/null|/usr/", bare):
        yield "is a command of another system"


def _commands(command: str, platform: str) -> Iterator[list[str]]:
    try:
        words = shlex.split(command.replace("\\", "/") if platform == "windows" else command)
    except ValueError:
        return
    part: list[str] = []
    for word in [*words, ";"]:
        if word in ("&&", "||", ";", "|"):
            if part:
                yield part
            part = []
        else:
            part.append(word)


def _requirements(words: list[str]) -> Iterator[str]:
    """Yield the requirements in the command of an installer."""
    if "install" not in words or ("pip" not in words and not words[0].startswith("pip")):
        return
    rest = iter(words[words.index("install") + 1 :])
    for word in rest:
        if word in ("--python", "-r", "--index-url", "--extra-index-url", "--target"):
            next(rest, None)
        elif not word.startswith("-"):
            yield word


def _pip(words: list[str], tables: Tables, platform: str, python: str | None) -> Iterator[str]:
    for text in _requirements(words):
        if text.endswith(".whl"):
            continue
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            yield f"asks pip for {text}, which is no requirement"
            continue
        if wanted.name in ("tensorflow", "tensorflow-gpu", "tensorflow-cpu"):
            yield from _tensorflow(wanted, tables, platform, python)
        elif wanted.name.startswith("nvidia-") and wanted.specifier:
            known = tables.nvidia_wheels(wanted.name)
            if not any(wanted.specifier.contains(wheel.version) for wheel in known):
                yield f"asks for {text}, which is no wheel of the tables"
            if platform in ("windows", "macos"):
                yield f"asks for {wanted.name} on {platform}"


def _tensorflow(wanted: Requirement, tables: Tables, platform: str, python: str | None) -> Iterator[str]:
    macs = ("macos-x86_64", "macos-arm64")  # a report seldom says which of the two it is
    where = macs if platform == "macos" else (PLATFORMS[platform],)
    if "+nv" in str(wanted.specifier):  # NVIDIA's own wheels for Jetson boards
        if str(wanted) not in [row.get("requirement") for row in tables.store.all("nvidia_builds")]:
            yield f"asks for {wanted}, which is none of NVIDIA's builds in the tables"
        return
    if wanted.name == "tensorflow-cpu":
        return  # the tables contain only tensorflow and tensorflow-gpu
    rows = [
        r
        for one in where
        for r in tables.releases(one, wanted.name)
        if wanted.specifier.contains(r.version) and not r.yanked
    ]
    if python is not None:
        rows = [r for r in rows if python in r.pythons]
    if not rows:
        yield f"asks for {wanted} on {platform} with Python {python}: the tables have no such wheel"
        return
    if wanted.name == "tensorflow-gpu" and tuple(int(n) for n in rows[-1].version.split(".")[:2]) >= (2, 12):
        yield f"asks for {wanted}, a stub that only fails"
    if "and-cuda" in wanted.extras:
        newest = rows[-1]
        if platform in ("windows", "macos"):
            yield f"asks for the CUDA extra on {platform}"
        if not newest.extras.get("and-cuda"):
            yield f"asks for the CUDA extra of {newest.version}, which has none"
        if newest.version == "2.15.0":
            yield "asks for the extra of 2.15.0, which cannot be installed"
        if newest.version.startswith("2.14") and python == "3.11":
            yield f"asks for the extra of {newest.version}, whose TensorRT has no wheel for Python 3.11"


def _conda(words: list[str]) -> Iterator[str]:
    if words[:2] != ["conda", "install"]:
        return
    pins = dict(w.split("=", 1) for w in words[2:] if "=" in w and not w.startswith("-"))
    if "cudatoolkit" in pins:
        channel = words[words.index("-c") + 1] if "-c" in words else ""
        if not [
            r
            for r in CONDA
            if (r["cudatoolkit"], r["channel"]) == (pins["cudatoolkit"], channel)
            and pins.get("cudnn", r["cudnn"]) == r["cudnn"]
        ]:
            yield f"asks conda for {pins}, which the tables do not know from {channel}"
