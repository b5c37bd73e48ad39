"""Tests messages that no signature recognised in the past, each with the cause that it names."""

from __future__ import annotations

import pytest

from doctor import api
from tests.sampling import each

CASES = [
    ("ImportError: cannot import name 'multi_gpu_model'", "tf-api-version"),
    (
        "NotImplementedError: Cannot convert a symbolic Tensor (lstm_1/strided_slice:0) to a numpy array.",
        "python-dependency-conflict",
    ),
    (
        "RuntimeError: You have tensorflow 2.20.0 and this requires tf-keras package.",
        "python-dependency-conflict",
    ),
    (
        (
            "error: Distribution `tensorflow==2.19.0` can't be installed because it doesn't have a wheel for"
            " cp313"
        ),
        "tf-no-wheel",
    ),
    (
        (
            "HorovodVersionMismatchError: Framework tensorflow installed with version 2.9.1 but found version"
            " 2.10.0."
        ),
        "tf-addon-mismatch",
    ),
    ("ImportError: /usr/lib/x86_64-linux-gnu/libcuda.so.1: file too short", "library-broken"),
    (
        (
            "ImportError: Could not import tensorflow. Do not import tensorflow from its source directory;"
            " change directory"
        ),
        "tf-import-failed",
    ),
    ("ImportError: cannot import name pywrap_tensorflow", "tf-import-failed"),
    (
        "ModuleNotFoundError: No module named 'tensorflow.python._pywrap_tensorflow_internal'",
        "tf-import-failed",
    ),
    (
        'E op_kernel.cc:943] OpKernel (\'op: "BestSplits" device_type: "CPU"\') for unknown op: BestSplits',
        "benign-messages",
    ),
    ("E cuda_dnn.cc:1] CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", "library-broken"),
    (
        "GPU: NVIDIA RTX 5000 series laptop, tensorflow 2.18, list_physical_devices returns []",
        "gpu-arch-too-new",
    ),
]


@each("text, code", CASES)
def test_message_names_its_cause(text: str, code: str) -> None:
    assert api.explain(text.encode()).to_dict()["findings"][0]["code"] == code


@pytest.mark.parametrize(
    ("text", "capability"),
    [
        ("RTX 5000 series", "12.0"),
        ("RTX 50 series", "12.0"),
        ("RTX 3000 series", "8.6"),
        ("Quadro RTX 5000", "7.5"),
        ("RTX 5000 Ada Generation", "8.9"),
    ],
)
def test_a_series_of_cards_is_not_the_card_of_that_number(text: str, capability: str) -> None:
    (gpu,) = api.explain(f"GPU model and memory: {text}".encode()).to_dict()["facts"]["gpus"]["value"]
    assert gpu["compute_capability"] == capability


def test_a_symbolic_tensor_with_a_later_release_is_the_programs_own_error() -> None:
    text = (
        "tensorflow 2.15.0\nNotImplementedError: Cannot convert a symbolic Tensor (lstm_1/strided_slice:0) to"
        " a numpy array."
    )
    assert api.explain(text.encode()).to_dict()["findings"][0]["code"] != "python-dependency-conflict"


def test_a_part_of_cudnn_that_does_not_load_is_described_in_a_plain_sentence() -> None:
    text = "E cuda_dnn.cc:1] CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED"
    said = api.explain(text.encode()).verdict.explanation
    assert "a part of cuDNN, does not load, or a library that it needs does not load" in said
