"""Tests that a simulation leaves no folder and no process behind, however it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.simulate.watchdog import processes_inside
from tests.sampling import sampled

RUN = "import sys; from doctor.cli import main; sys.exit(main())"
# a command that prints its folder, and leaves a child in a separate session
BUSY = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(os.path.dirname(os.environ["TFGPU_DOCTOR_SIMULATION"]), flush=True)
time.sleep({seconds})
sys.exit({code})
"""


def start(
    *arguments: str, seconds: float = 600, code: int = 0, group: bool = False
) -> tuple[subprocess.Popen[str], str]:
    """Start a simulation and wait until its command runs. Returns its process and its folder."""
    command = [sys.executable, "-c", BUSY.format(seconds=seconds, code=code)]
    child = subprocess.Popen(
        [sys.executable, "-c", RUN, "simulate", *arguments, "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=group,
        cwd=Path(__file__).parents[2],
    )
    assert child.stdout is not None
    with child.stdout:
        folder = child.stdout.readline().strip()
    assert Path(folder).is_dir()
    return child, folder


def wait_until(condition: Callable[[], bool], within: float = 15.0) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(0.02)


def nothing_is_left(folder: str) -> bool:
    return not Path(folder).exists() and not processes_inside(folder)


@pytest.mark.parametrize("code", sampled([0, 3], 1))
def test_after_the_command_ended(code):
    child, folder = start("--held", "1000", seconds=0, code=code)
    assert child.wait(30) == code
    assert not Path(folder).exists()
    assert processes_inside(folder) == []


def test_after_ctrl_c():
    child, folder = start("--held", "1000", group=True)
    wait_until(
        lambda: len(processes_inside(folder)) == 3
    )  # the command, its child, and the process that holds memory
    os.killpg(child.pid, signal.SIGINT)
    assert child.wait(30) == 128 + signal.SIGINT
    assert nothing_is_left(folder)


@pytest.mark.parametrize("number", sampled([signal.SIGTERM, signal.SIGHUP], 1))
def test_after_a_request_to_end(number):
    child, folder = start()
    child.send_signal(number)
    assert child.wait(30) == 128 + number
    assert nothing_is_left(folder)


def test_after_a_kill():
    child, folder = start("--held", "1000")
    child.kill()
    child.wait()
    wait_until(lambda: nothing_is_left(folder))


def watchdog_of(folder: str) -> int:
    """Return the watchdog process of a simulation, recognised by its arguments."""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = line.read_bytes().split(b"\0")
            if folder.encode() in words and b"-I" in words:
                return int(line.parent.name)
    raise AssertionError("there is no watchdog")


@pytest.mark.slow
def test_after_the_watchdog_was_killed():
    child, folder = start("--held", "1000")
    os.kill(watchdog_of(folder), signal.SIGKILL)
    child.send_signal(signal.SIGTERM)
    assert child.wait(30) == 128 + signal.SIGTERM
    assert nothing_is_left(folder)


def test_after_the_command_was_killed():
    child, folder = start("--held", "1000")
    wait_until(lambda: len(processes_inside(folder)) == 3)
    for process in processes_inside(folder):
        os.kill(process, signal.SIGKILL)
    assert child.wait(30) == 128 + signal.SIGKILL
    assert nothing_is_left(folder)


def test_after_simulation_and_watchdog_were_killed_together_the_next_simulation_cleans_up():
    child, folder = start()
    os.kill(watchdog_of(folder), signal.SIGKILL)
    child.kill()
    child.wait()
    assert Path(folder).exists()
    other, others = start()
    assert nothing_is_left(folder)
    assert Path(others).is_dir()
    other.send_signal(signal.SIGTERM)
    other.wait(30)
    assert nothing_is_left(others)


@pytest.mark.slow
def test_a_simulation_does_not_touch_others_that_run():
    first, one = start()
    second, two = start(seconds=0)
    assert second.wait(30) == 0
    assert Path(one).is_dir()
    assert len(processes_inside(one)) == 2
    first.send_signal(signal.SIGTERM)
    first.wait(30)
    assert nothing_is_left(one)
    assert nothing_is_left(two)


@pytest.mark.slow
def test_a_command_that_ignores_requests_to_end_is_killed():
    stubborn = (
        "import os, signal, time; signal.signal(15, signal.SIG_IGN);"
        " print(os.environ['TFGPU_DOCTOR_SIMULATION'], flush=True); time.sleep(600)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", RUN, "simulate", "--", sys.executable, "-c", stubborn],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert child.stdout is not None
    with child.stdout:
        folder = str(Path(child.stdout.readline().strip()).parent)
    child.kill()
    child.wait()
    wait_until(lambda: nothing_is_left(folder))


def test_processes_of_others_are_not_inside():
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        env={"TFGPU_DOCTOR_SIMULATION": "/tmp/other/machine"},
    )
    try:
        wait_until(lambda: processes_inside("/tmp/other") == [child.pid])  # wait until it has started
        assert processes_inside("/tmp/oth") == []
    finally:
        child.kill()
        child.wait()
