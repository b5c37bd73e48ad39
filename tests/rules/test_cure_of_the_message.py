"""Tests that a cure uses the numbers in the message, and that it does not tell users to install something
that they already have."""

from __future__ import annotations

import pytest

from doctor.findings import Finding
from tests.rules.situation import diagnosed

NO_RUNTIME_VERSION = "ImportError: cannot import name 'runtime_version' from 'google.protobuf'\n"
OLD_CUDNN = (
    "E tensorflow/stream_executor/cuda/cuda_dnn.cc:336] Loaded runtime CuDNN library: 8.0.5 but source was"
    " compiled with: 8.1.0.  CuDNN library needs to have matching major version and equal or higher minor"
    " version.\n"
)
BELOW_PTXAS = (
    "W external/local_xla/xla/service/gpu/nvptx_compiler.cc:742] The NVIDIA driver's CUDA version is 12.2"
    " which is older than the ptxas CUDA version (12.3.107). Because the driver is older than the ptxas"
    " version, XLA is disabling parallel compilation, which may slow down compilation.\n"
)


def first(text: str) -> tuple[Finding, str]:
    """Return the first finding, and its steps and their reasons as one text."""
    finding = diagnosed(text).findings[0]
    return finding, "\n".join(f"{step.text} {step.why}" for step in finding.prescription)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"{NO_RUNTIME_VERSION}tensorflow 2.19.0, protobuf 4.25.3\n", "'protobuf>=5.26,<6'"),
        (f"{NO_RUNTIME_VERSION}tensorflow 2.21.0\n", "'protobuf>=6.31.1,<8'"),
        (f"{NO_RUNTIME_VERSION}tensorflow 2.20.0\n", "'protobuf>=5.28.0'"),
        (f"{NO_RUNTIME_VERSION}tensorflow 2.15.0\n", "a newer TensorFlow release that accepts protobuf 5.26"),
        (NO_RUNTIME_VERSION, "'protobuf>=5.26'"),
        (
            "google.protobuf.runtime_version.VersionError: Detected incompatible Protobuf Gencode/Runtime"
            " versions when loading a.proto: gencode 5.29.0 runtime 5.28.3. Runtime version cannot be older"
            " than the linked gencode version.\ntensorflow 2.19.0\n",
            "'protobuf>=5.29.0,<6'",
        ),
    ],
)
def test_protobuf_is_as_new_as_the_generated_code_and_accepted_by_tensorflow(text: str, wanted: str) -> None:
    finding, steps = first(text)
    assert finding.code == "python-dependency-conflict"
    assert wanted in steps


def test_the_steps_install_the_compiled_minor_version_of_cudnn() -> None:
    diagnosis = diagnosed(f"{OLD_CUDNN}TF 2.4 / conda / RTX 2080\n")
    _, steps = first(f"{OLD_CUDNN}TF 2.4 / conda / RTX 2080\n")
    assert "cudatoolkit=11.0 'cudnn>=8.1,<9'" in steps
    assert "cuDNN 8.1 or a later 8.x for CUDA 11.0" in steps
    assert "conda install" not in first(f"{OLD_CUDNN}TF 2.4, RTX 2080\n")[1]
    row = next(part for part in diagnosis.compatibility if part.part == "cudnn")
    assert (row.have, row.fits) == ("8.0.5", False)


def test_the_steps_ask_for_the_driver_of_the_compilers_cuda() -> None:
    _, steps = first(f"{BELOW_PTXAS}TF 2.16.1, A100\n")
    assert "the version, which must be 545 or newer" in steps
    assert "525.60" not in steps


def test_no_step_asks_for_a_driver_that_does_not_exist_for_the_gpu() -> None:
    message = BELOW_PTXAS.replace("12.2", "11.4").replace("12.3.107", "11.8.89")
    finding, steps = first(f"{message}TF 2.13, Tesla K80\n")
    assert finding.code == "driver-too-old"
    assert steps.startswith("Keep the driver")


def test_pips_refusal_of_tensorflow_gpu_does_not_show_what_is_installed() -> None:
    found = diagnosed(
        'On Windows 10 pip install tensorflow-gpu fails with "The "tensorflow-gpu" package has been removed!'
        ' Please install "tensorflow" instead."\n'
    ).findings
    assert [finding.code for finding in found] == ["tf-gpu-package-removed"]


def test_in_a_slurm_job_the_steps_request_the_gpu_and_unset_nothing() -> None:
    finding, steps = first(
        "failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_NO_DEVICE: no"
        " CUDA-capable device is detected\ntensorflow 2.20.0, Python 3.13, slurm job on a cluster. squeue"
        " shows my job with gres/gpu:h100:1 but CUDA_VISIBLE_DEVICES is empty.\n"
    )
    assert finding.code == "gpu-hidden"
    assert "srun --gres=gpu:1" in steps
    assert "scontrol show job -d" in steps
    assert "unset" not in steps


def test_there_is_a_step_for_secure_boot_being_on() -> None:
    _, steps = first(
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the"
        " latest NVIDIA driver is installed and running.\nUbuntu 22.04, kernel 6.8\n"
    )
    assert "mokutil --sb-state" in steps
    assert "If Secure Boot is enabled, enrol the key" in steps


def test_a_colab_account_at_its_limit_is_not_asked_to_choose_a_gpu() -> None:
    limit = "You cannot currently connect to a GPU due to usage limits in Colab."
    finding, steps = first(f'Colab: GPU runtime, "Cannot connect to GPU backend. {limit}"\n')
    assert finding.code == "gpu-absent"
    assert "Wait until Colab lifts the limit" in steps
    assert "Choose a GPU" not in steps
    assert "lspci" not in str(finding.verify)
