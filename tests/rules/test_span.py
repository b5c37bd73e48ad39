"""Tests that code and cures fit the TensorFlow releases that a report may be about, if it does not state the
release."""

from __future__ import annotations

import re

import pytest

from doctor.case import Case
from doctor.findings import Finding
from doctor.logs import read
from doctor.plan.version_request import newest_final
from doctor.remedies import code
from tests.rules.situation import bundled, diagnosed
from tests.sampling import each

MISSING_CUDART = (
    "2021-03-02 10:11:12.000131: W tensorflow/stream_executor/platform/default/dso_loader.cc:60] Could not"
    " load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file:"
    " No such file or directory\n"
)
XLA = (
    "2021-03-02 10:11:13.000131: I tensorflow/compiler/jit/xla_cpu_device.cc:41] Not creating XLA devices,"
    " tf_xla_enable_xla_devices not set\n"
)


def case_of(text: str) -> Case:
    """Return the case of a pasted text."""
    return Case(read(text.encode("utf-8"), "report"), bundled())


def all_text(finding: Finding) -> str:
    """Return the text of all steps of a finding."""
    return "\n".join(step.text for step in finding.prescription)


@each(
    "text, ends",
    [
        (MISSING_CUDART + XLA, ("2.4.0", "2.4.4")),
        (MISSING_CUDART, ("2.4.0", "2.5.3")),  # by its day
        (MISSING_CUDART.replace("2021", "2023"), ("2.4.0", "2.10.1")),
        ("CUDA 10.0, Python 3.6.8, Failed to get convolution algorithm", ("1.13.1", "2.0.4")),
        (
            "external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:274] failed call to cuInit:"
            " CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
            ("2.15.0", newest_final(bundled())),
        ),
        ("CUDA 12.4, the GPU list is empty", None),
    ],
)
def test_the_log_python_and_cuda_bound_the_release(text, ends):
    assert case_of(text).span == ends


def test_a_stated_release_needs_no_span():
    case = case_of("TensorFlow 1.15.0, CUDA 10.0, Failed to get convolution algorithm")
    assert case.span is None
    assert case.api == "1.15.0"


def test_logs_of_two_releases_bound_nothing_that_they_exclude():
    newer = "external/local_tsl/tsl/platform/default/dso_loader.cc:31] Could not find cuda drivers\n"
    assert case_of(MISSING_CUDART + newer).builds


@each(
    "text",
    [
        # 1.15 to 2.1 by its folder
        "InvalidArgumentError: Cannot assign a device for operation net/conv: node net/conv (defined at"
        " /home/ada/venv/lib/python3.7/site-packages/tensorflow_core/python/framework/ops.py:1748) was"
        " explicitly assigned to /device:GPU:1 but available devices are ["
        " /job:localhost/replica:0/task:0/device:CPU:0, /job:localhost/replica:0/task:0/device:GPU:0 ]. Make"
        " sure the device specification refers to a valid device.",
        "Windows 10, Python 3.6.5, CUDA 10.0\nUnknownError: Failed to get convolution algorithm. This is"
        " probably because cuDNN failed to initialize",
    ],
)
def test_code_for_tensorflow_1_and_2_uses_names_of_both(text):
    verdict = diagnosed(text).verdict
    said = all_text(verdict) + str(verdict.verify)
    assert "tf.compat.v1.ConfigProto" in said
    assert not re.search(r"tf\.config\.|\btf\.(?:Session|ConfigProto)", said)


def test_the_variable_comes_first_if_only_the_span_is_known():
    text = "CUDA 10.0, Python 3.6.8\nFailed to get convolution algorithm"
    first = diagnosed(text).verdict.prescription[0]
    assert first.text == "export TF_FORCE_GPU_ALLOW_GROWTH=true"


def test_on_windows_the_variable_is_also_shown_for_powershell():
    verdict = diagnosed("Windows 10, TensorFlow 2.3.0\nFailed to get convolution algorithm").verdict
    assert any("$env:TF_FORCE_GPU_ALLOW_GROWTH = 'true'" in step.why for step in verdict.prescription)


def test_no_step_installs_a_release_for_which_the_bounded_python_has_no_wheel():
    verdict = diagnosed(MISSING_CUDART + XLA).verdict
    assert verdict.code == "cuda-missing"
    assert "tensorflow==2.14" not in all_text(verdict)
    assert "CUDA Toolkit 11.0" in all_text(verdict)


