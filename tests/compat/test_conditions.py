"""Tests the conditions that decide an answer, each with a build on either side of the condition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.compat import Situation, driver_minimum, judge, runs_on_gpu, runs_with_pip_libraries
from doctor.compat.software import cuda_of
from doctor.tables import DriverFloor, Tables

from .releases import release

HERE = Situation(platform="linux-x86_64")


def floor(tables: Tables, version: str, capability: str) -> DriverFloor:
    row = driver_minimum(release(tables, version), tables, "linux", (capability,)).rows[-1]
    assert isinstance(row, DriverFloor)
    return row


def test_a_gpu_that_needs_the_builds_ptx_needs_a_driver_that_compiles_it(tables: Tables) -> None:
    """2.15.1 has machine code up to 8.6, and PTX for newer GPUs. The version of the PTX is that of the CUDA
    toolkit with which the release was built."""
    machine, ptx = floor(tables, "2.15.1", "8.6"), floor(tables, "2.15.1", "9.0")
    assert (machine.rule, ptx.rule) == ("minor-version", "ptx")
    assert [int(n) for n in ptx.driver.split(".")] > [int(n) for n in machine.driver.split(".")]


def test_the_cuda_of_a_build_that_does_not_state_it_is_the_first_with_its_runtime(tables: Tables) -> None:
    build = replace(release(tables, "2.18.1"), cuda=None)
    cuda, rows = cuda_of(build, tables)
    assert cuda == "12.0"
    runtime = tables.library("libcudart.so.12")
    assert runtime is not None
    assert [row.ref for row in rows] == [build.ref, runtime.ref]


def test_a_build_that_states_no_cuda_and_opens_no_runtime_has_none_that_is_known(tables: Tables) -> None:
    build = replace(release(tables, "2.18.1"), cuda=None, libraries=("libcudnn.so.9", "libnosuch.so.1"))
    assert cuda_of(build, tables) == (None, (build,))


@pytest.mark.parametrize(("capability", "verdict"), [("3.5", "no"), ("7.0", "yes")])
def test_a_gpu_whose_last_driver_is_too_old_for_the_build_is_refused_before_any_driver_is_named(
    tables: Tables, capability: str, verdict: str
) -> None:
    """R470 was the last branch for Kepler, and CUDA 12 needs 525."""
    answer = judge(release(tables, "2.18.1"), replace(HERE, capabilities=(capability,)), tables)["driver"]
    assert answer.verdict == verdict
    assert ("needs driver 525.60.13; " in answer.reason) == (verdict == "no")


@pytest.mark.parametrize(("missed", "verdict"), [("libcudnn.so.9", "no"), ("libnccl.so.2", "yes")])
def test_library_that_is_not_found_matters_only_if_the_gpu_needs_it(
    tables: Tables, missed: str, verdict: str
) -> None:
    build = replace(release(tables, "2.18.1"), pip_libraries_missed=(missed,))
    answer = runs_with_pip_libraries(build, HERE, tables)
    assert answer.verdict == verdict
    assert ("nvidia/cudnn/lib" in answer.cure) == (verdict == "no")


def test_ptx_is_slow_and_names_the_driver_if_its_version_is_known(tables: Tables) -> None:
    build = release(tables, "2.15.1")
    assert build.compute_capabilities is not None
    hopper = replace(HERE, capabilities=("9.0",))
    read = runs_on_gpu(build, hopper, tables)
    assert (read.verdict, "driver for CUDA" in read.reason) == ("slow", True)
    assert runs_on_gpu(build, replace(hopper, driver="450.80.02"), tables).verdict == "no"
    unread = replace(build, compute_capabilities=replace(build.compute_capabilities, ptx_isa={}))
    answer = runs_on_gpu(unread, replace(hopper, driver="450.80.02"), tables)
    assert (answer.verdict, answer.rows) == ("slow", (unread,))
