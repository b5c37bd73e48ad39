"""Tests `install` as people call it: it asks for confirmation, shows its steps, refuses what it cannot do,
and prints a script that does the same."""

from __future__ import annotations

import dataclasses
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

import pytest

from doctor.backports import removeprefix
from doctor.commands.install import _agreed
from doctor.errors import UsageError
from doctor.install.job import Action, Job
from doctor.install.proof import read
from doctor.install.script import script
from doctor.install.space import needed_mib, shortage
from doctor.tables import Tables
from tests.install.jobs import HERE, RELEASE, job
from tests.sampling import each, sampled

if TYPE_CHECKING:
    from typing import TypeAlias

Cli: TypeAlias = "Callable[..., subprocess.CompletedProcess[bytes]]"
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info >= (3, 14), reason="a Linux wheel for this Python"
)


def dry_run(cli: Cli, env: Path, *more: str) -> subprocess.CompletedProcess[bytes]:
    """Return the script that would install TensorFlow into a folder with pip."""
    options = ["--tensorflow", RELEASE, "--python", HERE, "--env", str(env), "--installer", "pip"]
    return cli("install", "--dry-run", *options, *more)


def test_without_standard_input_it_asks_for_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(UsageError, match="standard input is not a terminal"):
        _agreed()


def test_without_a_terminal_it_asks_for_yes_and_does_nothing(cli: Cli, tmp_path: Path) -> None:
    done = cli("install", "--python", HERE, "--env", str(tmp_path / "tf"))
    assert done.returncode == 2
    assert b"--yes" in done.stderr
    assert b"-m venv" in done.stderr or b"uv venv" in done.stderr, (
        "the commands are shown before anything is asked"
    )
    assert list(tmp_path.iterdir()) == []


def test_existing_folder_is_refused_before_anything_is_done(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "tf").mkdir()
    (tmp_path / "tf" / "mine").touch()
    done = cli("install", "--python", HERE, "--env", str(tmp_path / "tf"), "--yes")
    assert done.returncode == 2
    assert b"already exists" in done.stderr
    assert [p.name for p in tmp_path.rglob("*")] == ["tf", "mine"]


def test_a_request_that_cannot_work_installs_nothing_and_shows_the_plans(cli: Cli, tmp_path: Path) -> None:
    done = cli("install", "--tensorflow", "2.4", "--python", "3.12", "--env", str(tmp_path / "tf"), "--yes")
    assert done.returncode == 1
    assert b"tf-no-wheel" in done.stdout
    assert b"Nothing was installed" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_dry_run_prints_a_script_that_a_shell_reads(cli: Cli, tmp_path: Path) -> None:
    env = tmp_path / "with space" / "tf"
    done = dry_run(cli, env, "--memory-growth")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert text.startswith("#!/bin/sh\n")
    assert "sudo" not in text
    for shell in filter(shutil.which, ("sh", "bash", "dash", "zsh")):
        assert subprocess.run([shell, "-n"], input=done.stdout, check=False).returncode == 0, shell
    assert not env.parent.exists()


@pytest.mark.parametrize("name", sampled(["x\ncmd\n#", "x\x1b]0;t\x07", "x\u202ey"], 1))
def test_no_part_of_a_folders_name_leaves_its_line_of_the_script(cli: Cli, tmp_path: Path, name: str) -> None:
    done = dry_run(cli, tmp_path / name)
    assert done.returncode != 0
    assert not done.stdout
    assert b"another --env" in done.stderr
    assert done.stderr.decode().replace("\n", "").isprintable()


def test_name_that_is_a_command_is_a_name_in_the_script(cli: Cli, tmp_path: Path) -> None:
    env = tmp_path / "$(touch PWNED);`touch PWNED`"
    done = dry_run(cli, env)
    assert done.returncode == 0
    words = [
        word
        for line in done.stdout.decode().splitlines()
        for word in shlex.split(line, comments=True)
        if "touch" in word
    ]
    assert sum(word.startswith(str(env)) for word in words) > 3
    assert all(
        re.fullmatch(r"(?:[\w']*\W{0,2})?" + re.escape(str(env)) + r"[\w./$}; -]*", word) for word in words
    ), words


def test_script_for_windows_does_the_same_in_a_batch_file(tables: Tables, tmp_path: Path) -> None:
    """There is no cmd here to run the script, so each line is checked for characters that cmd interprets."""
    made = job(tables, tmp_path / "tf", memory_growth=True)
    env = PureWindowsPath(r"C:\Users\a b\50% done\tf")
    python = str(env / "Scripts" / "python.exe")
    actions = (
        Action(("py", "-3.10", "-m", "venv", str(env)), "an environment"),
        Action((python, "-m", "pip", "install", "numpy<2"), "TensorFlow"),
    )
    windows = Job(made.plan, env, actions, (), memory_growth=True, windows=True)  # type: ignore[arg-type]
    text = script(windows)
    lines = text.split("\r\n")
    assert lines[0] == "@echo off"
    assert r'py -3.10 -m venv "C:\Users\a b\50%% done\tf" || goto failed' in lines
    growth = next(line for line in lines if "TF_FORCE_GPU_ALLOW_GROWTH" in line)
    assert growth == (
        r'>"C:\Users\a b\50%% done\tf\Lib\site-packages\tfgpu_doctor_memory_growth.pth" '
        "echo import os; os.environ.setdefault('TF_FORCE_GPU_ALLOW_GROWTH', 'true')"
    )
    assert r'tfgpu-doctor check --python "C:\Users\a b\50%% done\tf" --deep' in lines
    assert lines[-5:-1] == [
        ":failed",
        "rem remove the incomplete environment",
        r'rmdir /s /q "C:\Users\a b\50%% done\tf"',
        "exit /b 1",
    ]
    assert r'if exist "C:\Users\a b\50%% done\tf" exit /b 1' in lines, "existing files are not touched"
    refused = [line for line in script(windows, replace=True).split("\r\n") if line.endswith("exit /b 1")]
    assert r'if exist "C:\Users\a b\50%% done\tf.before" exit /b 1' in refused
    assert "tf.before already exists: rename or remove it first" in script(windows, replace=True).replace(
        '"', ""
    )
    for line in lines:
        bare = re.sub(r'"[^"]*"', "", removeprefix(line.replace("||", "").replace("2>nul", ""), ">"))
        assert line.startswith("rem ") or not re.search(r"[&|<>^]", bare), line


