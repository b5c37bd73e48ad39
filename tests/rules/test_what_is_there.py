"""Tests, for all releases and GPUs, that a cure never prescribes what is already installed, and that the
result passes the tool's own check."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from doctor import compat
from doctor.diagnose import diagnose
from doctor.facts import Fact, Facts, Gpu, LibraryLoaded, Platform, PythonVersion, Source, TensorFlowVersion
from doctor.findings import Finding
from doctor.plan.version_request import newest_final
from doctor.tables import Tables, TensorFlowRelease
from tests.compat.releases import release
from tests.rules.situation import bundled
from tests.sampling import sampled

if TYPE_CHECKING:
    from typing import TypeAlias

HERE = Source("the machine")
SYSTEMS = {"linux": "linux-x86_64", "wsl": "linux-x86_64", "windows": "windows-amd64"}
NAMED = re.compile(r"(tensorflow(?:-gpu)?)(\[and-cuda\])?==(\d[\w.]*)(?![\w.+])")
CODES = ("gpu-arch-too-new", "gpu-arch-too-old")
Case: TypeAlias = "tuple[str, str, TensorFlowRelease]"


def cases(tables: Tables) -> list[Case]:
    """Return every release with GPU support, combined with every compute capability in the tables whose GPUs
    are used with x86-64 processors."""
    arm = {row.get("capability") for row in tables.store.all("arm_gpus")}
    capabilities = [
        c for row in tables.store.all("architectures") for c in row["capabilities"] if c not in arm
    ]
    return [
        (system, capability, build)
        for system, platform in SYSTEMS.items()
        for build in tables.gpu_builds(platform, ("tensorflow", "tensorflow-gpu"))
        for capability in capabilities
        if not build.yanked and build.pythons
    ]


def machine(system: str, capability: str, build: TensorFlowRelease) -> Facts:
    """Return the facts about a machine with a GPU of this capability, the release, and every library that the
    release loads."""
    facts: list[Fact] = [Platform(HERE, system, "x86_64"), Gpu(HERE, "an NVIDIA card", capability)]
    facts += [
        TensorFlowVersion(HERE, build.version, build.package),
        PythonVersion(HERE, build.pythons[-1], 64),
    ]
    facts += [LibraryLoaded(HERE, name) for name in build.libraries]
    return Facts(tuple(facts), "machine", "a machine")


def named(finding: Finding, system: str) -> list[tuple[TensorFlowRelease, bool]]:
    """Return the releases that a prescription installs, each with whether the extra and-cuda is installed
    with it."""
    found = []
    for step in finding.prescription:
        for package, extra, version in NAMED.findall(step.text):
            row = bundled().tensorflow(version, package, SYSTEMS[step.platform or system])
            if row is not None:
                found.append((row, bool(extra)))
    return found


def wrong(case: Case) -> list[str]:
    """Return the faults: prescriptions that the tables contradict, or that are already carried out."""
    system, capability, build = case
    found = []
    for finding in diagnose(machine(*case), bundled()).findings:
        for row, _ in named(finding, system):
            situation = compat.Situation(platform=row.platform, capabilities=(capability,))
            if compat.runs_on_gpu(row, situation, bundled()).verdict == "no":
                found.append(f"{finding.code} prescribes {row.requirement}, which cannot use {capability}")
            if finding.code in CODES and (row.version, row.platform) == (build.version, build.platform):
                found.append(f"{finding.code} prescribes {row.requirement}, which is there")
        if finding.code in CODES and not finding.prescription:
            found.append(f"{finding.code} prescribes nothing")
    return [f"{system} {capability} {build.requirement}: {fault}" for fault in found]


@pytest.mark.parametrize("part", sampled(range(4), 1))
def test_no_step_installs_what_is_already_installed(part: int) -> None:
    chosen = cases(bundled())[53 * part :: 212]
    judged = sum(
        any(f.code in CODES for f in diagnose(machine(*case), bundled()).findings) for case in chosen
    )
    assert judged > 5, "the test would say nothing otherwise"
    assert [fault for case in chosen for fault in wrong(case)] == []


@pytest.mark.slow
def test_no_step_installs_what_is_already_installed_for_any_gpu_and_release() -> None:
    assert [fault for case in cases(bundled()) for fault in wrong(case)] == []


def test_blackwell_with_the_newest_release_gets_steps_that_work() -> None:
    """No release has machine code for Blackwell, not even the newest. The driver can compile the PTX in the
    release if XLA is switched off."""
    build = release(bundled(), newest_final(bundled()), "tensorflow")
    diagnosis = diagnose(machine("linux", "12.0", build), bundled())
    finding = next(f for f in diagnosis.findings if f.code == "gpu-arch-too-new")
    steps = "\n".join(step.text for step in finding.prescription)
    assert "jit_compile=False" in steps
    assert "CUDA_CACHE_MAXSIZE" in steps
    assert "nvcr.io/nvidia/tensorflow" in steps
    assert "pip install" not in steps


@pytest.mark.parametrize("capability", ["10.0", "10.3"])
def test_a_data_centre_blackwell_is_not_called_sm_120(capability: str) -> None:
    build = release(bundled(), newest_final(bundled()), "tensorflow")
    found = diagnose(machine("linux", capability, build), bundled()).findings
    text = " ".join(f.explanation + " ".join(s.text + s.why for s in f.prescription) for f in found)
    assert "sm_120" not in text
    assert "12.0" not in text
