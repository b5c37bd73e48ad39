"""Tests that a printed step can be done and touches the cause: on the user's platform, by the person who
starts the program, and with the setting that the message names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from doctor.findings import Finding
from doctor.remedies.usual import USUAL
from tests.rules.situation import diagnosed
from tests.rules.spelling import cuinit, log, skipped


def steps(finding: Finding) -> str:
    """Return the steps of a finding with their explanations, as one text."""
    return "\n".join(f"{step.text} {step.why}" for step in finding.prescription)


def test_numbers_that_mean_other_cards_get_the_order_of_the_bus() -> None:
    verdict = diagnosed(
        "With CUDA_VISIBLE_DEVICES=0 the job lands on the card that nvidia-smi calls 3, and 3 lands on 0.\n"
    ).verdict
    assert verdict.code == "gpu-renumbered"
    assert "nothing is wrong" not in verdict.title
    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in steps(verdict)


def test_the_code_for_spawned_workers_runs_in_a_main_program(tmp_path: Path) -> None:
    verdict = diagnosed(
        log("2.14.0", cuinit("CUDA_ERROR_NOT_INITIALIZED", "initialization error"), skipped)
    ).verdict
    code = next(step.text for step in verdict.prescription if "set_start_method" in step.text)
    program = tmp_path / "program.py"
    # an import may have set another method, and each child imports the program again
    program.write_text(
        "import multiprocessing\n"
        "def work():\n    print('worked')\n"
        "if __name__ == '__main__':\n    multiprocessing.set_start_method('fork')\n"
        f"{code}\n    child = multiprocessing.Process(target=work)\n    child.start()\n    child.join()\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert done.stdout == "worked\n", done.stderr


@pytest.mark.parametrize(
    ("what", "says", "never"),
    [
        ("Virtual", "LogicalDeviceConfiguration", "memory_growth"),
        ("Visible", "set_visible_devices", "memory_growth"),
        ("Physical", "set_memory_growth", "LogicalDeviceConfiguration"),
    ],
)
def test_a_setting_that_came_too_late_is_the_one_of_the_message(what: str, says: str, never: str) -> None:
    verdict = diagnosed(
        f"RuntimeError: {what} devices cannot be modified after being initialized\n"
    ).verdict
    assert verdict.code == "gpu-config-too-late"
    assert says in steps(verdict)
    assert never not in steps(verdict)
    assert "restart the kernel" in steps(verdict)


@pytest.mark.parametrize(
    ("words", "service"),
    [
        ("our SageMaker endpoint", "SageMaker"),
        ("a custom container on Vertex AI", "Vertex AI"),
        ("an Azure ML job", "Azure ML"),
    ],
)
def test_a_service_that_starts_the_container_gets_no_docker_run(words: str, service: str) -> None:
    verdict = diagnosed(
        f"We deploy our docker image to {words}, and it stops with\n"
        "tensorflow_model_server: error while loading shared libraries: libcuda.so.1\n"
    ).verdict
    assert verdict.code == "container-no-gpu"
    assert verdict.evidence[0].line == 2
    assert "docker run" not in steps(verdict)
    assert service in steps(verdict)
    assert "NVIDIA_DRIVER_CAPABILITIES" in steps(verdict)
    assert verdict.verify.startswith("ldconfig")


def test_keras_own_check_of_the_devices_gets_no_soft_placement() -> None:
    report = (
        "ValueError: To call `multi_gpu_model` with `gpus=4`, we expect the following devices to be"
        " available: ['/cpu:0', '/gpu:0', '/gpu:1', '/gpu:2', '/gpu:3']. However this machine only has:"
        " ['/cpu:0']. Try reducing `gpus`.\n"
    )
    verdict = diagnosed(report).verdict
    assert verdict.code == "device-not-found"
    assert "no GPU is registered" in verdict.explanation
    assert "soft" not in steps(verdict)
    assert "pip list" in steps(verdict)
    assert "tf.config" not in steps(verdict) + verdict.verify  # a release with this function may lack it


def test_a_guess_of_a_program_does_not_say_that_the_gpu_is_missing() -> None:
    guess = "Import error, maybe you run it on a machine without an Nvidia graphics card, or you are trying"
    text = f"{guess} to start it on a computer without a GPU: No module named 'tensorflow'\n"
    diagnosis = diagnosed(text)
    assert diagnosis.verdict.code == "tf-not-installed"
    assert "sys.executable" in diagnosis.verdict.prescription[0].text
    assert [part for part in diagnosis.compatibility if part.part == "gpu"] == []
    stated = diagnosed("My computer has no NVIDIA GPU at all and TensorFlow only uses the CPU.\n")
    assert any(part.part == "gpu" and part.fits is False for part in stated.compatibility)


def test_bumblebee_starts_programs_with_optirun() -> None:
    verdict = diagnosed(
        "$ optirun --status\nBumblebee status: Ready (3.2.1). X is PID 1207. Discrete video card is off.\n"
    ).verdict
    assert verdict.code == "gpu-powered-off"
    assert "optirun python3" in steps(verdict)
    assert "prime-select" not in steps(verdict)
    assert verdict.verify == "optirun nvidia-smi"


def test_a_program_for_tensorflow_1_first_gets_a_tensorflow_1_with_code_for_the_card() -> None:
    verdict = diagnosed(
        "tensorflow-gpu 1.14.0, CUDA 10.0 and a GeForce RTX 3080: InternalError: Blas GEMM launch failed\n"
    ).verdict
    assert verdict.code == "gpu-arch-too-new"
    texts = [step.text for step in verdict.prescription]
    image = next(i for i, text in enumerate(texts) if "-tf1-py3" in text)
    two = next(i for i, text in enumerate(texts) if "tensorflow[and-cuda]" in text)
    assert image < two
    assert "needs driver" in steps(verdict)


def test_each_check_of_a_cause_starts_a_program_that_windows_has() -> None:
    for code, usual in USUAL.items():
        test, shows = usual.windows or (usual.test, usual.shows)
        assert shows, code
        if usual.windows:
            assert test.split()[0] in ("powershell", "python", "where.exe", "systeminfo", "nvidia-smi"), code
    windows = diagnosed("On Windows 10, TensorFlow 2.4 uses the CPU; no cuDNN is installed, I think.\n")
    for other in windows.alternatives:
        assert not other.test.startswith(("lspci", "ldconfig", "sudo", "ls ", "free", "grep")), other
