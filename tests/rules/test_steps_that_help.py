"""Tests that a printed step can be done and touches the cause: on the user's platform, by the person who
starts the program, and with the setting that the message names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from doctor.case import Case
from doctor.findings import Finding
from doctor.logs import read
from doctor.remedies.usual import USUAL
from doctor.render.markdown import show
from tests.rules.situation import bundled, diagnosed
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
    verdict = diagnosed(f"RuntimeError: {what} devices cannot be modified after being initialized\n").verdict
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


ON_WINDOWS = ("powershell", "python", "where.exe", "systeminfo", "nvidia-smi", "cmd")


def test_each_check_of_a_cause_starts_a_program_that_windows_has() -> None:
    for code, usual in USUAL.items():
        test, shows = usual.windows or (usual.test, usual.shows)
        assert shows, code
        if usual.windows:
            assert test.split()[0] in ON_WINDOWS, code
    windows = diagnosed("On Windows 10, TensorFlow 2.4 uses the CPU; no cuDNN is installed, I think.\n")
    for other in windows.alternatives:
        assert not other.test.startswith(("lspci", "ldconfig", "sudo", "ls ", "free", "grep")), other


def test_a_driver_that_is_too_new_is_removed_before_its_branch_comes() -> None:
    verdict = diagnosed(
        "Ubuntu 24.04, NVIDIA driver 595.58.03, Tesla V100: nvidia-smi finds no device since the upgrade.\n"
    ).verdict
    assert verdict.code == "driver-too-new"
    texts = [step.text for step in verdict.prescription]
    assert texts[0].startswith("sudo apt remove --purge")
    assert texts[1] == "sudo apt install nvidia-driver-580"
    fedora = diagnosed("Fedora 42, NVIDIA driver 595.58.03, GTX 1080: nvidia-smi finds no device.\n").verdict
    assert fedora.code == "driver-too-new"
    assert "apt" not in steps(fedora)
    assert fedora.prescription[0].text.startswith("Remove driver 595.58.03")


def test_a_new_ubuntu_under_wsl_gets_the_module_venv() -> None:
    text = "Windows 11, TensorFlow 2.16.1: it uses only the CPU, my graphics card is not used.\n"
    verdict = diagnosed(text).verdict
    assert verdict.code == "tf-windows-native"
    texts = [step.text for step in verdict.prescription]
    venv = next(i for i, text in enumerate(texts) if "-m venv" in text)
    python = texts[venv].split()[0]
    assert texts[venv - 1] == f"sudo apt update && sudo apt install -y {python}-venv"


def test_who_names_the_release_with_a_gpu_on_windows_can_go_back_to_it() -> None:
    text = "On Windows 11 TensorFlow 2.11 finds no GPU; with TensorFlow 2.10.1 it works.\n"
    verdict = diagnosed(text).verdict
    assert verdict.code == "tf-windows-native"
    assert verdict.prescription[0].text == 'python -m pip install tensorflow==2.10.1 "numpy<2"'


def test_a_project_that_asks_for_tensorflow_gpu_gets_the_line_for_its_files() -> None:
    verdict = diagnosed(
        'The "tensorflow-gpu" package has been removed! Please install "tensorflow" instead.\n'
    ).verdict
    assert verdict.code == "tf-gpu-package-removed"
    assert 'extras = ["and-cuda"]' in steps(verdict)
    assert "requirements.txt" in steps(verdict)


def test_colab_without_a_log_is_asked_before_anything_is_installed() -> None:
    facts = read(b"In Colab my code became slow, although a GPU is chosen.\n", "report")
    for code in ("cuda-version-mismatch", "cuda-missing", "cudnn-missing", "cudnn-version-mismatch"):
        made = USUAL[code].cure(Case(facts, bundled())).steps
        assert made[0].text == "nvidia-smi"
        assert not any("pip install" in step.text for step in made)


@pytest.mark.parametrize(
    ("there", "named"),
    [("1.3.0", "TensorFlow 1.4.1 with CUDA 8.0"), ("2.4.1", "TensorFlow 2.4.4, the newest patch release")],
)
def test_a_defect_is_looked_for_in_a_release_that_exists(there: str, named: str) -> None:
    verdict = diagnosed(
        f"I tensorflow-gpu {there}\nTensorflow: {there}\nE"
        " tensorflow/stream_executor/cuda/cuda_driver.cc:802] failed to enqueue async memset operation:"
        " CUDA_ERROR_ILLEGAL_ADDRESS\n"
    ).verdict
    assert verdict.code == "ptx-jit-or-kernel-crash"
    assert named in steps(verdict)


@pytest.mark.parametrize(("python", "offered"), [("3.5.2", True), ("3.8.10", False)])
def test_the_release_without_avx_is_offered_for_a_python_that_has_it(python: str, offered: bool) -> None:
    verdict = diagnosed(
        f"Python {python}, Ubuntu 18.04: import tensorflow ends with Illegal instruction (core dumped)\n"
    ).verdict
    assert verdict.code == "cpu-no-avx"
    assert ("pip install tensorflow==1.5.0" in steps(verdict)) is offered


def test_a_defect_of_cuda_leads_to_releases_with_another_cuda() -> None:
    facts = read(b"tensorflow-gpu 1.14.0 with CUDA 10.0 gives NaN\n", "report")
    text = " ".join(step.text for step in USUAL["known-release-bug"].cure(Case(facts, bundled())).steps)
    assert "CUDA 10.1" in text
    assert "CUDA 9.0" in text
    assert "-tf1-py3" in text


def test_the_cpu_is_enough_for_who_has_no_gpu() -> None:
    verdict = diagnosed("Can I run this without a GPU? My laptop has no GPU.\n").verdict
    assert verdict.code == "gpu-absent"
    assert "pip install tensorflow-cpu" in verdict.prescription[0].text
    assert "list_physical_devices" not in verdict.verify


def test_commands_for_colab_come_with_the_way_to_run_them_in_a_cell() -> None:
    text = "In Colab: tensorflow 2.5.0 from pip, Could not load dynamic library 'libcudnn.so.8'\n"
    page = show(diagnosed(text), bundled())
    assert "write ! before a command" in page
    for other in (text.replace("Colab", "tmux"), f"It works in Colab, but not on Windows 10. {text}"):
        assert "write ! before a command" not in show(diagnosed(other), bundled())


def test_the_check_of_a_cure_shows_what_the_cure_changes() -> None:
    """The list of GPUs would pass before the cure of a fault that only the program shows."""
    case = Case(read(b"Ubuntu 22.04, TensorFlow 2.12.0\n", "report"), bundled())
    checks = {code: str(usual.check_of_cure(case)) for code, usual in USUAL.items()}
    for code in ("tf-api-version", "model-oom", "memory-leak", "gpu-config-too-late", "op-no-gpu-kernel"):
        assert "program.py" in checks[code], code
    assert "conv2d" in checks["cudnn-init-oom"]
    assert "__version__" in checks["tf-import-failed"]


def test_no_driver_is_proposed_that_does_not_exist_for_the_card() -> None:
    """R470 is the last branch for Kepler, and CUDA 12 needs R525."""
    verdict = diagnosed(
        "TensorFlow 2.16.2 from pip, Tesla K80, driver 470.256.02: no GPU in the list.\n"
    ).findings
    one = next(finding for finding in verdict if finding.code == "driver-too-old")
    assert "R470 is the last" in one.explanation
    assert "dnf install" not in steps(one)
    assert "apt install" not in steps(one)
    assert "==2.14.1" in steps(one)


def test_a_command_of_pacman_shows_that_the_system_is_arch_linux() -> None:
    verdict = diagnosed("pacman -Syu took nvidia 470.86 to 510.60.02, and my GTX 780 Ti is gone.\n").verdict
    assert verdict.code == "driver-too-new"
    assert "nvidia-470xx-dkms" in steps(verdict)
    assert "apt remove" not in steps(verdict)


def test_one_of_two_packages_stays_in_its_own_release() -> None:
    verdict = diagnosed(
        "pip list shows tensorflow 1.14.0 and tensorflow-gpu 1.14.0. Python 3.6, V100, driver 418.67, CUDA"
        " 10.0: TensorFlow uses only the CPU.\n"
    ).verdict
    assert verdict.code == "tf-conflicting-packages"
    assert "tensorflow-gpu==1.14.0" in steps(verdict)
