"""Tests that shell files are read without a shell: each construct is read as a shell would read it, and
hostile files do not take long."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from doctor.probe.machine import Machine
from doctor.probe.start_files import StartFiles

SHELL = {
    "a default": ("export A=${B:-/x}/lib", "/x/lib"),
    "an addition": ("B=/y\nexport A=/x${B:+:$B}", "/x:/y"),
    "nothing to add": ("export A=/x${B:+:$B}", "/x"),
    "single quotes": ("export A='$HOME/x'", "$HOME/x"),
    "a test of a folder": ("[ -d /there ] && A=1 || A=2", "1"),
    "a test of no folder": ("[ -d /nowhere ] && A=1 || A=2", "2"),
    "else": ("if [ -e /nowhere ]; then A=1\nelse\n A=2\nfi", "2"),
    "elif": ("if [ -e /nowhere ]; then A=1; elif [ -d /there ]; then A=3; else A=2; fi", "3"),
    "a nested if": ("if [ -e /nowhere ]; then if [ -d /there ]; then A=1; fi; A=4; else A=2; fi", "2"),
    "a function that nobody calls": ("A=1\nf() {\n A=2\n}\n", "1"),
    "a case": ("A=1\ncase $x in\n y) A=2 ;;\nesac\n", "1"),
    "an output that is not known": ("A=1\nA=$(uname -r)\n", "1"),
    "a line that goes on": ("export A=x\\\ny", "xy"),
    "a comment": ("export A=x # A=y", "x"),
    "a return": ("A=1\nreturn\nA=2", "1"),
    "unset": ("A=1\nunset A\nA=${A:-gone}", "gone"),
}


@pytest.mark.parametrize("name", SHELL)
def test_a_shell_file_is_read_as_a_shell_reads_it(name: str, tmp_path: Path) -> None:
    text, wanted = SHELL[name]
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text(text)
    files = StartFiles(Machine.at(tmp_path), {})
    assert files.source("/file")
    assert files.env.get("A") == wanted


def test_files_that_source_each_other_do_not_loop_forever(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(". /b\n" * 50)
    (tmp_path / "b").write_text(". /a\n" * 50)
    files = StartFiles(Machine.at(tmp_path), {})
    files.source("/a")
    assert files.env == {}


@pytest.mark.parametrize("name", [name for name in SHELL if name != "an output that is not known"])
def test_a_real_shell_gives_the_same_result(name: str, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    (tmp_path / "there").mkdir()
    text = SHELL[name][0].replace("/there", f"{tmp_path}/there")
    (tmp_path / "file").write_text(text)
    script = f'. {tmp_path}/file; printf %s "$A"'
    done = subprocess.run(
        [bash, "-c", script], capture_output=True, text=True, timeout=20, check=False, env={"HOME": "/root"}
    )
    assert done.stdout == SHELL[name][1]


@pytest.mark.parametrize(
    "text",
    [
        "A=" + "$(" * 20_000,
        "A=" + "${A:-" * 10_000,
        "if [ " * 10_000,
        "for i in /*/*/*/*/*; do A=$i; done",
        '"' * 40_001,
        "A=\\\\" * 10_000,
    ],
)
def test_a_hostile_file_is_read_quickly(text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    start = time.monotonic()
    StartFiles(Machine.at(tmp_path), {}).source("/file")
    assert time.monotonic() - start < 5
