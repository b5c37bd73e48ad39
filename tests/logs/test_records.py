"""Tests that signatures for text that people write are not tried on lines that are marked as a program's
output."""

from __future__ import annotations

import pytest

from doctor.facts import Symptom
from doctor.logs import read
from doctor.logs.signatures import catalogue
from doctor.logs.windows import PRINTED, RECORD
from tests.sampling import each

RECORDS = (
    "I tensorflow/stream_executor/dso_loader.cc:108] successfully opened CUDA library libcudnn.so locally",
    (
        "W c:\\tf_jenkins\\home\\workspace\\release-win\\m\\windows-gpu\\py\\35\\tensorflow\\core\\platform\\"
        "cpu.cc:45]"
        " text"
    ),
    "E external/local_xla/xla/stream_executor/cuda/cuda_fft.cc:477] Unable to register cuFFT factory",
    (
        "2017-12-20 11:41:07.533246: I C:\\tf_jenkins\\tensorflow\\core\\platform\\cpu_feature_guard.cc:137]"
        " text"
    ),
    "2019-05-26 13:15:45.771379: I tensorflow/stream_executor/platform/default/dso_loader.cc:53] text",
    "    2023-03-09 01:02:02.481150: W tensorflow/compiler/xla/stream_executor/cuda/cuda_driver.cc:269] text",
    "> 2019-07-19 10:34:52.877992: W tensorflow/core/common_runtime/colocation_graph.cc:1016] text",
    "12: 2024-04-21 09:20:39.238228: I external/local_tsl/tsl/cuda/cudart_stub.cc:32] text",
    "I0000 00:00:1741057715.471755     137 gpu_device.cc:2022] Created device",
    "E0528 07:05:32.758850   25920 pjrt_stream_executor_client.cc:2826] Execution of replica 0 failed",
    "[2018-06-01 10:11:12,123] [I] text",
    (
        '  File "/usr/local/lib/python3.5/dist-packages/tensorflow/python/pywrap_tensorflow.py", line 58, in'
        " <module>"
    ),
)
OTHERS = (
    "I use TensorFlow 2.3 with a GTX 1080",
    (
        "It prints 2019-05-26 13:15:45.771379: I"
        " tensorflow/stream_executor/platform/default/dso_loader.cc:53] text"
    ),
    "2021-03-04 I bought an RTX 3080 and TensorFlow does not use it",
    "- TensorFlow version: 2.4.1",
    "tensorflow-gpu         2.3.1",
    "W: GPG error: the repository is not signed",
    'File "train.py" is what I ran',
)


@each("line", RECORDS)
def test_log_records_and_traceback_frames_are_recognised_by_their_beginning(line: str) -> None:
    assert PRINTED.match(line)


@pytest.mark.parametrize("line", OTHERS)
def test_sentences_forms_and_lists_are_not_records(line: str) -> None:
    assert not PRINTED.match(line)


SENTENCE = "my GPU is not being used"
RECORD_OF = "2021-02-15 00:13:53.709590: I tensorflow/core/platform/text.cc:49] "


def _said(text: str) -> list[int | None]:
    return [f.source.line for f in read(text.encode()) if isinstance(f, Symptom) and f.kind == "gpu-not-used"]


def test_a_sentence_in_a_record_is_not_a_person_s() -> None:
    assert _said(f"{RECORD_OF}{SENTENCE}\n") == []
    assert _said(f"{RECORD_OF}text\n{SENTENCE}\n{RECORD_OF}text\n") == [2]
    assert _said(f"{SENTENCE}\n{RECORD_OF}{SENTENCE}\n") == [1]


def test_a_report_on_one_line_is_read_although_it_begins_with_a_record() -> None:
    assert _said(RECORD_OF + "text " * (RECORD // 5) + SENTENCE) == [1]


def test_what_programs_print_is_not_marked_as_unlogged() -> None:
    wrong = [
        s.example for s in catalogue() if s.unlogged and any(PRINTED.match(x) for x in s.example.split("\n"))
    ]
    assert wrong == []
