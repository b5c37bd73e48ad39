"""Tests that the pages of the finding codes can be shown on any console and written to any file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.render.conftest import Run


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_code_page_is_printable_on_every_console(tool: Run, encoding: str) -> None:
    run = tool("code", "model-oom", PYTHONIOENCODING=encoding)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(b"# model-oom (error)")


def test_code_page_is_written_to_a_file(tool: Run, tmp_path: Path) -> None:
    assert tool("code", "model-oom", "--format", "json", "--output", "page.json").returncode == 0
    assert json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))["code"] == "model-oom"


def test_unknown_code_suggests_similar_codes_and_does_not_touch_the_file(tool: Run, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("old")
    run = tool("code", "model-om", "--output", "page.md")
    assert run.returncode == 2
    assert b"model-oom" in run.stderr
    assert (tmp_path / "page.md").read_text() == "old"


@pytest.mark.parametrize(
    ("word", "hint"), [("cudnn", b"`cudnn-missing`"), ("MODEL-OOM", b"did you mean `model-oom`?")]
)
def test_part_of_a_code_and_capitals_get_a_suggestion(tool: Run, word: str, hint: bytes) -> None:
    assert hint in tool("code", word).stderr
