"""Tests the choice of the newest build that meets a request."""

from __future__ import annotations

import pytest

from doctor.compat import Answer, Situation, judge, newest
from doctor.compat.choose import candidates
from doctor.plan.version_request import newest_final
from doctor.tables import Tables

from .releases import release

CASES = [
    (
        "RTX 3080, driver 535, Python 3.11",
        Situation(python="3.11", capabilities=("8.6",), driver="535.183.01"),
        "2.20.0",
    ),
    ("GTX 1080, Python 3.12", Situation(python="3.12", capabilities=("6.1",), driver="535.183.01"), "2.20.0"),
    ("GTX 970, Python 3.10", Situation(python="3.10", capabilities=("5.2",)), "2.16.2"),
    ("K80, Python 3.9", Situation(python="3.9", capabilities=("3.7",), driver="470.256.02"), "2.14.1"),
    ("H100, driver 535", Situation(python="3.11", capabilities=("9.0",), driver="535.104.05"), "2.16.2"),
    ("H100, driver 555", Situation(python="3.11", capabilities=("9.0",), driver="555.42.06"), "2.20.0"),
    ("RTX 3080, driver 470", Situation(python="3.10", capabilities=("8.6",), driver="470.256.02"), "2.14.1"),
    (
        "CUDA 10.1, cuDNN 7.6",
        Situation(python="3.8", capabilities=("7.5",), cuda="10.1", cudnn="7.6.5"),
        "2.3.4",
    ),
    (
        "CUDA 11.2, cuDNN 8.1",
        Situation(python="3.8", capabilities=("7.5",), cuda="11.2", cudnn="8.1.1"),
        "2.11.1",
    ),
    ("CUDA 11.0", Situation(python="3.8", capabilities=("8.0",), cuda="11.0", cudnn="8.0.5"), "2.4.4"),
    ("CUDA 10.0", Situation(python="3.7", capabilities=("7.0",), cuda="10.0", cudnn="7.6.5"), "2.0.4"),
    ("CUDA 9.0", Situation(python="3.6", capabilities=("6.1",), cuda="9.0"), "1.12.0"),
    (
        "Windows",
        Situation(platform="windows-amd64", python="3.10", capabilities=("8.9",), driver="551.23"),
        "2.10.1",
    ),
    ("Pascal and Ampere in one machine", Situation(python="3.11", capabilities=("8.6", "6.1")), "2.20.0"),
]


@pytest.mark.parametrize(
    ("situation", "version"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_newest_build_that_works(tables: Tables, situation: Situation, version: str) -> None:
    found = newest(tables, situation)
    assert found is not None
    assert found.build.version == version, found.overall.reason
    pinned = found.overall.cure.startswith("pip install ")  # pins a cuDNN version that supports the GPU
    assert found.overall.verdict in ("yes", "unknown") or pinned


@pytest.mark.parametrize(
    ("situation", "version"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_no_newer_build_runs_without_help(tables: Tables, situation: Situation, version: str) -> None:
    """For every build that was not chosen, a row of the tables contains the reason."""
    for judged in candidates(tables, situation):
        if judged.build.version == version:
            return
        from dataclasses import replace

        pip = judge(judged.build, replace(situation, route="pip-and-cuda"), tables)
        worst = judged.overall if situation.cuda else pip.overall
        assert worst.verdict != "yes", judged.build.ref
        assert worst.rows


def test_blackwell_gets_the_build_that_can_compile_for_it_with_its_cure(tables: Tables) -> None:
    found = newest(tables, Situation(python="3.11", capabilities=("12.0",), driver="570.86.10"))
    assert found is not None
    assert found.build.version == newest_final(tables)
    assert found["gpu"].verdict == "slow"
    assert found.overall.cure


def test_windows_has_nothing_for_python_3_11(tables: Tables) -> None:
    assert newest(tables, Situation(platform="windows-amd64", python="3.11", capabilities=("8.9",))) is None


def test_aarch64_and_macos_have_no_gpu_build(tables: Tables) -> None:
    for platform in ("linux-aarch64", "macos-arm64"):
        assert newest(tables, Situation(platform=platform)) is None


def test_kepler_without_a_given_driver_is_held_to_its_last_branch(tables: Tables) -> None:
    judged = judge(release(tables, "2.14.1"), Situation(capabilities=("3.7",)), tables)
    assert judged["driver"].verdict == "yes"


def test_question_that_the_situation_leaves_open_is_not_answered(tables: Tables) -> None:
    judged = judge(release(tables, "2.20.0"), Situation(python="3.11"), tables)
    assert [aspect for aspect, _ in judged.answers] == ["install"]
    assert "cuda" not in judged


def test_answer_needs_a_known_verdict_and_a_reason() -> None:
    with pytest.raises(ValueError, match="verdict"):
        Answer("maybe", "because")
    with pytest.raises(ValueError, match="reason"):
        Answer("no", "")
