"""Tests that the steps can be pasted and that the tables confirm them, for any platform, TensorFlow release
and Python version."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from doctor.diagnose import diagnose
from doctor.findings import manual, python, shell
from doctor.render.content import instruction
from doctor.shell import Literal
from doctor.tables import Tables
from tests.rules.cases import FIRES
from tests.rules.pasting import PLATFORMS, faults, faults_of_finding, parses
from tests.rules.situation import Fires, bundled, diagnosed
from tests.rules.situations import moved
from tests.sampling import each, examples, sampled

NO_REQUEST = re.compile(r"(?:Must|Both|Helps|Works|This file)\b")
NEWEST_OF_EACH_MINOR = tuple(
    {tuple(r.version.split(".")[:2]): r.version for r in bundled().releases("linux-x86_64")}.values()
)
RELEASES = (None, "2.15.0", "2.16.1", *NEWEST_OF_EACH_MINOR)
PYTHONS = (None, "3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
ENVIRONMENTS = ((), ("conda",), ("docker",), ("venv",))

ON_LINUX_ONLY = (
    "driver-libcuda-missing",
    "driver-library-mismatch",
    "driver-not-loaded",
    "cuda-compat-package",
    "device-permission",
    "container-no-gpu",
    "wsl-driver",
    "gpu-powered-off",
    "gpu-reserved",
)
ON_ANY_SYSTEM = ("tf-", "python-", "host-", "model-", "undetermined", "memory-")


def possible(
    case: Fires, platform: str, release: str | None, python: str | None, environment: tuple[str, ...]
) -> bool:
    """Whether the case can exist: there is a wheel for that platform and Python version, and such a system
    can have the fault."""
    where = PLATFORMS[platform]
    if platform == "macos" and not case.code.startswith(ON_ANY_SYSTEM):
        return False
    if platform == "windows" and (case.code in ON_LINUX_ONLY or environment == ("docker",)):
        return False
    if case.code == "tf-windows-native" and platform != "windows":
        return False
    if ("DLL load failed" in case.text or "msvcp140" in case.text) and platform != "windows":
        return False
    if release is None:
        return (
            python is None
            or case.code in ("tf-not-installed", "tf-no-wheel")
            or any(python in r.pythons for r in bundled().releases(where))
        )
    row = bundled().tensorflow(release, None, where)
    return row is not None and (python is None or python in row.pythons)


def check(
    case: Fires, platform: str, release: str | None, python: str | None, environment: tuple[str, ...]
) -> None:
    facts = moved(
        diagnosed(case.text).facts,
        platform=platform,
        release=release,
        python=python,
        environments=environment,
    )
    diagnosis = diagnose(facts, bundled())
    assert diagnosis.findings
    assert not [s for s in diagnosis.skipped if "failed" in s.reason]
    for finding in diagnosis.findings:
        assert finding.verify
        assert finding.prescription or finding.severity == "info"
        wrong = list(faults_of_finding(finding, bundled(), platform=platform, python=python))
        assert not wrong, (finding.code, wrong)


@settings(
    max_examples=examples(120),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    derandomize=True,
)
@given(
    st.sampled_from(FIRES),
    st.sampled_from(tuple(PLATFORMS)),
    st.sampled_from(RELEASES),
    st.sampled_from(PYTHONS),
    st.sampled_from(ENVIRONMENTS),
)
def test_steps_can_be_pasted_and_agree_with_the_tables(
    case: Fires, platform: str, release: str | None, python: str | None, environment: tuple[str, ...]
) -> None:
    assume(possible(case, platform, release, python, environment))
    check(case, platform, release, python, environment)


@pytest.mark.slow
@pytest.mark.parametrize("case", FIRES, ids=lambda case: f"{case.code}: {case.situation}")
def test_every_fiftieth_of_all_situations(case: Fires) -> None:
    everything = [s for s in product(PLATFORMS, RELEASES, PYTHONS, ENVIRONMENTS) if possible(case, *s)]
    assert everything
    for situation in everything[FIRES.index(case) % 50 :: 50]:
        check(case, *situation)


@pytest.mark.parametrize("part", sampled(range(4), 1))
def test_steps_of_every_case_as_it_is(part: int) -> None:
    wrong = {case.situation: why for case in FIRES[part::4] if (why := _faults_as_it_is(case))}
    assert wrong == {}


def _faults_as_it_is(case: Fires) -> list[str]:
    from doctor.case import Case

    diagnosis = diagnosed(case.text)
    picture = Case(diagnosis.facts, bundled())
    minor = ".".join(picture.python.version.split(".")[:2]) if picture.python else None
    shown = (
        diagnosis.verdict.prescription[0].platform if diagnosis.verdict.prescription else ""
    )  # pip's list of releases can show that it is a Mac
    platform = picture.platform or ("macos" if shown == "macos" else "linux")
    said = [instruction(step) for f in diagnosis.findings for step in f.prescription]
    return [
        *(f"says no request: {words}" for words in said if NO_REQUEST.match(words)),
        *(
            w
            for f in diagnosis.findings
            for w in faults_of_finding(f, bundled(), platform=platform, python=minor)
        ),
    ]


def test_steps_for_an_unknown_gpu_ask_for_its_name() -> None:
    case = next(case for case in FIRES if case.situation == "code that is asked for")
    facts = moved(
        diagnosed(case.text).facts, platform="wsl", release="2.20.0", python="3.13", environments=()
    )
    diagnosis = diagnose(facts, bundled())
    assert not [s for s in diagnosis.skipped if "failed" in s.reason]
    assert "plan --gpu" in diagnosis.verdict.prescription[0].text


# --- the check itself finds what is wrong


@each(
    "step, platform, version, fault",
    [
        (shell(Literal('python3 -c "print(1)')), "linux", None, "no command that a shell can read"),
        (shell(Literal("export A=1")), "windows", None, "command of another system"),
        (shell(Literal("pip install 'tensorflow[and-cuda]'")), "windows", None, "do not read as meant"),
        (shell(Literal('pip install "tensorflow[and-cuda]"')), "windows", "3.11", "CUDA extra on windows"),
        (shell(Literal("pip install 'tensorflow[and-cuda]==2.10.1'")), "linux", "3.10", "which has none"),
        (
            shell(Literal("pip install 'tensorflow[and-cuda]==2.15.0'")),
            "linux",
            "3.10",
            "cannot be installed",
        ),
        (shell(Literal("pip install tensorflow==2.10.1")), "linux", "3.12", "no such wheel"),
        (shell(Literal("pip install tensorflow-gpu==2.12.0")), "linux", "3.10", "no such wheel"),
        (shell(Literal("pip install nvidia-cudnn-cu12==1.2.3")), "linux", "3.10", "no wheel of the tables"),
        (
            shell(Literal("conda install -c defaults cudatoolkit=10.0 cudnn=8.1")),
            "linux",
            None,
            "do not know",
        ),
        (shell(Literal("uv venv --python 3.7 tf-env")), "linux", None, "which it has not"),
        (shell(Literal("sudo reboot"), platform="linux"), "windows", None, "is for linux"),
        (python("config = tf.ConfigProto("), "linux", None, "does not compile"),
    ],
    ids=lambda value: value.text if hasattr(value, "text") else None,
)
def test_the_check_finds_wrong_steps(
    step: object, platform: str, version: str | None, fault: str, tables: Tables
) -> None:
    found = faults(step, tables, platform=platform, python=version)  # type: ignore[arg-type]
    assert fault in " ".join(found)


def test_the_check_accepts_good_steps(tables: Tables) -> None:
    good = [
        shell(Literal("pip install 'tensorflow[and-cuda]==2.20.0'")),
        shell(Literal("unset CUDA_VISIBLE_DEVICES")),
        python("x = 1"),
        manual("Restart the machine"),
    ]
    assert not [w for step in good for w in faults(step, tables, platform="linux", python="3.12")]
    assert parses("export A=\"$(printf '%s' 1)\"")


@pytest.mark.parametrize(
    "path", ["/tmp/$(id)/op.so", '/tmp/a"; id; "/op.so', "/tmp/a'); import os; ('/op.so", "/tmp/`id`/op.so"]
)
def test_a_path_in_a_report_adds_no_command(path: str) -> None:
    diagnosis = diagnosed(
        f"tensorflow.python.framework.errors_impl.NotFoundError: {path}: undefined symbol:"
        " _ZN10tensorflow8OpKernelE\n"
    )
    printed = [
        text
        for finding in diagnosis.findings
        for text in (finding.verify, *(step.text for step in finding.prescription))
    ]
    assert any("op.so" in text for text in printed)
    assert not [
        text for text in printed if "$(id)" in text or "`id`" in text or "; id" in text or "import os" in text
    ]
