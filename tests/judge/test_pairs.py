"""Tests reports that do not name a TensorFlow release, but name parts that no release uses together."""

from __future__ import annotations

import pytest

from doctor import api
from doctor.case import Case
from doctor.findings import Part
from doctor.judge import compatibility
from doctor.logs import read
from doctor.tables import Tables


def misfits(text: str) -> list[Part]:
    case = Case(read(text.encode(), "-"), Tables.bundled())
    return [part for part in compatibility.parts(case) if part.fits is False]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Will it run on my notebook with a GTX 460M, Ubuntu 18.04?\n", "gpu-arch-too-old"),
        ("Is my GTX 765M used? Ubuntu 18.04, the speed is that of the CPU.\n", "gpu-arch-too-old"),
        ("Windows 10, GeForce RTX 3080, CUDA: 10.0. The training gives nonsense.\n", "gpu-arch-too-new"),
        ("Tesla K80, CUDA 9.1, pip install tensorflow-gpu. The GPU isn't used.\n", "cuda-version-mismatch"),
        ("GTX 1070, driver 590.44.01, Arch. TensorFlow sees no GPU.\n", "driver-too-new"),
    ],
)
def test_what_no_release_cures_is_a_misfit(text: str, code: str) -> None:
    found = misfits(text)
    assert [part.code for part in found] == [code]
    assert all(part.evidence and part.tables for part in found)
    assert api.explain(text).verdict.code == code


@pytest.mark.parametrize(
    "text",
    [
        "GTX 765M, Ubuntu 14.04. The training is slow.\n",
        "Windows 10, GeForce RTX 3080, CUDA: 11.0. The training is slow.\n",
        "Tesla K80, CUDA 9.0, pip install tensorflow-gpu. It is slow.\n",
        "GTX 1070, driver 580.95.05, Arch. TensorFlow is slow.\n",
        "Tesla K80, CUDA 9.1 in a conda environment. The training is slow.\n",
        "dso_loader.cc:44] Successfully opened dynamic library libcudart.so.10.2\n",
    ],
)
def test_what_some_release_takes_fits(text: str) -> None:
    assert misfits(text) == []
