"""Tests that a signature recognises every message about GPUs from TensorFlow and NVIDIA's libraries, or that
the message is listed with a reason why none does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts import message_coverage as coverage

RELEASES = {"1.4.0", "1.15.0", "2.4.1", "2.10.0", "2.15.1", "2.19.0", "2.20.0", "2.21.0"}


def test_every_message_that_was_once_known_is_still_known() -> None:
    texts = coverage.KNOWN.read_text(encoding="utf-8").splitlines()
    assert len(texts) > 200
    assert not [text for text in texts if not coverage.row_of(text)]


def test_every_name_of_an_error_is_known_or_has_a_reason() -> None:
    found = coverage.errors()
    assert {name: figures["unknown"] for name, figures in found.items() if figures["unknown"]} == {}
    assert {"CUDA driver (CUresult)", "CUDA runtime (cudaError_t)", "NVML (nvmlReturn_t)", "Xid"} <= set(
        found
    )


def test_what_installers_loaders_and_container_runtimes_print_is_known() -> None:
    found = coverage.programs()
    assert {"pip", "uv", "glibc's loader", "container runtimes"} <= set(found)
    assert {name: figures["unknown"] for name, figures in found.items() if figures["unknown"]} == {}


def test_recorded_releases_are_covered() -> None:
    kept = json.loads(coverage.FIGURES.read_text(encoding="utf-8"))["releases"]
    assert set(kept) >= RELEASES
    for figures in kept.values():
        assert figures["unknown"] == []
        assert figures["messages"] == figures["rows"] + sum(figures["irrelevant"].values())


def test_each_family_has_a_reason_and_is_needed() -> None:
    kept = json.loads(coverage.FIGURES.read_text(encoding="utf-8"))
    used = {name for kind in kept.values() for figures in kind.values() for name in figures["irrelevant"]}
    for entry in coverage.families()["irrelevant"]:
        assert len(entry["reason"]) > 20
        assert entry["source"]
        assert entry["family"] in used


@pytest.mark.parametrize(
    "text",
    [
        "The GPU refuses to start because its fan is stuck",
        "CUDA on this computer is broken",
        "GPU memory has been corrupted by another program",
        "Cannot find the GPU in slot 3",
    ],
)
def test_an_unlisted_message_is_reported(text: str) -> None:
    assert coverage.coverage([text])["unknown"] == [text]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_messages_are_read_from_a_library(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    texts = [
        "Could not find the CUDA driver on this machine",
        "gpu_device",
        "no word of it here at all",
        "_ZN10tensorflow3gpu of a name",
    ]
    source.write_text(
        "const char *texts[] = {" + ", ".join(f'"{text}"' for text in texts) + "};\n", encoding="utf-8"
    )
    library = tmp_path / "a.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True, timeout=60)
    assert coverage.messages([library]) == texts[:1]


def test_a_family_is_no_catch_all() -> None:
    """No pattern of a family matches every plain sentence about GPUs."""
    for entry in coverage.families()["irrelevant"]:
        for pattern in entry["patterns"]:
            assert not re.search(pattern, "CUDA on this computer is broken"), entry["family"]
