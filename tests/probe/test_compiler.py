"""Tests the search for XLA's compiler tools, with each way to install CUDA. Some ways do not install the
tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.probe.machines import CUDA, Folder
from tests.probe.test_verdicts import LIB, codes, with_toolkit, with_wheels

NVCC = "/opt/venv/lib/python3.11/site-packages/nvidia/cuda_nvcc"


def tools(machine: Folder, root: str) -> Folder:
    return machine.write(f"{root}/bin/ptxas", "").write(f"{root}/nvvm/libdevice/libdevice.10.bc", "BC")


def conda(machine: Folder, *packages: str) -> Folder:
    """TensorFlow from pip with CUDA from conda, as TensorFlow's guide recommended up to 2.13."""
    machine.working_gpu().conda().tensorflow("2.15.1").env(LD_LIBRARY_PATH="/opt/conda/lib", PATH="/usr/bin")
    for name in CUDA["12.2"]:
        machine.cuda_library("/opt/conda/lib", name, "12.2")
    for package in ("cuda-cudart-12.2.140-0", "libcublas-12.2.5.6-0", *packages):
        machine.write(f"/opt/conda/conda-meta/{package}.json", "{}")
    return machine.cudnn("8.9.4", "/opt/conda/lib")


def runtime_of_apt(machine: Folder, *packages: str) -> Folder:
    with_toolkit(machine.working_gpu(), "2.15.1")
    names = ("cuda-cudart-12-2", "libcublas-12-2", *packages)
    rows = (f"Package: {name}\nStatus: install ok installed\nVersion: 12.2.140-1\n\n" for name in names)
    return machine.write("/var/lib/dpkg/status", "".join(rows))


def beside_torch(machine: Folder) -> Folder:
    with_wheels(machine.working_gpu(), "2.15.1")
    return machine.package("torch", "2.2.0")


def debian(machine: Folder, **variables: str) -> Folder:
    """Debian's nvidia-cuda-toolkit: ptxas is on PATH, but libdevice is in a folder that XLA does not
    search."""
    machine.working_gpu().python().tensorflow("2.15.1").write("/usr/bin/ptxas", "")
    for name in CUDA["12.2"]:
        machine.cuda_library(LIB, name, "12.2")
    machine.write("/usr/lib/cuda/nvvm/libdevice/libdevice.10.bc", "BC").cudnn("8.9.4", LIB)
    return machine.env(PATH="/usr/bin:/bin", **variables)


def beyond_the_search(machine: Folder) -> Folder:
    """The compiler tools from pip, with a TensorFlow release that searches only the CUDA toolkit for them."""
    machine.working_gpu().python().tensorflow("2.13.1").toolkit("11.8").cudnn("8.6.0", LIB)
    machine.in_loader_cache("/usr/local/cuda-11.8/lib64").env(PATH="/usr/bin:/bin")
    return tools(machine.package("nvidia-cuda-nvcc-cu11", "11.8.89"), NVCC)


def half_a_toolkit(machine: Folder) -> Folder:
    """A toolkit that contains only one of the two tools."""
    return runtime_of_apt(machine).write("/opt/cuda/bin/ptxas", "").env(PATH="/usr/bin")


LACKING: dict[str, tuple[str, Callable[[Folder], Folder]]] = {
    "conda without cuda-nvcc": ("cuda-nvcc=12.2", conda),
    "apt's run time": ("nvidia-cuda-nvcc-cu12", runtime_of_apt),
    "a toolkit without its compiler": (
        "nvidia-cuda-nvcc-cu12",
        lambda m: with_toolkit(m.working_gpu(), "2.15.1").write("/usr/local/cuda-12.2/bin/cuda-gdb", ""),
    ),
    "the wheels of torch": ("nvidia-cuda-nvcc-cu12", beside_torch),
    "Debian's toolkit": ("--xla_gpu_cuda_data_dir=/usr/lib/cuda", debian),
    "conda's compiler that XLA does not know": (
        "--xla_gpu_cuda_data_dir=/opt/conda",
        lambda m: tools(conda(m, "cuda-nvcc-12.2.140-0"), "/opt/conda"),
    ),
    "pip's compiler that 2.13 does not look for": (f"--xla_gpu_cuda_data_dir={NVCC}", beyond_the_search),
    "a toolkit of another folder that has ptxas alone": ("nvidia-cuda-nvcc-cu12==12.2.140", half_a_toolkit),
    "other flags for XLA": (
        '"$XLA_FLAGS --xla_gpu_cuda_data_dir=',
        lambda m: runtime_of_apt(m).env(XLA_FLAGS="--xla_dump_to=/tmp/hlo --xla_gpu_cuda_data_dir=/nowhere"),
    ),
    "a toolkit of another folder": (
        "--xla_gpu_cuda_data_dir=/opt/cuda",
        lambda m: tools(runtime_of_apt(m), "/opt/cuda").env(PATH="/usr/bin"),
    ),
}


@pytest.mark.parametrize("name", LACKING)
def test_a_machine_without_the_compiler_of_xla_is_warned(name: str, tmp_path: Path) -> None:
    cure, make = LACKING[name]
    diagnosis = make(Folder(tmp_path)).diagnosis()
    assert [(f.code, f.severity) for f in diagnosis.findings] == [("xla-toolchain-missing", "warning")]
    assert any(cure in step.text for step in diagnosis.verdict.prescription), diagnosis.verdict.prescription


WHOLE: dict[str, Callable[[Folder], Folder]] = {
    "pip's compiler": lambda m: tools(with_wheels(m.working_gpu(), "2.15.1"), NVCC),
    "pip's compiler, its files not copied": (
        lambda m: with_wheels(m.working_gpu(), "2.15.1").package("nvidia-cuda-nvcc-cu12", "12.2.140")
    ),
    "conda's compiler and XLA_FLAGS": (
        lambda m: tools(conda(m), "/opt/conda").env(XLA_FLAGS="--xla_gpu_cuda_data_dir=/opt/conda")
    ),
    "a toolkit in /usr/local/cuda": lambda m: tools(runtime_of_apt(m), "/usr/local/cuda"),
    "a toolkit in the folder of the build": lambda m: tools(runtime_of_apt(m), "/usr/local/cuda-12.2"),
    "apt's compiler": lambda m: tools(runtime_of_apt(m, "cuda-nvcc-12-2"), "/usr/local/cuda-12.2"),
    "pip's compiler that 2.13 was shown": (
        lambda m: beyond_the_search(m).env(XLA_FLAGS=f"--xla_x=1 --xla_gpu_cuda_data_dir={NVCC}")
    ),
    "the driver's compiler asked for": (
        lambda m: beside_torch(m).env(XLA_FLAGS="--xla_gpu_unsafe_fallback_to_driver_on_ptxas_not_found")
    ),
    "2.10, which compiles only when asked": (
        lambda m: with_toolkit(m.working_gpu(), "2.10.0").write("/usr/local/cuda-11.2/bin/cuda-gdb", "")
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_no_warning_if_xla_finds_its_compiler_or_needs_none(name: str, tmp_path: Path) -> None:
    diagnosis = WHOLE[name](Folder(tmp_path)).diagnosis()
    assert codes(diagnosis) == ["healthy"]
    assert "compiler" not in diagnosis.verdict.explanation


def test_incomplete_files_are_reported_healthy_with_a_doubt(tmp_path: Path) -> None:
    diagnosis = with_wheels(Folder(tmp_path).working_gpu(), "2.15.1").diagnosis()
    assert codes(diagnosis) == ["healthy"]
    assert "not among the files" in diagnosis.verdict.explanation
