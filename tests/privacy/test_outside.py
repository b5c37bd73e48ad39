"""Tests that a fault outside the tool is reported in one line with the next step, and is never called a
defect in the tool."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.forked import forked
from tests.sampling import sampled

ROOT = Path(__file__).resolve().parents[2]
REPORT = (
    "tensorflow 2.15.0\nE cuda_driver.cc:1] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable"
    " device is detected\n"
)
COMMANDS = {
    "check": ["check", "-q"],
    "check --save": ["check", "--save", "{folder}/save.json", "-q"],
    "check as JSON": ["check", "--format", "json"],
    "explain": ["explain", "{report}"],
    "explain as HTML": ["explain", "{report}", "--format", "html"],
    "plan": ["plan", "--gpu", "RTX 3080", "--driver", "550.54.14"],
    "install": ["install", "--dry-run", "--env", "{folder}/env"],
    "snippet": ["snippet", "memory-growth"],
    "devices": ["devices", "--visible", "0", "--count", "2"],
    "tables": ["tables", "tensorflow", "2.15.1"],
    "undo": ["tables", "refresh", "--undo"],
    "code": ["code", "gpu-hidden"],
    "simulate": ["simulate", "--list-faults"],
    "simulate --about": ["simulate", "--about"],
    "version": ["--version"],
    "help": ["--help"],
    "help of a command": ["plan", "--help"],
    "a wrong call": ["no-such-command"],
}


def words(command: str, folder: Path, *more: str) -> list[str]:
    report = folder / "report.log"
    return [word.format(folder=folder, report=report) for word in (*COMMANDS[command], *more)]


def ended(command: str, folder: Path, redirection: str, *more: str) -> tuple[int, str]:
    """Run a command with a shell redirection. Returns its exit code and standard error."""
    line = f'exec "$@" {redirection}'
    if "2>" not in redirection:
        line += f" 2> {folder / 'stderr'}"
    argv = ["sh", "-c", line, "sh", sys.executable, "-m", "doctor", *words(command, folder, *more)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        env=environment,
        timeout=120,
        check=False,
    )
    errors = folder / "stderr"
    return done.returncode, errors.read_text(encoding="utf-8") if errors.exists() else ""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "report.log").write_text(REPORT, encoding="utf-8")
    return tmp_path


def no_defect(code: int, errors: str) -> None:
    assert code in (0, 1, 2, 3), errors
    for word in ("defect", "report it", "Traceback", "Exception ignored"):
        assert word not in errors


REDIRECTIONS = (">&-", "> /dev/full", ">&- 2>&-", "<&- >&- 2>&-", "2> /dev/full", "2>&-")


@pytest.mark.parametrize(("redirection", "command"), sampled(
    itertools.product(REDIRECTIONS, ("explain", "tables", "help of a command", "a wrong call", "check")), 5,
))  # fmt: skip
def test_a_full_or_closed_output_stream_is_not_reported_as_a_defect(
    command: str, redirection: str, folder: Path
) -> None:
    code, errors = ended(command, folder, redirection)
    no_defect(code, errors)
    if redirection in (">&-", "> /dev/full") and command not in ("a wrong call", "help of a command"):
        assert code == 3
        assert errors.splitlines()[0].startswith("tfgpu-doctor: cannot continue: `standard output`")
        assert "--output FILE" in errors


@pytest.mark.parametrize("command", sampled(["code", "check", "plan"], 1))
def test_output_to_a_file_works_without_standard_output(command: str, folder: Path) -> None:
    code, _ = ended(command, folder, "<&- >&- 2>&-", "--output", "{folder}/answer")
    assert code in (0, 1)
    assert (folder / "answer").stat().st_size > 100


PARTS = sampled(range(5), 1)
"""Each part tests every fifth command, because testing all of them is slow."""


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv"
)
@pytest.mark.parametrize("part", PARTS)
def test_it_works_for_a_user_without_a_home_folder_and_name(part: int, folder: Path) -> None:
    """The command runs as it would under `docker run -u 12345`. It has one capability, only so that it can
    read this checkout."""
    folder.chmod(0o777)
    capability = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    before = ["setpriv", "--reuid", "12345", "--clear-groups", *capability, "env", "-i", "PATH=/usr/bin:/bin",
              f"PYTHONPATH={ROOT}", f"PYTHONPYCACHEPREFIX={sys.pycache_prefix or ''}"]  # fmt: skip
    commands = list(COMMANDS)[part::5]
    try:
        ended = forked([words(command, folder) for command in commands], before=before, cwd="/")
    except OSError as problem:
        if "setpriv" in str(problem):
            pytest.skip(str(problem))
        raise
    for command, done in zip(commands, ended):
        no_defect(done.code, done.err)
        assert done.code != 3, (command, done.err)
        assert done.out.strip() or command == "a wrong call", command


@pytest.mark.parametrize("part", PARTS)
def test_a_file_that_cannot_be_written_completely_keeps_its_content(part: int, folder: Path) -> None:
    old = "what was there before\n"
    target = folder / "answer"
    target.write_text(old, encoding="utf-8")
    (folder / "save.json").write_text(old, encoding="utf-8")
    writing = [
        c for c in COMMANDS if c not in ("a wrong call", "version", "help", "help of a command", "undo")
    ][part::5]
    calls = [
        words(c, folder) + ([] if "--save" in COMMANDS[c] else ["--output", str(target)]) for c in writing
    ]
    for command, done in zip(writing, forked(calls, file_size=200, cwd=ROOT)):
        no_defect(done.code, done.err)
        assert done.code == 3, command
        assert "cannot write `" in done.err, command
    assert target.read_text(encoding="utf-8") == (folder / "save.json").read_text(encoding="utf-8") == old
    assert sorted(path.name for path in folder.iterdir()) == ["answer", "report.log", "save.json"]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux") or os.geteuid() != 0, reason="mounts a file system")
def test_a_file_keeps_its_content_on_a_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)], check=False, capture_output=True
    ).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        for name in ("save.json", "answer"):
            (disk / name).write_text("before\n", encoding="utf-8")
        (disk / "rest").write_bytes(b"x" * 4096)
        for more in (
            ["--save", str(disk / "save.json")],
            ["--output", str(disk / "answer"), "--format", "html"],
        ):
            done = subprocess.run(
                [sys.executable, "-m", "doctor", "check", *more],
                capture_output=True,
                text=True,
                cwd=ROOT,
                check=False,
            )
            assert done.returncode == 3, done.stderr
            assert "No space left on device" in done.stderr
            assert "the earlier file is unchanged" in done.stderr
        assert (disk / "save.json").read_text() == (disk / "answer").read_text() == "before\n"
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# --- records of other types ----------------------------------------------------------------------

WRONG: tuple[Any, ...] = (
    None,
    True,
    7,
    1.5,
    "x",
    "",
    [],
    [7],
    ["x"],
    {},
    {"x": 7},
    [[["x"]]],
    {"x": {"x": []}},
)


def mutants(value: Any, wrong: Any) -> list[Any]:
    """Return copies of a value, each with one of its parts replaced."""
    found = [wrong]
    if isinstance(value, dict):
        for key, item in list(value.items())[:12]:
            found += [{**value, key: other} for other in mutants(item, wrong)]
    elif isinstance(value, list) and value:
        for i in range(min(len(value), 3)):
            found += [[*value[:i], other, *value[i + 1 :]] for other in mutants(value[i], wrong)]
    return found


def answers(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    from doctor.cli import main

    code = main(words)
    no_defect(code, capsys.readouterr().err)


@pytest.mark.parametrize("wrong", sampled(WRONG, 2), ids=repr)
def test_a_record_with_wrong_types_is_refused_or_read(
    wrong: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = json.loads(
        (ROOT / "tests/data/machines/simulated-rtx3070-2.18.1/.tfgpu-doctor.json").read_text(encoding="utf-8")
    )
    inner["env"] = dict(list(inner["env"].items())[:2])
    for mutant in mutants(inner, wrong):
        (tmp_path / ".tfgpu-doctor.json").write_text(json.dumps(mutant), encoding="utf-8")
        answers(["check", "--root", str(tmp_path), "--format", "json"], capsys)


@pytest.mark.parametrize("wrong", sampled(reversed(WRONG), 1), ids=repr)
def test_program_output_with_wrong_types_is_not_reported_as_a_defect(
    wrong: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answers are the recorded output of programs on a machine: lines of JSON from a child process."""
    inner = json.loads(
        (ROOT / "tests/data/machines/simulated-rtx3070-2.18.1/.tfgpu-doctor.json").read_text(encoding="utf-8")
    )
    for question, answer in inner["answers"].items():
        rows = [line for line in answer["out"].splitlines() if line.startswith("{")]
        for i, row in enumerate(rows):
            for mutant in mutants(json.loads(row), wrong):
                changed = "\n".join([*rows[:i], json.dumps(mutant), *rows[i + 1 :]])
                record = {**inner, "answers": {**inner["answers"], question: {**answer, "out": changed}}}
                (tmp_path / ".tfgpu-doctor.json").write_text(json.dumps(record), encoding="utf-8")
                answers(["check", "--root", str(tmp_path), "--format", "json"], capsys)


