"""What check prescribes leads to a machine that the next check calls healthy: the printed packages are laid out as the
tables know their files, the printed links are made by the printed code."""

from __future__ import annotations

import os
import re
import shlex
import sysconfig
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from doctor.backports import removeprefix
from doctor.diagnose import diagnose
from doctor.findings import Finding
from doctor.tables import Tables, TensorFlowRelease, dotted
from tests.probe.machines import BUILDS, Folder

PLATFORM = "linux-x86_64"


def lay_out(machine: Folder, build: TensorFlowRelease) -> None:
    """A release as its wheel lies in site-packages; in place of another one."""
    folders = tuple(m[1] for entry in build.runpath if (m := re.search(r"nvidia/([\w-]+)/lib", entry)))
    site = machine.root / machine.site.lstrip("/")
    for old in site.glob("tensorflow*.dist-info"):
        old.rename(old.with_suffix(".gone"))
    known = BUILDS.get(build.version)
    try:
        BUILDS[build.version] = (build.cuda or "", build.cudnn or "", folders)
        machine.tensorflow(build.version, build.package)
    finally:
        if known is not None:
            BUILDS[build.version] = known
        else:
            del BUILDS[build.version]


def bring(machine: Folder, package: str, specifiers: list[str], tables: Tables) -> None:
    """The newest wheel of NVIDIA's that all the specifiers allow, with the files that the tables know of it."""
    wanted = Requirement(f"{package}{','.join(specifiers)}").specifier
    wheels = [wheel for wheel in tables.nvidia_wheels(package) if wanted.contains(wheel.version)]
    if not wheels:
        return  # none with a library: nvcc
    wheel = max(wheels, key=lambda one: dotted(one.version))
    machine.package(package, wheel.version)
    for name in wheel.libraries:
        row = tables.pip_library(name, package.rpartition("cu")[2])
        if row is not None and row.package == package:
            folder = row.folder
            machine.library(f"{machine.site}/{folder}/{name}", runpath="$ORIGIN")
        elif name.startswith("libcudnn_"):
            machine.library(f"{machine.site}/nvidia/cudnn/lib/{name}", runpath="$ORIGIN")


def install(machine: Folder, requirements: list[str], tables: Tables) -> None:
    """pip's work: each package with what its extra asks for."""
    bounds: dict[str, list[str]] = {}
    for requirement in map(Requirement, requirements):
        if requirement.name in ("tensorflow", "tensorflow-gpu"):
            build = tables.tensorflow(str(requirement.specifier).lstrip("="), requirement.name, PLATFORM)
            assert build is not None, requirement
            lay_out(machine, build)
            for package, specifier in (
                build.extras["and-cuda"] if "and-cuda" in requirement.extras else {}
            ).items():
                bounds.setdefault(package, []).append(specifier.partition(";")[0])
        elif requirement.name.startswith("nvidia-"):
            bounds.setdefault(requirement.name, []).append(str(requirement.specifier))
        elif requirement.name != "pip":
            machine.package(requirement.name, "1.0")
    for package, specifiers in bounds.items():
        if package.startswith("nvidia-"):
            bring(machine, package, [s for s in specifiers if s], tables)


def carry_out(machine: Folder, finding: Finding, tables: Tables, monkeypatch: pytest.MonkeyPatch) -> int:
    """Do what the commands of pip and the links among the steps do; how many did something."""
    done = 0
    for step in finding.prescription:
        if (done and f"{step.why} {step.text}".lower().startswith("or ")) or step.text.startswith("Or "):
            break  # another way to the same
        if step.kind != "shell":
            continue
        words = shlex.split(step.text)
        if words[1:3] == ["-m", "venv"] or words[:2] == ["uv", "venv"]:
            version = removeprefix(words[0], "python") if words[0] != "uv" else words[3]
            machine.python(version, "/opt/tf-gpu")
        elif "pip" in words and "install" in words:
            asked = [w for w in words[words.index("install") + 1 :] if not w.startswith("-") and "/" not in w]
            install(machine, asked, tables)
        elif words[1:2] == ["-c"] and "os.symlink" in words[2]:
            here = Path.cwd()
            monkeypatch.setattr(sysconfig, "get_path", lambda _: str(machine.root / machine.site.lstrip("/")))
            try:
                exec(words[2], {})  # the very code that is printed
            finally:
                os.chdir(here)
        else:
            continue
        done += 1
    return done


CARDS = {
    "RTX 3070": ("2484", "8.6"), "Tesla T4": ("1eb8", "7.5"), "Tesla V100": ("1db4", "7.0"), "GTX 1080": ("1b80", "6.1"),
}  # fmt: skip
INSTALLED = ("2.21.0", "2.18.1", "2.16.1", "2.15.1", "2.10.0", "cpu", None)


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("installed", INSTALLED)
def test_the_check_after_the_cure_is_healthy(
    tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch, installed: str | None, card: str
) -> None:
    device, capability = CARDS[card]
    machine = (
        Folder(tmp_path)
        .gpu(device)
        .driver("570.86.10")
        .answers(capability=capability, name=f"NVIDIA {card}", cuda="12.8")
    )
    machine.python("3.10")
    if installed == "cpu":
        machine.tensorflow("2.18.1", "tensorflow-cpu", gpu=False)
    elif installed is not None:
        machine.tensorflow(installed)
    first = machine.diagnosis().verdict
    assert first.severity == "error"
    assert carry_out(machine, first, tables, monkeypatch) > 0, [step.text for step in first.prescription]
    after = machine.diagnosis().verdict
    assert after.code == "healthy", (
        first.code,
        [step.text for step in first.prescription],
        after.code,
        after.explanation,
    )


@pytest.mark.parametrize("installed", ["2.21.0", None])
def test_a_machine_without_a_gpu_gets_nothing_of_cuda(
    tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch, installed: str | None
) -> None:
    machine = Folder(tmp_path).python("3.11")
    if installed is not None:
        machine.tensorflow(installed)
    found = machine.diagnosis().findings
    steps = " ".join(step.text for finding in found for step in finding.prescription)
    assert "[and-cuda]" not in steps
    assert "nvidia-" not in steps
    carry_out(machine, found[0], tables, monkeypatch)
    assert diagnose(machine.facts(), tables).verdict.code == "gpu-absent"
