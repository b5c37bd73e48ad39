"""Tests reports that compare two runs, environments or states: the versions of the failing one count."""

from __future__ import annotations

from doctor import api
from doctor.case import Case
from doctor.logs import read
from doctor.tables import Tables
from tests.sampling import each


def tensorflow(text: str) -> str:
    known = Case(read(text.encode(), "-"), Tables.bundled()).tensorflow
    return known.version if known is not None else ""


@each(
    "text, failing",
    [
        ("PC 1 (works): CUDA 11.0, tensorflow 2.4.1\nPC 2: the same but tensorflow 2.6.0, no GPU.", "2.6.0"),
        ("PC 1 (geht): CUDA 11.0, tensorflow 2.4.1\nPC 2 (geht nicht): tensorflow 2.6.0", "2.6.0"),
        ("A: tensorflow 2.6.2, cudatoolkit 11.2 -> GPU found\nB: tensorflow 2.15.0 -> []", "2.15.0"),
        ("old env: tensorflow-gpu 2.2.0 -> trains on the GPU\nnew env: tensorflow 2.5.0 -> empty", "2.5.0"),
        ("Было: tensorflow 2.10.0, CUDA 11.2 — GPU работал.\nСтало: tensorflow 2.12.0, CUDA 11.8", "2.12.0"),
        ("before: tensorflow 1.12\nnow: tensorflow 1.14, the GPU is not used", "1.14"),
        (
            "The course of 2018 uses TensorFlow 1.8. My setup: Python 3.7, CUDA 10.1, tensorflow 2.2.0.",
            "2.2.0",
        ),
        ("`pip3 install tensorflow-gpu` m'a donné 1.2.1 et l'import échoue.", "1.2.1"),
        ("> tensorflow::tf_version()\n[1] '2.13'\n", "2.13"),
    ],
)
def test_the_failing_run_s_release_counts(text: str, failing: str) -> None:
    assert tensorflow(text) == failing


@each(
    "text, code",
    [
        (
            "FROM nvidia/cuda:12.3.1-base-ubuntu22.04\nRUN pip3 install tensorflow==2.16.2\n\n"
            "docker run --gpus all, nvidia-smi in it shows the A10. The list of devices has only the CPU.",
            "cuda-missing",
        ),
        (
            "FROM python:3.12-slim\nRUN pip install tensorflow==2.15.0\n\nThe build ends in the pip step.",
            "tf-no-wheel",
        ),
        (
            "FROM python:3.9-alpine\nRUN pip install tensorflow==2.11.0\n\nThe build ends in the pip step.",
            "tf-no-wheel",
        ),
        (
            "TensorFlow 2.13.0, CUDA 11.8, cudnn-linux-x86_64-8.9.7.29_cuda12-archive.tar.xz unpacked "
            "into it, RTX 3080. Conv2D ends with Aborted (core dumped).",
            "cudnn-version-mismatch",
        ),
        (
            "$ pip list\ntensorflow-cpu 2.8.0\ntensorflow-gpu 2.8.0\nkeras 2.8.0\n\nSince yesterday the list "
            "of GPUs is empty. RTX 2080, driver 470.103, CUDA 11.2, cuDNN 8.1.",
            "tf-conflicting-packages",
        ),
        (
            "AttributeError: module 'tensorflow' has no attribute 'test'\n$ ls\ndata.csv  tensorflow.py\n",
            "tf-import-failed",
        ),
    ],
)
def test_what_an_image_or_a_list_shows_decides(text: str, code: str) -> None:
    assert api.explain(text).verdict.code == code


IN_THE_SHELL = "GPUs: [PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]\n"
IN_THE_JOB = "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n"


def test_a_gpu_that_another_run_lists_does_not_make_the_failing_run_healthy() -> None:
    report = f"In the activated environment:\n{IN_THE_SHELL}\nIn the job, the same script:\n{IN_THE_JOB}"
    verdict = api.explain(report).verdict
    assert verdict.code == "gpu-hidden"
    assert "Line 2 belongs to another run" in verdict.explanation


def test_a_list_below_the_failure_is_the_state_after_the_repair() -> None:
    assert api.explain(f"At first:\n{IN_THE_JOB}\nAfter a reboot:\n{IN_THE_SHELL}").verdict.code == "healthy"


WSL = "uname -a: Linux DESKTOP-1 5.15.90.1-microsoft-standard-WSL2\nTensorFlow 2.15.0\n"


def test_a_set_variable_explains_the_missing_gpu_in_wsl() -> None:
    for shown in ("CUDA_VISIBLE_DEVICES=-1", "$ echo $CUDA_VISIBLE_DEVICES\n-1"):
        assert api.explain(f"{WSL}{shown}\n{IN_THE_JOB}").verdict.code == "gpu-hidden"


def test_a_linux_driver_inside_wsl_says_nothing_about_the_windows_driver() -> None:
    listed = "$ dpkg -l | grep nvidia\nii  nvidia-driver-550  550.54.14-0ubuntu1 amd64\n"
    parts = api.explain(f"{WSL}{listed}{IN_THE_JOB}").to_dict()["compatibility"]
    assert [part["fits"] for part in parts if part["part"] == "driver"] == [None]
