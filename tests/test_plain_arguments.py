"""Tests that simple command lines are read without argparse, with the result that argparse would give."""

from __future__ import annotations

import contextlib
import io
import itertools
import subprocess
import sys
from typing import Any

import pytest

from doctor import cli
from doctor.commands.plain import Plain
from tests.conftest import ROOT
from tests.sampling import each

WORDS = (
    *("a.log", "-", "", "--format", "json", "--format=text", "--format=", "--form", "--output", "--output=-"),
    *("-v", "-vv", "-q", "--verbose", "--exit-zero", "--exit-zero=1", "--trace", "--", "--python", "-x"),
)
SIMPLE = {
    "explain": (["a.log"], ["a.log", "b", "--format", "json"], ["-v", "--trace", "-"], ["--output=x"], []),
    "check": ([], ["--format", "json"], ["--python", "/usr/bin/python3", "-q"], ["--from", "x", "-v", "-v"]),
}
"""Command lines that are read without argparse."""


def _plain(command: str, words: list[str]) -> dict[str, Any] | None:
    plain: Any = Plain()
    read = cli.filled(plain, command).read(words)
    return None if read is None else vars(read)


def _of_argparse(command: str, words: list[str]) -> dict[str, Any] | None:
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            return vars(cli._parser(command).parse_args(words))
        except SystemExit:
            return None


@pytest.mark.parametrize("command", SIMPLE)
def test_simple_command_lines_are_read(command: str) -> None:
    for words in SIMPLE[command]:
        assert _plain(command, words) == _of_argparse(command, words) is not None


@each("command", [name for name in cli.COMMANDS if name != "simulate"])
def test_what_is_read_is_what_argparse_reads(command: str) -> None:
    for count in range(4):
        for words in itertools.product(WORDS, repeat=count) if count < 3 else _threes():
            read = _plain(command, list(words))
            assert read is None or read == _of_argparse(command, list(words)), words


def _threes() -> list[tuple[str, ...]]:
    return [*itertools.product(WORDS, repeat=3)][::97]


@pytest.mark.parametrize("words", [["--limit", "5"], ["--limit=x"], ["--help"], ["--fast"], ["a.log"]])
def test_everything_else_is_left_to_argparse(words: list[str]) -> None:
    assert _plain("check", words) is None


def test_a_simple_command_line_does_not_import_argparse() -> None:
    code = "import sys; from doctor.cli import main; main(['explain', '-']); print('argparse' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, input=b"TensorFlow 2.10.0\n", capture_output=True, check=False
    )
    assert done.stdout.split()[-1] == b"False"
