"""Tests reports about several set-ups: each has its own versions, and the difference shows the cause."""

from __future__ import annotations

from doctor import api
from tests.sampling import each

PIP = (
    "Same notebook in the office and on my laptop, both GTX 1070, driver 570.133.07, Python 3.12. In the"
    " office it trains; on the laptop the first convolution ends with an error.\n\n"
    "office:\nnvidia-cudnn-cu12  9.10.2.21\ntensorflow  2.20.0\n\n"
    "laptop:\nnvidia-cudnn-cu12  9.14.0.64\ntensorflow  2.20.0\n"
)
NODES = (
    "One conda environment for both queues: tensorflow 2.10.0 from pip, cudatoolkit 11.2, cudnn 8.1.\n"
    "queue a: Tesla V100, Driver Version: 460.32.03\n"
    "queue b: Tesla V100, Driver Version: 418.67\n"
    "The job uses the GPU in queue a, and in queue b it computes on the CPU.\n"
)
VENVS = (
    "RTX 3080, driver 510.108.03, Ubuntu 20.04, Python 3.9\n"
    "env one: tensorflow 2.11.1 with CUDA 11.2 and cuDNN 8.1 -> GPU\n"
    "env two: tensorflow[and-cuda]==2.18.0 -> no GPU\n"
)
RELEASES = (
    "Ubuntu 20.04, RTX 3060, driver 470.182.03, Python 3.10.\nMy old project in a venv has tensorflow 2.9.1"
    " and uses the card every day.\npip install 'tensorflow[and-cuda]==2.15.1' in a new venv: no GPU.\n"
)
WINDOWS = (
    "Windows 10, RTX 3050, driver 536.67, two conda environments.\n"
    "first: tensorflow 2.10.1, cudatoolkit 11.2.2, cudnn 8.1.0.77\n"
    "second: tensorflow 2.13.0, cudatoolkit 11.8.0, cudnn 8.8.0.121\n"
    "In the first the GPU is listed, in the second the list is empty.\n"
)
PYTHONS = (
    'poetry install stops at tensorflow = "2.15.0".\nold laptop: Ubuntu 22.04, Python 3.10.12\n'
    "new laptop: Ubuntu 24.04, Python 3.12.3\n"
)


@each(
    "text, code",
    [
        (RELEASES, "driver-too-old"),
        (WINDOWS, "tf-windows-native"),
        (PYTHONS, "tf-no-wheel"),
        (PIP, "cudnn-version-mismatch"),  # cuDNN 9.11 and later has no code for Pascal
        (NODES, "driver-too-old"),
        (VENVS, "driver-too-old"),
    ],
)
def test_the_part_that_differs_and_does_not_fit_is_the_cause(text: str, code: str) -> None:
    assert api.explain(text).verdict.code == code


def test_two_set_ups_that_both_fit_have_no_misfit() -> None:
    report = api.explain(PIP.replace("9.14.0.64", "9.8.0.87"))
    assert all(row["fits"] is not False for row in report.to_dict()["compatibility"])


@each(
    "text, cuda",
    [
        (
            "WSL: TensorFlow 2.15.1 from pip. My old Windows env (TF 2.10, CUDA 11.2) is faster.\n",
            None,
        ),
        ("One env has TensorFlow 2.10, CUDA 11.2; the other has TensorFlow 2.4, CUDA 11.0.\n", "11.2"),
    ],
)
def test_the_cuda_of_another_release_is_not_that_of_the_case(text: str, cuda: str | None) -> None:
    facts = api.explain(text).to_dict()["facts"]
    assert facts.get("cuda", {"value": None})["value"] == cuda


def test_a_driver_that_is_too_old_is_not_also_too_new() -> None:
    report = api.explain(NODES)
    assert "driver-too-new" not in {other["code"] for other in report.to_dict()["alternatives"]}


def test_the_loader_s_path_decides_among_several_toolkits() -> None:
    report = api.explain(
        "nvcc --version: release 12.1, V12.1.105\nLD_LIBRARY_PATH=/usr/local/cuda-11.8/lib64\n"
        "TensorFlow 2.12.1, Python 3.10, cuDNN 8.6.0. The GPU is there and busy; is the nvcc a problem?\n"
    )
    assert report.to_dict()["facts"]["cuda"]["value"] == "11.8"
    assert all(row["fits"] is not False for row in report.to_dict()["compatibility"])


OF_PIP = (
    "$ pip list\ntensorflow 2.13.0\nnvidia-cublas-cu11 11.11.3.6\nnvidia-cuda-runtime-cu11 11.8.89\n"
    "nvidia-cudnn-cu11 8.6.0.163\n\nPython 3.10 on Ubuntu, RTX 3060, driver 535.86.\n"
    "The list of GPUs is empty.\n"
)


def test_pip_s_libraries_do_not_help_a_build_that_searches_only_its_own_folder() -> None:
    verdict = api.explain(OF_PIP).verdict
    assert verdict.code == "library-path"
    assert any("os.symlink" in step.text for step in verdict.prescription)


def test_a_search_path_may_lead_to_pip_s_libraries() -> None:
    led = f"{OF_PIP}LD_LIBRARY_PATH=/opt/venv/lib/python3.10/site-packages/nvidia/cudnn/lib\n"
    fits = {part["part"]: part["fits"] for part in api.explain(led).to_dict()["compatibility"]}
    assert fits["cuda"] is not False


def test_the_cudnn_of_an_image_is_in_its_environment() -> None:
    report = (
        "FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04\nRUN pip install tensorflow==2.17.0\n\n"
        "$ env\nNV_CUDNN_VERSION=9.1.0.70-1\n\nThe list of GPUs is empty.\n"
    )
    assert api.explain(report).verdict.code == "cudnn-version-mismatch"
