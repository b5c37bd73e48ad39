"""Tests whether a build can be installed, and whether it finds the libraries that pip installs."""

from __future__ import annotations

from doctor.compat import Situation, installs_on, pip_cudnn, runs_with_pip_libraries
from doctor.tables import Tables
from tests.sampling import each

from .releases import release


@each(
    "version, python, verdict",
    [
        ("2.15.1", "3.11", "yes"),
        ("2.15.1", "3.12", "no"),
        ("2.16.1", "3.12", "yes"),
        ("2.20.0", "3.13", "yes"),
        ("2.21.0", "3.9", "no"),
        ("2.9.0", "3.11", "no"),
        ("2.0.0", "3.4", "no"),
        ("2.20.0", "3.14.0", "no"),
    ],
)
def test_wheel_for_this_python(tables: Tables, version: str, python: str, verdict: str) -> None:
    assert installs_on(release(tables, version), Situation(python=python), tables).verdict == verdict


def test_old_glibc_cannot_load_the_wheel(tables: Tables) -> None:
    newest = release(tables, "2.21.0")
    assert installs_on(newest, Situation(python="3.11", glibc="2.17"), tables).verdict == "no"
    assert installs_on(newest, Situation(python="3.11", glibc="2.27"), tables).verdict == "yes"


def test_glibc_is_that_of_the_python(tables: Tables) -> None:
    build = release(tables, "1.13.1", "tensorflow-gpu")
    assert installs_on(build, Situation(python="3.6", glibc="2.17"), tables).verdict == "yes"
    assert installs_on(build, Situation(python="3.7", glibc="2.17"), tables).verdict == "no"


def libraries(tables: Tables, version: str, *capabilities: str, python: str = "3.10") -> str:
    situation = Situation(python=python, capabilities=capabilities)
    return runs_with_pip_libraries(release(tables, version), situation, tables).verdict


def test_2_16_1_does_not_find_what_pip_brings_and_2_16_2_does(tables: Tables) -> None:
    assert libraries(tables, "2.16.1", "8.6") == "no"
    assert libraries(tables, "2.16.2", "8.6") == "yes"


def test_2_21_0_does_not_find_cusolver_and_says_how_to_help(tables: Tables) -> None:
    answer = runs_with_pip_libraries(release(tables, "2.21.0"), Situation(capabilities=("8.6",)), tables)
    assert answer.verdict == "no"
    assert "libcusolver.so.11" in answer.reason
    assert "nvidia/cusolver/lib" in answer.cure
    assert "LD_LIBRARY_PATH" in answer.cure


def test_extra_of_2_15_0_cannot_be_installed(tables: Tables) -> None:
    assert libraries(tables, "2.15.0", "8.6") == "no"
    assert libraries(tables, "2.15.1", "8.6") == "yes"


def test_extra_of_2_14_has_no_tensorrt_for_python_3_11(tables: Tables) -> None:
    assert libraries(tables, "2.14.1", "8.6", python="3.11") == "no"
    assert libraries(tables, "2.14.1", "8.6", python="3.10") == "yes"


def test_build_without_the_extra_says_so(tables: Tables) -> None:
    answer = runs_with_pip_libraries(release(tables, "2.13.0"), Situation(), tables)
    assert answer.verdict == "no"
    assert "2.14" in answer.reason


def test_open_cudnn_range_gives_pascal_and_volta_a_cudnn_without_kernels(tables: Tables) -> None:
    for capability in ("6.1", "7.0"):
        answer = runs_with_pip_libraries(
            release(tables, "2.20.0"), Situation(capabilities=(capability,)), tables
        )
        assert answer.verdict == "no"
        assert "nvidia-cudnn-cu12" in answer.cure
    assert libraries(tables, "2.20.0", "7.5") == "yes"
    assert libraries(tables, "2.19.1", "6.1") == "yes"


def test_pip_takes_the_newest_cudnn_that_the_extra_allows(tables: Tables) -> None:
    pinned = pip_cudnn(release(tables, "2.15.1"), tables)
    assert pinned is not None
    assert pinned.version == "8.9.4.25"
    newest = pip_cudnn(release(tables, "2.20.0"), tables)
    assert newest is not None
    assert newest.version == max(
        (row.version for row in tables.cudnns() if row.package == "nvidia-cudnn-cu12"),
        key=lambda v: [int(n) for n in v.split(".")],
    )
    for_pascal = pip_cudnn(release(tables, "2.20.0"), tables, ("6.1",))
    assert for_pascal is not None
    assert for_pascal.version == "9.10.2.21"