@each("version", ["1.13.1 to 2.0.4", "1.15.0 to 2.1.4"])
def test_every_code_for_both_is_python(version):
    assert code.era(version) == "any"
    for program in (
        code.memory_growth(version),
        code.convolution(version),
        code.product(version),
        code.soft_placement(version),
        code.device_placement(version),
        code.log_placement(version),
        code.clear_session(version),
    ):
        compile(program, "code", "exec")


@pytest.mark.parametrize("version", ["0.10", "1.3.0"])
def test_a_release_before_tf_keras_gets_no_keras(version):
    assert "keras" not in code.clear_session(version)
    assert "keras" in code.clear_session("1.4.0")


NO_KERNEL = (
    "InvalidArgumentError: Cannot assign a device for operation 'net/rnn/Assert': Could not satisfy explicit"
    " device specification '/device:GPU:0' because no supported kernel for GPU devices is available.\n"
)


def test_soft_placement_that_is_already_set_is_no_step():
    plain = diagnosed("TensorFlow 1.12.0\n" + NO_KERNEL).verdict
    assert "allow_soft_placement=True" in all_text(plain)
    tried = diagnosed("TensorFlow 1.12.0\n" + NO_KERNEL + "I have allow_soft_placement=True already.\n")
    assert "allow_soft_placement=True" not in all_text(tried.verdict)
    assert "MonitoredTrainingSession(config=config)" in all_text(tried.verdict)


def test_a_program_that_is_not_python_gets_the_variable_for_memory_growth():
    text = "Recognize 5.0 in Nextcloud 27\nThe classifier ends with CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
    steps = diagnosed(text).verdict.prescription
    assert "TF_FORCE_GPU_ALLOW_GROWTH=true" in "\n".join(step.text for step in steps)
    assert not [step for step in steps if step.kind == "python"]


def test_a_branch_of_the_repository_is_a_release():
    case = case_of("I train with tensorflow from source (branch r0.11) on Ubuntu 16.04")
    assert case.tensorflow is not None
    assert case.tensorflow.version == "0.11"


def test_packages_that_overwrite_each_other_are_replaced_by_the_release_in_use():
    text = "TensorFlow sees no GPU.\n$ pip list\ntensorflow           1.14.0\ntensorflow-gpu       1.14.0\n"
    verdict = diagnosed(text).verdict
    assert verdict.code == "tf-conflicting-packages"
    assert "tensorflow-gpu==1.14.0" in all_text(verdict)


def test_xlas_compiler_comes_with_libraries_that_are_requested_by_name():
    from doctor.compat import Situation
    from doctor.remedies.installation import with_libraries

    build = bundled().tensorflow("2.14.0")
    here = Situation(platform="linux-x86_64", python="3.11", route="pip-and-cuda")
    found = with_libraries(build, here, bundled())
    assert found is not None
    assert "nvidia-cuda-nvcc-cu11==11.8.89" in found.requirements


@each("code_of_cause", ["tf-not-installed", "cuda-missing", "library-path", "host-oom", "device-not-found"])
def test_a_command_that_tells_causes_apart_exists_on_windows(code_of_cause):
    from doctor.remedies.usual import test_of as command_of

    case = case_of("Windows 10, Python 3.6, TensorFlow 1.12.0, the GPU is not used")
    test, _ = command_of(code_of_cause, case)
    assert not re.match(r"python3|ldconfig|ls |sudo|free|grep|echo \$", test)
    assert "LIBRARY" not in test
    assert "tf.config" not in test


@pytest.mark.parametrize("cause", ["tf-no-wheel", "tf-gpu-package-removed"])
def test_the_check_uses_the_environment_that_the_steps_create(cause):
    from doctor.remedies.usual import USUAL

    case = case_of("Python 3.14, Ubuntu 22.04, no matching distribution for TensorFlow")
    assert "tf-gpu/bin/python" in str(USUAL[cause].check_of_cure(case))


