"""Tests that no output can control the terminal, whatever people type and whatever names files have."""

from __future__ import annotations

import ast
import importlib
import os
import sys
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path

import pytest

from doctor.cli import COMMANDS, main, shared_options
from tests.sources import imports_and_calls

ROOT = Path(__file__).resolve().parent.parent
ESCAPE = "\x1b]0;x\x07\x1b[31m\x9b2J\rx\u202ey"
SAFE_AND_QUICK = {
    "check": ["--from", os.devnull],
    "explain": [],
    "plan": ["--os", "Ubuntu 24.04"],
    "install": ["--dry-run", "--os", "Ubuntu 24.04"],
    "reproduce": ["--python", "/nonexistent", "--backend", "tensorflow"],
    "snippet": ["memory-growth", "--tensorflow", "2.15"],
    "simulate": ["--about"],
    "devices": ["--count", "2"],
    "bench": ["--python", "/nonexistent"],
    "tables": ["tensorflow", "2.15.1"],
    "mcp": [],
    "completion": ["bash"],
    "code": [],
    "fleet": ["--manifest", "kubernetes"],
    "serve": ["--port", "70000"],  # not a valid port, so that the command ends
}
"""The arguments for each command besides the tested option, so that it ends soon."""


def _parser(name: str) -> ArgumentParser:
    parser = ArgumentParser(add_help=False)
    importlib.import_module(f"doctor.commands.{name}").add_arguments(parser)
    shared_options(parser)
    return parser


def _options(name: str) -> set[str]:
    return {action.option_strings[-1] for action in _parser(name)._actions if action.option_strings}


def _calls(name: str) -> list[list[str]]:
    """Return command lines for a command in which each option and argument in turn has escape sequences as
    its value."""
    parser = _parser(name)
    base = [name, *SAFE_AND_QUICK[name]]
    calls = [[name, ESCAPE], [*base, ESCAPE], [name, f"--{ESCAPE}"]]
    if name == "tables":
        calls += [[name, what, ESCAPE] for what in ("tensorflow", "gpu", "driver", "cuda", "cudnn")]
    for form in ("json", "markdown", "html"):
        calls += [[*base, ESCAPE, "--format", form]]
    shared = _options("plan") if name == "install" else set()
    for action in parser._actions:
        if (
            action.option_strings
            and action.nargs != 0
            and action.option_strings[-1] not in shared | {"--output"}
        ):
            option = action.option_strings[-1]
            given = [word for i, word in enumerate(base) if option not in (word, *base[i - 1 : i])]
            calls += [[*given, option, ESCAPE], [*given, option, f"2{ESCAPE}"]]
            calls += [[*given, option, f"2{ESCAPE}\x7f", "--format", form] for form in ("json", "markdown")]
    return calls


def _controls(text: str) -> set[str]:
    return {c for c in text if not c.isprintable() and c != "\n"}


def _said(call: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with suppress(SystemExit):
        main(call)
    shown = capsys.readouterr()
    return shown.out + shown.err


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "mcp" else name for name in COMMANDS]
)  # the import of its SDK takes a second
def test_no_typed_argument_controls_the_terminal(
    name: str, step: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", None)
    said = {tuple(call): _said(call, capsys) for call in _calls(name)[::step]}
    assert all(said.values())
    assert not {call: text for call, text in said.items() if _controls(text)}


@pytest.mark.parametrize(
    "call", [[ESCAPE], [f"--{ESCAPE}"], ["--format", ESCAPE]], ids=["command", "option", "value"]
)
def test_no_unknown_command_controls_the_terminal(
    call: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = _said(call, capsys)
    assert said
    assert not _controls(said)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\x00\x01", b"hello"], ids=["empty", "binary", "text"])
def test_no_file_name_controls_the_terminal(
    content: bytes, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in (f"a{ESCAPE}.log", "b\nc.log"):
        (tmp_path / name).write_bytes(content)
        main(["explain", str(tmp_path / name)])
        main(["plan", "-r", str(tmp_path / name), "--os", "Ubuntu 24.04"])
        main(["check", "--from", str(tmp_path / name)])
    main(["explain", str(tmp_path)])
    shown = capsys.readouterr()
    assert not _controls(shown.out + shown.err)


WRITERS = {"doctor/printable.py", "doctor/render/progress.py", "doctor/tables/reading/progress.py"}
"""The only modules that write output: the general one, and two that show the progress of long tasks."""


@pytest.mark.skipif(sys.version_info < (3, 9), reason="ast.unparse came with 3.9")
def test_all_messages_are_printed_by_one_function() -> None:
    for path in sorted((ROOT / "doctor").rglob("*.py")):
        _writes_through_one_function(path)


def _writes_through_one_function(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8")
    if name in WRITERS or "/_" in name.replace("__", ""):
        return
    for node in imports_and_calls(path):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called != "sys.stderr.write", f"{name}:{node.lineno}"
            to_error = any(k.arg == "file" and ast.unparse(k.value) == "sys.stderr" for k in node.keywords)
            assert not (called == "print" and to_error), (
                f"{name}:{node.lineno} writes without doctor.printable.say"
            )
    if name != "doctor/render/console.py":
        assert "rich.markup import escape" not in text, name
