"""Tests that CUDA 11 for a TensorFlow release without the extra and-cuda comes from NVIDIA's packages, as in
`plan`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.diagnose import diagnose
from doctor.facts import Fact, Platform, Source
from doctor.logs import read
from doctor.tables import Tables
from tests.plan.contexts import first, outcome

REPORT = """TensorFlow version: {version}
Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object \
file: No such file or directory
Could not load dynamic library 'libcublas.so.11'; dlerror: libcublas.so.11: cannot open shared object file: \
No such file or directory
Cannot dlopen some GPU libraries. Skipping registering GPU devices...
"""


def prescribed(tables: Tables, version: str, *more: Fact) -> list[str]:
    facts = read(REPORT.format(version=version).encode(), "report.txt")
    verdict = diagnose(replace(facts, items=(*more, *facts)), tables).findings[0]
    return [step.text for step in verdict.prescription]


@pytest.mark.parametrize("version", ["2.5.0", "2.10.1", "2.13.1"])
def test_cuda_11_comes_from_the_packages_that_plan_names(tables: Tables, version: str) -> None:
    pins = [
        pin.requirement
        for pin in first(outcome(tables, f"=={version}")).candidate.pins
        if pin.requirement.startswith("nvidia-")
    ]
    steps = prescribed(tables, version)
    assert len(pins) == 7
    assert all(pin in steps[0] for pin in pins)
    assert "os.symlink" in steps[1], "links work in every shell"
    assert "libcudnn.so.8" in steps[1]
    assert any("CUDA Toolkit" in step for step in steps), "the other ways remain"


def test_2_4_loads_a_library_that_no_package_contains(tables: Tables) -> None:
    assert not any("nvidia-cublas-cu11" in step for step in prescribed(tables, "2.4.1"))


def test_windows_has_no_such_packages(tables: Tables) -> None:
    assert not any(
        "nvidia-cublas-cu11" in step
        for step in prescribed(tables, "2.10.1", Platform(Source("stated"), "windows", "x86_64"))
    )
