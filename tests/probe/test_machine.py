"""Tests what all probes use: files under another root, programs that run with limits, and the record of a
machine."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from doctor.probe.machine import RECORD, Machine
from doctor.probe.running import run_program

unix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX symbolic links and process groups")


@unix
def test_an_absolute_link_stays_inside_the_root(tmp_path: Path) -> None:
    (tmp_path / "usr/local/cuda-12.2").mkdir(parents=True)
    (tmp_path / "usr/local/cuda-12.2/version.txt").write_text("inside")
    (tmp_path / "usr/local/cuda").symlink_to("/usr/local/cuda-12.2")
    machine = Machine.at(tmp_path)
    assert machine.text("/usr/local/cuda/version.txt") == "inside"
    assert machine.resolve("/usr/local/cuda/version.txt") == "/usr/local/cuda-12.2/version.txt"


@unix
def test_no_path_leads_out_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "secret").write_text("outside")
    (tmp_path / "root/etc/link").symlink_to("../../../secret")
    (tmp_path / "root/etc/loop").symlink_to("loop")
    machine = Machine.at(tmp_path / "root")
    assert machine.text("/etc/link") is None
    assert machine.text("/../secret") is None
    assert machine.text("/etc/../../secret") is None
    assert not machine.exists("/etc/loop")


def test_nothing_is_run_under_another_root(tmp_path: Path) -> None:
    machine = Machine.at(tmp_path)
    assert not machine.live
    assert machine.run("python", [sys.executable, "-c", "raise SystemExit"], 10) is None


def test_recorded_answers_replace_programs(tmp_path: Path) -> None:
    record = {
        "env": {"A": "b"},
        "answers": {"driver": {"status": 0, "out": "{}"}},
        "denied": ["/dev/nvidia0"],
    }
    (tmp_path / RECORD).write_text(json.dumps(record))
    machine = Machine.at(tmp_path)
    ran = machine.run("driver", ["anything"], 1)
    assert ran is not None
    assert (ran.status, ran.out) == (0, "{}")
    assert machine.env == {"A": "b"}
    assert not machine.may_open("/dev/nvidia0")


@pytest.mark.parametrize("text", ["[]", "{", "\x00"])
def test_a_damaged_record_is_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / RECORD).write_text(text)
    with pytest.raises(ValueError, match="is not a machine's record"):
        Machine.at(tmp_path)


def test_a_file_is_not_a_root(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        Machine.at(tmp_path / "file")


def test_a_windows_root_is_known_by_its_folders(tmp_path: Path) -> None:
    (tmp_path / "Windows/System32").mkdir(parents=True)
    (tmp_path / "Users/me").mkdir(parents=True)
    (tmp_path / "Users/me/a.txt").write_text("text")
    machine = Machine.at(tmp_path)
    assert machine.system == "windows"
    assert machine.text("C:\\Users\\me\\a.txt") == "text"
    assert machine.glob("C:\\Users\\*\\a.txt") == ["C:/Users/me/a.txt"]


@unix
def test_a_program_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    child = f"import time; time.sleep(1.2); open({str(mark)!r}, 'w')"
    code = (
        f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    )
    start = time.monotonic()
    ran = run_program([sys.executable, "-c", code], 0.6, dict(os.environ))
    assert ran.timed_out
    assert ran.status is None
    assert time.monotonic() - start < 10
    time.sleep(0.8)
    assert not mark.exists()


def test_a_flood_of_output_ends_the_program() -> None:
    code = "import sys\nwhile True: sys.stderr.write('x' * 65536)"
    start = time.monotonic()
    ran = run_program([sys.executable, "-c", code], 60.0, dict(os.environ), limit=1 << 20)
    assert ran.status is None
    assert "exceeded 1048576 bytes" in ran.failure
    assert len(ran.err) == 1 << 20
    assert time.monotonic() - start < 30


def test_a_program_that_does_not_exist_is_a_failure_and_no_exception() -> None:
    ran = run_program(["/nowhere/at/all"], 5.0, {})
    assert ran.status is None
    assert "No such file" in ran.failure or "cannot find" in ran.failure


@unix
def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    from doctor.probe import examine

    (tmp_path / "etc").mkdir()
    for name in ("os-release", "ld.so.cache"):
        os.mkfifo(tmp_path / "etc" / name)
    (tmp_path / "usr/lib/x86_64-linux-gnu").mkdir(parents=True)
    os.mkfifo(tmp_path / "usr/lib/x86_64-linux-gnu/libcudnn.so.8")
    start = time.monotonic()
    examine(Machine.at(tmp_path))
    assert time.monotonic() - start < 5


@unix
def test_names_with_undecodable_bytes_can_be_printed(tmp_path: Path) -> None:
    from doctor.probe import examine

    folder = os.fsdecode(b"/opt/caf\xe9")
    (tmp_path / RECORD).write_text(json.dumps({"env": {"LD_LIBRARY_PATH": folder}}))
    facts = examine(Machine.at(tmp_path))
    values = [fact.value for fact in facts if hasattr(fact, "value")]
    assert values == ["/opt/caf\\udce9"]
    for fact in facts:
        repr(fact).encode()