@pytest.mark.parametrize("step", [9, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("wrong", sampled(WRONG, 1), ids=repr)
def test_a_saved_or_printed_machine_with_wrong_types_is_refused_or_read(
    wrong: Any, step: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from doctor.cli import main
    from doctor.facts import (
        CudaVersion,
        EnvVar,
        Fact,
        Facts,
        Gpu,
        LibraryFile,
        PythonVersion,
        Source,
        Symptom,
    )
    from doctor.probe import record

    source = Source("x", 1, "y")
    kinds: list[Fact] = [
        Gpu(source, "RTX 3080", "8.6", 10240, "10de:2206", 0),
        PythonVersion(source, "3.11.2", 64),
        CudaVersion(source, "12.2"),
        EnvVar(source, "CUDA_VISIBLE_DEVICES", "0"),
        LibraryFile(source, "libcudnn.so.8", "/x/libcudnn.so.8", "8.9", True),
        Symptom(source, "gpu-not-found", (("a", "b"),)),
    ]
    saved = record.to_record(Facts(tuple(kinds), "machine"), "1", "2026-01-01")
    main(["explain", str(ROOT / "README.md"), "--format", "json"])
    printed = json.loads(capsys.readouterr().out)
    printed["facts"]["gpus"] = {
        "value": [{"name": "RTX 3080", "compute_capability": "8.6"}],
        "evidence": [{"source": "x"}],
    }
    printed["facts"]["cuda"] = {"value": "12.2", "evidence": [{"source": "x"}]}
    file = tmp_path / "m.json"
    for mutant in mutants(saved, wrong)[WRONG.index(wrong) % 3 :: step]:
        file.write_text(json.dumps(mutant), encoding="utf-8")
        answers(["check", "--from", str(file), "--format", "json"], capsys)
    for mutant in (*mutants(printed, wrong)[: 60 : max(2, step // 2)], *mutants(saved, wrong)[:: 3 * step]):
        file.write_text(json.dumps(mutant), encoding="utf-8")
        answers(["plan", "--machine", str(file)], capsys)


@pytest.mark.parametrize(
    "text", ["", "[", "\x00", "[" * 100_000, "{}", '{"kind": "tfgpu-doctor machine"}', "\udcff", "9" * 5000]
)
def test_a_file_that_is_not_a_record_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / ".tfgpu-doctor.json"
    file.write_text(text, encoding="utf-8", errors="surrogateescape")
    for call in (
        ["check", "--from", str(file)],
        ["plan", "--machine", str(file)],
        ["check", "--root", str(tmp_path)],
    ):
        answers(call, capsys)
    for call in (["check", "--from", str(tmp_path)], ["plan", "--machine", str(tmp_path)]):
        answers(call, capsys)