def test_a_ptxas_that_is_too_old_is_replaced_on_path():
    text = (
        "2023-10-02 09:00:00.000001: W external/xla/xla/stream_executor/gpu/asm_compiler.cc:109] Falling back"
        " to the CUDA driver for PTX compilation; ptxas does not support CC 8.9\n"
    )
    verdict = diagnosed(text).verdict
    assert verdict.code == "xla-toolchain-missing"
    assert verdict.title == "XLA's ptxas is too old"
    assert "CUDA 11.8 or newer" in all_text(verdict)
    assert "first on PATH" in all_text(verdict)
    assert "ptxas --version" in all_text(verdict)


def test_a_notebook_service_without_a_gpu_is_asked_for_one_first():
    text = (
        "I run this in Colab.\nInvalidArgumentError: Cannot assign a device for operation a: node a was"
        " explicitly assigned to /device:GPU:0 but available devices are ["
        " /job:localhost/replica:0/task:0/device:CPU:0 ]. Make sure the device specification refers to a"
        " valid device.\n"
    )
    verdict = diagnosed(text).verdict
    assert verdict.code == "device-not-found"
    assert "Change runtime type" in verdict.prescription[0].text


def test_the_module_is_reloaded_only_after_its_programs_have_ended():
    text = (
        "After suspend: failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error. In docker, on Ubuntu"
        " 22.04, driver 535.54.03\n"
    )
    steps = diagnosed(text).verdict.prescription
    reload = next(step for step in steps if "rmmod" in step.text)
    assert "end every program" in reload.why


def test_a_sentence_alone_gets_a_cause_in_words():
    verdict = diagnosed("Another job of my colleague already holds all of the memory of that card.").verdict
    assert verdict.code == "gpu-memory-held"
    assert len(verdict.explanation) > 60


def test_cudnn_for_windows_says_where_its_dll_goes():
    text = "Windows 10, Python 3.5, tensorflow-gpu 1.3.0, CUDA 8, cuDNN 7: import fails"
    assert "cudnn64_6.dll" in all_text(diagnosed(text).verdict)


def test_a_remark_for_machines_without_a_gpu_is_no_noise_on_one_with_a_gpu():
    from doctor.render.content import harmless

    remark = (
        "2021-03-02 10:11:12.000132: I tensorflow/stream_executor/cuda/cudart_stub.cc:29] Ignore above cudart"
        " dlerror if you do not have a GPU set up on your machine.\n"
    )
    meanings = [[g.meaning for g in harmless(diagnosed(MISSING_CUDART + remark + more))]
                for more in ("", "GPU: Tesla T4\n")]  # fmt: skip
    assert any("without a GPU" in meaning for meaning in meanings[0])
    assert not any("without a GPU" in meaning for meaning in meanings[1])


def test_a_move_to_a_release_that_the_python_may_not_have_is_made_in_a_new_environment():
    text = "TensorFlow 2.5.0 does not work with CUDA 10 on my machine, the GPU list stays empty"
    steps = all_text(diagnosed(text).verdict)
    assert "pip install 'tensorflow[and-cuda]" not in steps
    assert "so use a new environment" in steps
    with_python = all_text(diagnosed(text + "\nPython 3.13.1").verdict)
    assert "in a new environment with Python" not in with_python


def test_the_loader_is_not_asked_about_a_cudnn_from_pip():
    text = (
        "Python 3.11\nTensorFlow 2.18.1\nSuccessfully opened dynamic library libcudart.so.12\nCould not load"
        " dynamic library 'libcudnn.so.9'; dlerror: libcudnn.so.9: cannot open shared object file: No such"
        " file or directory\n"
    )
    steps = all_text(diagnosed(text).verdict)
    assert "nvidia-cudnn-cu12" in steps
    assert "ldconfig" not in steps


def test_a_driver_that_is_new_enough_for_pips_build_is_not_simply_too_old():
    text = (
        "tensorflow-gpu 1.12.0, Python 3.6.8, CUDA 9.0, NVIDIA driver 390.116\n"
        "InternalError: cudaGetDevice() failed. Status: CUDA driver version is insufficient for CUDA runtime"
        " version\n"
    )
    verdict = diagnosed(text).verdict
    assert verdict.code == "driver-too-old"
    assert "new enough for CUDA 9.0" in verdict.explanation
    assert "conda list cudatoolkit" in all_text(verdict)
    older = diagnosed(text.replace("390.116", "375.66")).verdict
    assert older.code == "driver-too-old"
    assert "conda list" not in all_text(older)
