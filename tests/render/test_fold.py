"""Tests the help, lists and tables in a narrow terminal: nothing is cut off, and no word is split."""

from __future__ import annotations

import contextlib
import re

import pytest

from doctor.cli import COMMANDS, _parser, main
from doctor.render.fold import fold

ROW = "tf-no-wheel  error    pip has no TensorFlow for this Python, platform or architecture"
CALLS = ("code", "code cudnn-init-oom", "snippet", "snippet memory-growth --tensorflow 2.15", "tables cuda",
         "tables cudnn 8.9", "tables cudnn 8.9.7.29", "tables trap", "devices --visible 1,-1 --count 3",
         "--help")  # fmt: skip


def test_a_row_continues_below_its_last_cell_or_below_itself() -> None:
    assert fold(ROW, 60).split("\n")[1].startswith(" " * 22 + "platform")
    assert fold(ROW, 30).split("\n")[:2] == ["tf-no-wheel  error", "    pip has no TensorFlow for"]
    assert fold(ROW, 0) == ROW
    for width in range(10, 100):
        rows = fold(ROW, width).split("\n")
        assert " ".join(rows).split() == ROW.split()
        assert all(len(row) <= width or " " not in row.strip() for row in rows), width


def test_a_paragraph_is_filled_anew_and_a_table_is_not() -> None:
    page = "one two\nthree\n\n## What\nfour\nexamples:\n  five  six"
    assert fold(page, 60, paragraphs=True) == "one two three\n\n## What\nfour\nexamples:\n  five  six"


def test_an_item_of_a_list_is_filled_anew_and_its_rows_are_indented() -> None:
    text = "Facts:\n- one two\n  three\n- four"
    assert fold(text, 60, paragraphs=True) == "Facts:\n- one two three\n- four"
    assert fold(text, 8, paragraphs=True) == "Facts:\n- one\n  two\n  three\n- four"


@pytest.mark.parametrize("call", [*CALLS, *(f"{name} --help" for name in COMMANDS)])
def test_no_row_is_longer_than_sixty_columns_and_no_word_is_broken(
    call: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    wide = _said(call, capsys)
    monkeypatch.setenv("COLUMNS", "60")
    narrow = _said(call, capsys)
    words = set(re.sub(r"[#()\s]+", " ", wide).split())
    assert words == set(re.sub(r"[#()\s]+", " ", narrow).split()), "a word is cut or broken"
    assert not [row for row in narrow.splitlines() if len(row) > 60 and not row.startswith("tf.")]


def _said(call: str, capsys: pytest.CaptureFixture[str]) -> str:
    with contextlib.suppress(SystemExit):
        main(call.split())
    return capsys.readouterr().out


def test_examples_in_help_have_the_same_form() -> None:
    for name in COMMANDS:
        epilog = _parser(name).epilog or ""
        heading, *lines = epilog.split("\n")
        assert heading == "examples:", name
        examples = lines[: lines.index("")] if "" in lines else lines
        assert all(line.startswith("  ") and "tfgpu-doctor" in line for line in examples if line), name
