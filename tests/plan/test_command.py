"""Tests `plan` as people call it: output, exit codes, time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from typing import TypeAlias

Cli: TypeAlias = "Callable[..., subprocess.CompletedProcess[bytes]]"
MACHINE = ("--os", "Ubuntu 24.04", "--gpu", "GTX 1080")
STEP = {"kind", "text", "platform", "needs_root", "why"}


def test_json_has_the_promised_form(cli: Cli) -> None:
    done = cli("plan", *MACHINE, "--format", "json", "--tensorflow", "2.20")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == 1
    assert found["wish"] == {"tensorflow": "2.20"}
    assert found["machine"]["gpus"]["value"] == [{"name": "GTX 1080", "compute_capability": "6.1"}]
    plan = found["plans"][0]
    assert (plan["tensorflow"], plan["python"], plan["cuda"], plan["route"]) == (
        "2.20.0",
        "3.12",
        "12.5",
        "pip-and-cuda",
    )
    assert plan["driver_minimum"] == "525.60.13"
    assert plan["changes"]
    assert plan["why"]
    assert all(set(step) == STEP for step in plan["commands"])
    assert {p["route"] for p in found["plans"]} <= {
        "pip-and-cuda",
        "pip-system-cuda",
        "conda",
        "docker",
        "wsl2",
        "cpu",
    }


def test_impossible_request_exits_1_with_a_finding_and_the_nearest_plans(cli: Cli) -> None:
    done = cli(
        "plan", "--gpu", "RTX 3090", "--driver", "470.256.02", "--tensorflow", "2.20", "--format", "json"
    )
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["findings"][0]["code"] == "driver-too-old"
    assert found["findings"][0]["evidence"]
    assert found["findings"][0]["tables"]
    assert found["plans"][0]["tensorflow"] == "2.14.1"


def test_check_prints_one_line_and_sets_the_exit_code(cli: Cli, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("tensorflow[and-cuda]==2.20.0\n")
    bad.write_text("tensorflow==2.4.0\n")
    done = cli("plan", "--check", *MACHINE, "-r", str(good))
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 1)
    done = cli("plan", "--check", *MACHINE, "--python", "3.12", "-r", str(bad))
    assert (done.returncode, done.stdout.count(b"\n")) == (1, 1)
    assert b"tf-no-wheel" in done.stdout
    assert cli("plan", "--check", "--exit-zero", *MACHINE, "--python", "3.12", "-r", str(bad)).returncode == 0


def test_included_paths_are_relative_to_the_including_file(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "requirements"
    folder.mkdir()
    (folder / "dev.txt").write_text("pytest\n-r base.txt\n-c limits.txt\n-r https://example.org/no.txt\n")
    (folder / "base.txt").write_text("tensorflow[and-cuda]\n-r dev.txt\n")
    (folder / "limits.txt").write_text("tensorflow==2.4.0\n")
    done = cli("plan", *MACHINE, "--python", "3.12", "-r", str(folder / "dev.txt"), "--format", "json")
    assert done.returncode == 1
    first = json.loads(done.stdout)["findings"][0]
    assert first["code"] == "tf-no-wheel"
    assert first["evidence"][0]["source"] == str(folder / "base.txt")
    (folder / "limits.txt").unlink()
    gone = cli("plan", *MACHINE, "-r", str(folder / "dev.txt"))
    assert gone.returncode == 2
    assert b"limits.txt" in gone.stderr
    assert b"includes it" in gone.stderr


def test_several_gpus_in_one_option(cli: Cli) -> None:
    both = cli("plan", "--gpu", "A100, Tesla K80", "--format", "json").stdout
    assert both == cli("plan", "--gpu", "A100", "--gpu", "Tesla K80", "--format", "json").stdout
    assert json.loads(both)["plans"][0]["tensorflow"] == "2.14.1", "the release that supports both"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tensorflow", "9.9"),
        ("--gpu", "Voodoo 2"),
        ("--os", "CP/M"),
        ("--python", "three"),
        ("--python", "3"),
        ("-r", "/no/such/file"),
        ("--machine", "/no/such/file"),
        ("--resolve",),
    ],
    ids=" ".join,
)
def test_wrong_call_exits_2_with_one_line_and_a_hint(cli: Cli, arguments: tuple[str, ...]) -> None:
    done = cli("plan", *arguments)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"tfgpu-doctor: ")
    assert b"Traceback" not in done.stderr


def test_text_names_the_commands_and_stays_narrow(cli: Cli) -> None:
    done = cli("plan", *MACHINE, env={"COLUMNS": "60", "NO_COLOR": "1"})
    text = done.stdout.decode()
    assert "Plan 1 (recommended)" in text
    assert "\x1b" not in text
    assert (
        "  tf-gpu/bin/python -m pip install 'tensorflow[and-cuda]==2.20.0' 'nvidia-cudnn-cu12<9.11'" in text
    )


def test_commands_can_be_pasted_with_their_comments(cli: Cli) -> None:
    """Every line of a note is a comment, even if the note has several lines. So is every line of a step that
    is done by hand."""
    done = cli(
        "plan", "--os", "Windows 11", "--gpu", "GTX 1080", "--driver", "528.24", "-v", env={"COLUMNS": "50"}
    )
    lines = done.stdout.decode().splitlines()
    plan = lines[next(at for at, line in enumerate(lines) if line.startswith("Plan 1")) :]
    plan = plan[: plan.index("")]
    first = next(at for at, line in enumerate(plan) if line.startswith("  # "))
    commands = [line.strip() for line in plan[first:] if not line.startswith("  # ")]
    assert [line.split()[0] for line in commands] == ["wsl", "curl", "uv", "uv", "tfgpu-doctor"]
    assert any("by hand: Start Ubuntu" in line for line in plan)


def test_rows_behind_the_reasons_are_numbered(cli: Cli) -> None:
    text = cli("plan", *MACHINE, "-v", env={"COLUMNS": "100"}).stdout.decode()
    assert "has wheels for linux-x86_64 [1]" in text
    assert "  rows: [1] tensorflow 2.20.0 linux-x86_64" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "machine",
    [MACHINE, ("--gpu", "RTX 3090", "--driver", "470.256.02", "--os", "Ubuntu 24.04"), ()],
    ids=["new", "old driver", "this"],
)
def test_plan_takes_less_than_300_ms(times_pass: Callable[..., float], machine: tuple[str, ...]) -> None:
    """The limit is for the processor time of the process and its children, on a machine on which `python -c
    pass` takes 10 ms."""
    assert times_pass("plan", *machine, "--format", "json") < 30


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")
@pytest.mark.parametrize("command", [("check",), pytest.param(("plan", "--check"), marks=pytest.mark.slow)])
def test_terminal_says_that_a_slow_python_is_awaited(tmp_path: Path, command: tuple[str, ...]) -> None:
    import pty

    slow = tmp_path / "bin" / "python"
    slow.parent.mkdir()
    slow.write_text(f'#!/bin/sh\nsleep 1.5\nexec "{sys.executable}" "$@"\n')
    slow.chmod(0o755)
    terminal, end = pty.openpty()
    started = [sys.executable, "-m", "doctor", *command]
    subprocess.run(
        started,
        stderr=end,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "VIRTUAL_ENV": str(tmp_path)},
        check=False,
        timeout=60,
    )
    os.close(end)
    assert os.read(terminal, 4000).count(b"takes a while to answer") == 1
    os.close(terminal)


def test_plan_does_not_use_the_network(cli: Cli) -> None:
    done = cli(
        "plan",
        *MACHINE,
        "--check",
        env={"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"},
    )
    assert done.returncode == 0
