"""Tests that text that people wrote is read as sentences, and the output of programs is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.logs.parse import parse
from doctor.logs.prose.segment import sentences
from doctor.logs.reader import read
from doctor.logs.signatures import catalogue
from tests.sampling import each

LOGS = Path(__file__).parents[1] / "data" / "logs"
NEWEST = {path.stem: path for path in sorted(LOGS.rglob("*.log"))}
"""One recorded log for each case. Programs printed all of its text."""
STATUSES = (
    (
        "INTERNAL: Autotuning failed for HLO: %fusion.2 = f32[64,24] fusion(%p), with error: NOT_FOUND: No"
        " valid config found!"
    ),
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate the buffer of a convolution",
    "pynvml.NVMLError_Unknown: Unknown Error",
    "kernel: NVRM: GPU 0000:65:00.0: RmInitAdapter failed! (0x24:0xffff:1211)",
    (
        "packaging.requirements.InvalidRequirement: Expected semicolon (after name with no version specifier)"
        " or end"
    ),
)
OWN_WORDS = (
    "EDIT: it works now with the older driver.",
    "UPDATE: the same happens on my other machine.",
    "Note: this is the first time that I use a GPU.",
    "Unknown to me, somebody had changed the driver.",
    "Internal errors come up as soon as training starts.",
)


def _sentences(text: bytes) -> list[str]:
    report = read(text, "report")
    printed: set[int] = set()
    parse(report, catalogue(), printed)
    return [sentence.text for sentence in sentences(report, printed)]


@each("case", sorted(NEWEST))
def test_a_log_that_programs_printed_contains_no_sentence(case: str) -> None:
    assert json.loads(NEWEST[case].with_suffix(".json").read_text())["code"]
    assert _sentences(NEWEST[case].read_bytes()) == []


@pytest.mark.parametrize("line", STATUSES)
def test_a_status_or_an_exception_is_not_a_sentence(line: str) -> None:
    assert _sentences(line.encode()) == []


@pytest.mark.parametrize("line", OWN_WORDS)
def test_what_somebody_added_is_a_sentence(line: str) -> None:
    assert _sentences(line.encode()) == [line]


def test_the_line_below_a_frame_is_code() -> None:
    frame = (
        '  File "/home/u/a.py", line 3, in run\n    url, specifier, marker = read the details of it\nIt fails'
        " for me every time.\n"
    )
    assert _sentences(frame.encode()) == ["It fails for me every time."]


def test_a_progress_log_counts_once_in_the_report_as_a_whole() -> None:
    from doctor.facts import Words
    from doctor.logs import read

    report = "TensorFlow finds no GPU on my machine\n"
    log = "".join(f"step {i}: loss 0.{i}, {i * 7} ms\n" for i in range(60))
    counted = [len(read((lines + report).encode()).of(Words)[0].hashes) for lines in (log, log[:22])]
    assert abs(counted[0] - counted[1]) < 12
