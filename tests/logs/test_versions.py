"""Tests versions in all the ways in which people and programs write them."""

from __future__ import annotations

import pytest

from doctor.case import Case
from doctor.diagnose import diagnose
from doctor.facts import DriverCuda
from doctor.logs import read
from doctor.tables import Tables
from tests.sampling import each

MARKDOWN_TABLE = """| Part | Installed | |
|---|---|---|
| NVIDIA driver | 570.86.15 | yes |
| **TensorFlow** | 2.19.0 | yes |
| CUDA Runtime | 12.5.1 | yes |
| cuDNN | 9.3.0.75 | yes |
| Python version | 3.12.3 | |
"""
NEEDED_TABLE = """| Part | Needed | |
|---|---|---|
| NVIDIA driver | 525.60 or later | |
| CUDA | 11.8+ | |
| cuDNN | 8.6 and later | |
"""
CONDA_LIST = """# Name                    Version                   Build  Channel
cudatoolkit               11.3.1               h2bc3f7f_2
cudnn                     8.2.1                cuda11.3_0
python                    3.9.12               h12debd9_0
tensorflow                2.6.0           gpu_py39he88c5ba_0
"""
CUDNN_HEADER = """$ grep CUDNN_MAJOR -A 2 /usr/include/cudnn_version.h
#define CUDNN_MAJOR 8
#define CUDNN_MINOR 4
#define CUDNN_PATCHLEVEL 1
"""


def stated(text: str) -> dict[str, str]:
    picture = Case(read(text.encode(), "report"), Tables.bundled())
    names = ("tensorflow", "python", "cuda", "cudnn", "driver")
    found = {name: getattr(picture, name) for name in names}
    return {name: fact.version for name, fact in found.items() if fact is not None}


@each(
    "text, versions",
    [
        (
            MARKDOWN_TABLE,
            {
                "tensorflow": "2.19.0",
                "python": "3.12.3",
                "cuda": "12.5.1",
                "cudnn": "9.3.0.75",
                "driver": "570.86.15",
            },
        ),
        (NEEDED_TABLE, {}),
        (CONDA_LIST, {"tensorflow": "2.6.0", "python": "3.9.12", "cuda": "11.3.1", "cudnn": "8.2.1"}),
        (CUDNN_HEADER, {"cudnn": "8.4.1"}),
        ("TF: 2.18.0 Python: 3.11.13 (main, Jun  4 2025)\n", {"tensorflow": "2.18.0", "python": "3.11.13"}),
        ("2.4.0-dev20200705\n", {"tensorflow": "2.4.0.dev20200705"}),
        (
            "macOS 12.6, tensorflow-macos 2.11.0, Python 3.9.13\n",
            {"tensorflow": "2.11.0", "python": "3.9.13"},
        ),
        (
            "| NVIDIA-SMI 460.73.01    Driver Version: 460.73.01    CUDA Version: 11.2",
            {"driver": "460.73.01"},
        ),
        ("| NVIDIA-SMI 580.95.02    KMD Version: 581.42    CUDA Version: 13.0  |\n", {"driver": "581.42"}),
        (
            "In March I upgraded tensorflow to 1.6, then reinstalled cuda to 9.2\n",
            {"tensorflow": "1.6", "cuda": "9.2"},
        ),
        ("TF 2.10 works on my GPU, in 2.12 the list is empty\n", {"tensorflow": "2.12"}),
        (
            "With TF 2.15.0 my venv finds the GPU. A new one with TF 2.16.1 does not.\n",
            {"tensorflow": "2.16.1"},
        ),
        ("TF 2.3 works on the CPU only, a TF 2.4 from conda does not\n", {"tensorflow": "2.3"}),
        ("Tried my GPU with TF 2.10, it works\n", {"tensorflow": "2.10"}),
        ("TF 2.10 works on my GPU in 2.5 minutes\n", {"tensorflow": "2.10"}),
        ("The server has CUDA 11. It came with cudnn 8.\n", {"cuda": "11", "cudnn": "8"}),
        ("You should upgrade tensorflow to 2.4 first\n", {}),
        ("This is why CUDA 11.2 was not installed\n", {}),
        ("CUDA 11.2 isn't there, CUDA 11.8 is installed\n", {"cuda": "11.8"}),
        (
            "2025-03-03 10:00:00.000000: I "
            "external/local_xla/xla/stream_executor/cuda/cuda_diagnostics.cc:197] found DLL info with "
            "resolved path: /usr/lib64/libcuda.so.550.90.07\n",
            {"driver": "550.90.07"},
        ),
        (
            "2025-03-03 10:00:00.000000: I "
            "external/local_xla/xla/stream_executor/cuda/cuda_diagnostics.cc:197] found DLL info with "
            "resolved path: /usr/lib64/libcuda.so.1\n",
            {},
        ),
        (
            "- Cudnn (from conda) 7.6.5\n- Cudatoolkit (from conda) 10.1.243\n",
            {"cuda": "10.1.243", "cudnn": "7.6.5"},
        ),
        ("Tensorflow-gpu 1.4, CUDA v.8\n", {"tensorflow": "1.4", "cuda": "8"}),
        ("NVRM version:   515.65.01\nCUDA version:   11.7\n", {"driver": "515.65.01"}),
        ("видеокарта GTX 1660, драйвер 456.71, CUDA 10.1\n", {"cuda": "10.1", "driver": "456.71"}),
    ],
)
def test_versions_are_read_from(text: str, versions: dict[str, str]) -> None:
    assert stated(text) == versions


