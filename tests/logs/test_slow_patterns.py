"""Tests inputs that were slow to read in the past, such as a text that consists only of literals, and a
notebook on one line."""

from __future__ import annotations

import json
import time

import pytest

from doctor.logs import read
from doctor.logs.signatures import catalogue
from doctor.probe.kernel_log import BOOT, BUILD_ERROR, MESSAGES, XID
from tests.sampling import sampled

NOTEBOOK = {
    "cells": [
        {"source": [f"x = {n}\n"] * 20, "outputs": [{"text": [f"line {n} {m}\n" for m in range(40)]}]}
        for n in range(1000)
    ]
}
ONCE_SLOW = {
    "nvidia-smi": ("|   0  GeForce RTX 2060" + " " * 1200 + "\n") * 100,
    "list": ("list_physical_devices" + " " * 1400 + "\n") * 100,
    "path": "LD_LIBRARY_PATH: " + "/usr/local/cuda-" * 15_000,
    "count": "Num GPUs Available" + " " * 100_000,
    "notebook": json.dumps(NOTEBOOK),
    "notebook of lines": json.dumps(NOTEBOOK, indent=1),
}


@pytest.mark.parametrize("name", sampled(ONCE_SLOW, 2))
def test_input_that_was_once_slow_is_read_in_linear_time(name: str) -> None:
    text = ONCE_SLOW[name]
    started = time.process_time()
    read(text.encode(), "x")
    assert time.process_time() - started < 0.5 + 4e-6 * len(text)


@pytest.mark.parametrize(
    "piece", sampled(["NVRM: ", "NVRM: GPU", "NVRM: Xid (PCI:", "NVRM: Xid (PCI:0): 1"], 2)
)
def test_one_line_of_a_kernel_log_is_searched_in_linear_time(piece: str) -> None:
    line = piece * (500_000 // len(piece))
    started = time.process_time()
    XID.search(line)
    for pattern in (BOOT, BUILD_ERROR, *(pattern for _, pattern in MESSAGES)):
        pattern.search(line)
    assert time.process_time() - started < 3


@pytest.mark.slow
def test_text_of_nothing_but_literals_is_read_in_seconds() -> None:
    words = [literal for signature in catalogue() for literal in signature.literals]
    text = (" ".join(words) * 40)[:1_000_000]
    started = time.process_time()
    read(text.encode(), "x")
    read(text.replace(" ", "\n").encode(), "x")
    assert time.process_time() - started < 60
