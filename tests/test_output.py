"""Tests --output: every command writes its answer to the file, or reports an error if it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.cli import run

COMMANDS = [
    ["code"],
    ["code", "gpu-hidden"],
    ["devices", "--visible", "1,0", "--count", "2"],
    ["plan", "--os", "Ubuntu 24.04", "--gpu", "RTX 3080", "--driver", "550.54.14"],
    ["plan", "--os", "Ubuntu 24.04", "--gpu", "RTX 3080", "--driver", "550.54.14", "--check"],
    ["snippet"],
    ["snippet", "memory-growth", "--tensorflow", "2.15"],
    ["simulate", "--list-faults"],
    ["simulate", "--about"],
    ["tables", "gpu", "RTX 3080"],
    ["tables", "tensorflow", "2.15.1", "--format", "json"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_answer_is_written_only_to_the_file(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 0
    shown = capsys.readouterr().out
    target = tmp_path / "answer"
    assert run([*words, "--output", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert target.read_text(encoding="utf-8").split() == shown.split() != []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_error_names_the_file_that_cannot_be_written(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "no such folder" / "answer"
    assert run([*words, "--output", str(target)]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"cannot write `{target}`" in printed.err


def test_output_of_verify_is_written_to_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("doctor.tables.upkeep.run", lambda args: print("2.15.1: as in the table") or 0)
    assert run(["tables", "verify", "2.15.1", "--output", str(tmp_path / "answer")]) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "answer").read_text(encoding="utf-8") == "2.15.1: as in the table\n"


@pytest.mark.parametrize(
    "words", [["bench", "--quick"], ["reproduce", "cudnn-init-oom", "--simulate"]], ids=" ".join
)
def test_a_plot_that_cannot_be_written_is_refused_before_anything_is_measured(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--output", str(tmp_path / "no such folder" / "plot.svg")]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tfgpu-doctor: cannot write")