def test_a_cudnn_header_does_not_show_that_the_gpu_is_used() -> None:
    assert diagnose(read(CUDNN_HEADER.encode(), "report"), Tables.bundled()).verdict.code != "healthy"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('VERSION="18.04.3 LTS (Bionic Beaver)"\nVERSION_ID="18.04"\n', "Ubuntu 18.04.3 LTS (Bionic Beaver)"),
        ('> VERSION="10 (buster)"\n', "Debian 10 (buster)"),
        ('VERSION="7 (Core)"\n', "CentOS Linux 7 (Core)"),
        ("My laptop has ubantu 18.04\n", "ubantu 18.04"),
        ("SUSE Linux Enterprise Server 15 SP3\n", "SUSE Linux Enterprise Server 15 SP3"),
        ("It runs in a VM on Proxmox 8\n", "Proxmox 8"),
    ],
)
def test_a_distribution_is_recognised_by_its_version_and_by_a_misspelt_name(text: str, name: str) -> None:
    system = Case(read(text.encode(), "report"), Tables.bundled()).os
    assert system is not None
    assert system.name == name
    assert Case(read(text.encode(), "report"), Tables.bundled()).platform == "linux"


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("See https://blog.example/posts/install-tensorflow-2.4.0-on-ubuntu.html\n", {}),
        (
            (
                "pip install"
                " https://wheels.example/linux/gpu/tensorflow_gpu-1.13.1-cp37-cp37m-linux_x86_64.whl\n"
            ),
            {"tensorflow": "1.13.1", "python": "3.7"},
        ),
        ("> Driver 535.54.03\n", {"driver": "535.54.03"}),
        ("It wants a driver >= 535.54.03\n", {}),
    ],
    ids=["a page's address", "a wheel's address", "a quotation", "a comparison"],
)
def test_versions_in_urls_quotations_and_comparisons(text: str, versions: dict[str, str]) -> None:
    assert stated(text) == versions


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Will it use my GPU? It's a 3090.\n", ["3090"]),
        ("we have two 2080 Ti in the machine\n", ["2080 Ti"]),
        ("my 1080 images, with 2080 steps, have 3080x2160 pixels and took 3090 ms\n", []),
    ],
)
def test_a_card_that_somebody_owns_is_recognised_by_its_number(text: str, names: list[str]) -> None:
    assert [gpu.name for gpu in Case(read(text.encode(), "report"), Tables.bundled()).gpus] == names


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("驱动最近升级到了 451.48，对应的CUDA版本是11.0\n", ["11.0"]),
        ("The driver 525.60 supports CUDA 12.0 at most\n", ["12.0"]),
        ("The driver is new, and TensorFlow 2.4 wants CUDA 11.0\n", []),
    ],
)
def test_the_cuda_that_a_driver_offers_is_read_from_a_sentence(text: str, offered: list[str]) -> None:
    assert [fact.version for fact in read(text.encode(), "report").of(DriverCuda)] == offered
