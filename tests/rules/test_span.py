"""Tests that code and cures fit the TensorFlow releases that a report may be about, if it does not state the
release."""

from __future__ import annotations

import re

import pytest

from doctor.case import Case
from doctor.findings import Finding
from doctor.logs import read
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
            ("2.15.0", "2.21.0"),
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