def test_script_keeps_existing_files_and_removes_an_incomplete_environment(
    tables: Tables, tmp_path: Path
) -> None:
    """The script runs commands that make a folder and then fail."""
    made = job(tables, tmp_path / "it's here" / "tf")
    env = made.env
    broken = (Action(("mkdir", "-p", str(env / "bin")), "an environment"), Action(("false",), "TensorFlow"))

    def ran(**options: bool) -> int:
        text = script(dataclasses.replace(made, actions=broken, links=()), **options)
        return subprocess.run(
            ["sh"], input=text, text=True, check=False, cwd=tmp_path, timeout=60, capture_output=True
        ).returncode

    assert ran() == 1
    assert not env.exists(), "a partial environment is removed"
    assert ran(keep=True) == 1
    assert (env / "bin").is_dir(), "it is kept if the user asks for that"
    (env / "mine").touch()
    assert ran() == 1
    assert (env / "mine").exists(), "existing files stay untouched"
    assert ran(replace=True) == 1, "the folder is not an environment"
    assert {p.name for p in env.iterdir()} == {"bin", "mine"}
    (env / "pyvenv.cfg").touch()
    assert ran(replace=True) == 1
    assert (env / "mine").exists(), "the old environment is restored"
    assert [p.name for p in env.parent.iterdir()] == ["tf"]


@pytest.mark.slow
def test_script_does_the_same_as_the_command(
    tables: Tables, tmp_path: Path, index: Callable[..., Path]
) -> None:
    index(
        "tensorflow",
        "2.21.0",
        files={"nvidia/cusolver/lib/libcusolver.so.11": "x", "nvidia/cuda_runtime/lib/libcudart.so.12": "x"},
    )
    made = job(tables, tmp_path / "tf", "2.21.0", memory_growth=True)
    text = script(made).replace("tfgpu-doctor check", "true")
    subprocess.run(["sh"], input=text, text=True, check=True, cwd=tmp_path, timeout=300)
    link = made.site_packages / "nvidia/cuda_runtime/lib/libcusolver.so.11"
    assert link.is_symlink()
    assert link.read_text() == "x"
    out = subprocess.run(
        [made.python, "-c", "import os; print(os.environ['TF_FORCE_GPU_ALLOW_GROWTH'])"],
        capture_output=True,
        text=True,
        check=True,
        env={},
        timeout=60,
    )
    assert out.stdout == "true\n"


def test_disk_without_room_is_refused_before_anything_is_done(
    tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = job(tables, tmp_path / "tf").plan
    disk, wheels = needed_mib(plan)
    assert disk > 4000
    assert (
        shortage(plan, tmp_path / "a" / "tf", tmp_path, None) is None
        or shutil.disk_usage(tmp_path).free >> 20 < disk + wheels
    )
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10 << 40, 10 << 40, 100 << 20)
    )  # type: ignore[attr-defined]
    words = shortage(plan, tmp_path / "a" / "tf", tmp_path, None)
    assert words is not None
    assert "GiB is needed" in words


def finding(code: str, severity: str = "error") -> dict[str, str]:
    return {"code": code, "severity": severity, "title": code}


def test_proof_needs_a_registered_gpu_and_no_error() -> None:
    facts = {"tensorflow": {"value": "2.20.0"}, "registered_gpus": {"value": 1}}
    assert read({"facts": facts, "findings": [finding("healthy", "info")]}).kind == "proved"
    assert read({"facts": facts, "findings": [finding("cudnn-init-oom")]}).kind == "broken"


def test_machine_without_a_gpu_proves_consistency_only() -> None:
    facts = {"tensorflow": {"value": "2.20.0"}, "registered_gpus": {"value": 0}}
    proof = read({"facts": facts, "findings": [finding("gpu-absent")]})
    assert proof.kind == "consistent"
    assert "not proved on a GPU here: gpu-absent" in proof.sentences


@each("code", ["gpu-powered-off", "gpu-reserved", "driver-too-new", "driver-too-old", "wsl-driver"])
def test_a_fault_of_the_machine_does_not_count_against_the_environment(code: str) -> None:
    facts = {"tensorflow": {"value": "2.20.0"}, "registered_gpus": {"value": 0}}
    assert read({"facts": facts, "findings": [finding(code)]}).kind == "consistent"


def test_environment_with_a_fault_of_its_own_is_broken() -> None:
    facts = {"tensorflow": {"value": "2.21.0"}}
    assert (
        read({"facts": facts, "findings": [finding("gpu-absent"), finding("library-path")]}).kind == "broken"
    )
    assert read({"facts": {}, "findings": [finding("gpu-absent")]}).kind == "broken"


def test_cpu_plan_asks_for_no_cuda() -> None:
    facts = {"tensorflow": {"value": "2.10.1"}}
    assert (
        read({"facts": facts, "findings": [finding("cuda-version-mismatch")]}, gpu=False).kind == "consistent"
    )
