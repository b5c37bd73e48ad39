"""Tests `tfgpu-doctor check` as a whole: its options, exit codes and budget."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.in_process import called_as_text
from tests.probe.machines import Folder
from tests.probe.test_verdicts import with_wheels

HERE = Path(__file__).resolve().parents[2]


def doctor(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Call the command, whatever its exit code."""
    return called_as_text(*map(str, words))


def verdict(done: subprocess.CompletedProcess[str]) -> str:
    return str(json.loads(done.stdout)["findings"][0]["code"])


def test_a_root_is_diagnosed_saved_and_diagnosed_again(tmp_path: Path) -> None:
    machine = with_wheels(Folder(tmp_path / "root").working_gpu(), "2.21.0")
    machine.machine()
    kept = tmp_path / "machine.json"
    here = doctor("check", "--root", machine.root, "--format", "json", "--save", kept)
    there = doctor("check", "--from", kept, "--format", "json")
    assert (here.returncode, there.returncode) == (1, 1)
    assert verdict(here) == verdict(there) == "library-path"
    assert json.loads(here.stdout)["facts"].keys() == json.loads(there.stdout)["facts"].keys()


def test_this_machine_is_diagnosed() -> None:
    """The command runs in its own process, as people start it."""
    command = [sys.executable, "-m", "doctor", "check", "--format", "json"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr
    result = json.loads(done.stdout)
    assert result["source"]["kind"] == "machine"
    assert result["findings"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--python", "/nowhere/at/all"), "/nowhere/at/all does not exist"),
        (("--root", "/nowhere/at/all"), "is not a folder"),
        (("--from", "/nowhere/at/all"), "No such file"),
        (("--root", "/tmp", "--deep"), "cannot be used together"),
        (("--from", "x", "--deep"), "cannot be used together"),
        (("--deep", "--limit", "soon"), "not a number of seconds"),
    ],
)
def test_a_wrong_call_says_what_is_wrong_and_exits_2(words: tuple[str, ...], says: str) -> None:
    done = doctor("check", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_not_a_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"facts": []}')
    done = doctor("check", "--from", tmp_path / "x.json")
    assert done.returncode == 2
    assert "not a record of a machine" in done.stderr


def test_a_record_that_cannot_be_written_exits_3(tmp_path: Path) -> None:
    done = doctor("check", "--save", tmp_path / "no" / "folder.json")
    assert done.returncode == 3
    assert "cannot write" in done.stderr


@pytest.mark.parametrize(
    ("release", "processor", "says"),
    [
        ("15.1", 0x0100000C, "Macs with Apple's chips have no NVIDIA GPU"),
        ("14.5", None, "No Mac that macOS 14.5 supports has an NVIDIA GPU"),
        ("10.13.6", 0x01000007, ""),
    ],
)
def test_a_mac_has_no_nvidia_gpu_unless_it_is_an_old_one(
    release: str, processor: int | None, says: str, tmp_path: Path
) -> None:
    folder = tmp_path / "System/Library/CoreServices"
    folder.mkdir(parents=True)
    plist = f"<plist><dict><key>ProductVersion</key><string>{release}</string></dict></plist>"
    (folder / "SystemVersion.plist").write_text(plist)
    if processor is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin/zsh").write_bytes(struct.pack("<II", 0xFEEDFACF, processor) + bytes(24))
    done = doctor("check", "--root", tmp_path, "--format", "json")
    result = json.loads(done.stdout)
    assert result["facts"]["os"]["value"] == f"macOS {release}"
    assert result["facts"]["platform"]["value"] == "macos"
    texts = {finding["code"]: finding["explanation"] for finding in result["findings"]}
    assert ("gpu-absent" in texts) == bool(says)
    assert says in texts.get("gpu-absent", "")
    assert "PCI" not in str(texts)


def _ended(pid: int) -> bool:
    """Whether a process ends within five seconds."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=120
    )
    (site,) = (tmp_path / "venv").glob("lib/python3*/site-packages")
    mark = tmp_path / "pid"
    code = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(300)\n"
    (site / "hangs.pth").write_text(code)  # sitecustomize may already belong to the distribution
    command = [sys.executable, "-m", "doctor", "check", "--python", str(tmp_path / "venv")]
    process = subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 30
    while not (mark.exists() and mark.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert _ended(int(mark.read_text()))


@pytest.mark.slow
def test_the_budget_is_kept(times_pass: Callable[..., float]) -> None:
    """The budget is 400 ms of processor time, on a machine on which `python -c pass` takes 10 ms."""
    assert times_pass("check", "--format", "json") < 40
