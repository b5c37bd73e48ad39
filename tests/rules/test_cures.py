"""Tests that the steps cure the fault: the TensorFlow release that they install works with the GPU, the
driver and the Python version in the case."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from doctor import compat
from doctor.case import Case
from doctor.diagnose import diagnose
from doctor.facts import DriverVersion, Facts, Gpu, Source
from doctor.findings import Finding
from doctor.tables import TensorFlowRelease
from tests.rules.cases import FIRES
from tests.rules.pasting import PLATFORMS, environments, faults_of_finding
from tests.rules.situation import Fires, bundled, diagnosed
from tests.rules.situations import moved
from tests.rules.test_prescriptions import NEWEST_OF_EACH_MINOR, possible
from tests.sampling import examples

if TYPE_CHECKING:
    from typing import TypeAlias

CARDS = (
    None,
    ("Tesla K80", "3.7"),
    ("GeForce GTX 1080", "6.1"),
    ("Tesla T4", "7.5"),
    ("GeForce RTX 3080", "8.6"),
    ("H100 PCIe", "9.0"),
)
DRIVERS = (None, "390.87", "470.82.01", "535.183.01")
PYTHONS = (None, "3.7", "3.10", "3.12")
Situation: TypeAlias = (
    "tuple[Fires, str, str | None, str | None, tuple[str, ...], tuple[str, str] | None, str | None]"
)


def led_to(finding: Finding, platform: str) -> Iterator[tuple[TensorFlowRelease, str | None]]:
    """Yield the builds that a prescription installs with pip, each with the Python version of the environment
    that the steps make for it."""
    for step in finding.prescription:
        made = environments([other for other in finding.prescription if other.platform == step.platform])
        for package, version in re.findall(r"(tensorflow(?:-gpu)?)(?:\[and-cuda\])?==([\d.]+\d)", step.text):
            row = bundled().tensorflow(version, package, PLATFORMS[step.platform or platform])
            if row is not None and row.gpu:
                yield row, next((python for name, python in made.items() if name in step.text), None)


def wrong(finding: Finding, picture: Case) -> Iterator[str]:
    """Yield the contradictions between a prescription and the tables for a case."""
    platform = picture.platform or "linux"
    side = platform if platform in ("windows", "wsl") else "linux"
    tells_driver = any("driver" in step.text.lower() for step in finding.prescription)
    for build, python in led_to(finding, platform):
        for capability in picture.capabilities:
            situation = compat.Situation(platform=build.platform, capabilities=(capability,))
            if compat.runs_on_gpu(build, situation, bundled()).verdict == "no":
                yield f"{build.requirement} has no code for {capability}"
        driver = picture.driver
        if (
            driver is not None
            and picture.facts.absent("nvidia gpu") is None
            and not tells_driver
            and compat.runs_on_driver(build, driver.version, bundled(), side).verdict == "no"
        ):
            yield f"{build.requirement} does not run on driver {driver.version}"
        if python is not None and python not in build.pythons:
            yield f"{build.requirement} has no wheel for Python {python}"
        for companion in compat.companions(build, bundled()):
            steps = [step.text for step in finding.prescription if build.requirement in step.text]
            if steps and not any(companion.requirement in text for text in steps):
                yield f"{build.requirement} without {companion.requirement}: {companion.why}"


def with_hardware(facts: Facts, card: tuple[str, str] | None, driver: str | None) -> Facts:
    """Return the facts with another card and driver. None means not stated."""
    where = Source("moved", 1, f"{card} {driver}")
    items = [fact for fact in facts if not isinstance(fact, (Gpu, DriverVersion))]
    items += [Gpu(where, card[0], card[1])] if card else []
    items += [DriverVersion(where, driver)] if driver else []
    return replace(facts, items=tuple(items))


CASES = [
    case
    for case in FIRES
    if case.code.startswith(("cuda-", "cudnn-", "gpu-arch", "tf-", "driver-too", "library-path", "known-"))
]
anything = st.tuples(
    st.sampled_from(CASES),
    st.sampled_from(("linux", "wsl", "windows")),
    st.sampled_from((None, *NEWEST_OF_EACH_MINOR)),
    st.sampled_from(PYTHONS),
    st.sampled_from(((), ("conda",), ("docker",), ("colab",), ("slurm",))),
    st.sampled_from(CARDS),
    st.sampled_from(DRIVERS),
)
patient = settings(
    deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], derandomize=True
)


def check(
    case: Fires,
    platform: str,
    release: str | None,
    python: str | None,
    around: tuple[str, ...],
    card: tuple[str, str] | None,
    driver: str | None,
) -> None:
    assume(possible(case, platform, release, python, around))
    facts = with_hardware(
        moved(
            diagnosed(case.text).facts, platform=platform, release=release, python=python, environments=around
        ),
        card,
        driver,
    )
    diagnosis = diagnose(facts, bundled())
    picture = Case(diagnosis.facts, bundled())
    for finding in diagnosis.findings:
        assert not list(wrong(finding, picture)), (finding.code, [step.text for step in finding.prescription])


@settings(patient, max_examples=examples(60))
@given(anything)
def test_no_step_installs_a_build_that_cannot_work_here(situation: Situation) -> None:
    check(*situation)


@pytest.mark.slow
@settings(patient, max_examples=examples(1500))
@given(anything)
def test_no_step_installs_a_build_that_cannot_work_in_many_situations(situation: Situation) -> None:
    check(*situation)


CUDA_10_ON_AMPERE = """\
Found device 0 with properties:
name: GeForce RTX 3080 major: 8 minor: 6 memoryClockRate(GHz): 1.71
Could not load dynamic library 'libcudart.so.10.0'; dlerror: libcudart.so.10.0: cannot open shared object \
file: No such file or directory
Could not load dynamic library 'libcublas.so.10.0'; dlerror: libcublas.so.10.0: cannot open shared object \
file: No such file or directory
Cannot dlopen some GPU libraries. Skipping registering GPU devices...
"""


def test_no_step_installs_a_cuda_too_old_for_the_gpu() -> None:
    steps = " ".join(step.text for step in diagnosed(CUDA_10_ON_AMPERE).verdict.prescription)
    assert "10.0" not in steps, "CUDA 10 has no code for an RTX 3080"
    assert "tensorflow[and-cuda]==" in steps


def test_the_verifying_code_fits_the_prescribed_release() -> None:
    kepler = (
        "Ignoring visible gpu device (device: 0, name: Quadro K2000M, pci bus id: 0000:01:00.0, compute"
        " capability: 3.0) with Cuda compute capability 3.0. The minimum required Cuda capability is 3.5."
    )
    verdict = diagnosed(kepler).verdict
    assert any("tensorflow-gpu==1." in step.text for step in verdict.prescription)
    assert "device_lib" in verdict.verify


@pytest.mark.parametrize(
    ("around", "first"),
    [
        ("", "Install the CUDA Toolkit"),
        ("(base) conda environment: conda activate tf\n", "conda install"),
        ("slurmstepd: error: *** JOB 1 ON gpu01 ***\n", "module avail"),
    ],
)
def test_the_environment_decides_how_libraries_are_installed(around: str, first: str) -> None:
    report = f"{around}TensorFlow version: 2.4.1\n" + CUDA_10_ON_AMPERE.replace("10.0", "11.0").replace(
        "RTX 3080", "RTX 2080"
    )
    verdict = diagnosed(report.replace("libcublas.so.11.0", "libcublas.so.11")).verdict
    assert verdict.prescription[0].text.startswith(first), [step.text for step in verdict.prescription]


BLACKWELL_ON_WINDOWS = """Windows 11, TensorFlow 2.10.1, NVIDIA GeForce RTX 5060
W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library \
'cudart64_110.dll'; dlerror: cudart64_110.dll not found
W tensorflow/core/common_runtime/gpu/gpu_device.cc:1934] Cannot dlopen some GPU libraries. Skipping \
registering GPU devices...
"""


@pytest.mark.parametrize("release", ["2.10.1", "2.18.0"])
def test_wsl_steps_appear_once_if_no_windows_release_supports_the_gpu(release: str) -> None:
    verdict = diagnosed(BLACKWELL_ON_WINDOWS.replace("2.10.1", release)).verdict
    steps = [step.text for step in verdict.prescription]
    assert steps.count("python3.12 -m venv tf-gpu") == 1
    assert not list(faults_of_finding(verdict, bundled(), platform="windows", python=None)), steps
    assert "tf-gpu/bin/python" in verdict.verify


@pytest.mark.parametrize(
    "case",
    [case for case in FIRES if any("nvidia-cudnn-cu12==9.10" in step for step in case.says)],
    ids=lambda case: case.situation,
)
def test_no_step_installs_cudnn_from_pip_on_windows(case: Fires) -> None:
    diagnosis = diagnose(
        moved(diagnosed(case.text).facts, platform="windows", release=None, python=None, environments=()),
        bundled(),
    )
    mismatch = next(finding for finding in diagnosis.findings if finding.code == "cudnn-version-mismatch")
    assert mismatch.prescription
    assert not list(faults_of_finding(mismatch, bundled(), platform="windows", python=None))
