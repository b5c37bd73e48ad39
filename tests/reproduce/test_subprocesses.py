"""Tests that no child process survives the end of its `with` block, the death of its parent, Ctrl-C, or its
time limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from doctor import resources
from doctor.subprocesses import Child, ChildError

GUARD = resources.text("doctor.subprocesses", "_guard.py")
STUCK = "say('ready', pid=os.getpid())\nctypes.CDLL(None).sleep(600)\n"
DEAF = "import signal\nfor n in (2, 15, 1): signal.signal(n, signal.SIG_IGN)\n" + STUCK
PARENT = """
import sys, time, os
from doctor.subprocesses import Child
from doctor.subprocesses.signals import ending_in_order
with ending_in_order(), Child(sys.executable, sys.argv[1], [], dict(os.environ)) as child:
    print(child.wait_for("ready", time.monotonic() + 30)["pid"], flush=True)
    while True:  # a signal that comes just before a sleep is seen after it (often so under Python 3.14.10)
        time.sleep(0.1)
"""


def is_there(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def is_gone_within(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while is_there(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("program", [STUCK, DEAF], ids=["stuck", "deaf to signals"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_child_does_not_survive_its_parents_end(number, program):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, GUARD + program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert parent.stdout is not None
    with parent.stdout:
        child = int(parent.stdout.readline())
        assert is_there(child)
        parent.send_signal(number)
        parent.wait(30)
    assert is_gone_within(child, 10)


def test_a_child_that_does_not_answer_is_ended_at_its_time_limit():
    with Child(sys.executable, GUARD + STUCK, [], dict(os.environ)) as child:
        child.wait_for("ready", time.monotonic() + 30)
        with pytest.raises(ChildError, match="time limit"):
            child.wait_for("never", time.monotonic() + 0.3)
        assert is_gone_within(child.process.pid, 5)


def test_a_grandchild_goes_with_its_parent():
    text = "import subprocess\np = subprocess.Popen(['sleep', '600'])\nsay('ready', pid=p.pid)\nheard()\n"
    with Child(sys.executable, GUARD + text, [], dict(os.environ)) as child:
        grandchild = child.wait_for("ready", time.monotonic() + 30)["pid"]
        assert is_there(grandchild)
    assert is_gone_within(grandchild, 5)


def test_a_flood_of_output_ends_the_child_and_is_reported():
    text = "import itertools\nfor _ in itertools.count(): os.write(2, b'x' * 65536)\n"
    with Child(sys.executable, GUARD + text, [], dict(os.environ)) as child:
        assert list(child.answers(time.monotonic() + 30)) == []
        assert "4 MiB" in child.how_it_ended()
        assert len(child.log) <= (4 << 20) + 65536


def test_answers_that_exceed_their_own_limit_end_the_child_and_are_named_with_it():
    text = "import itertools\nfor _ in itertools.count(): say('more', data='x' * 65536)\n"
    with Child(sys.executable, GUARD + text, [], dict(os.environ), limit=1 << 20) as child:
        list(child.answers(time.monotonic() + 30))
        assert "its output exceeded 1 MiB" in child.how_it_ended()


def test_what_a_library_prints_around_an_answer_does_no_harm():
    text = "print('noise {')\nsay('one', value=1)\nsys.stdout.write('half a line ')\nsay('two', value=2)\n"
    with Child(sys.executable, GUARD + text, [], dict(os.environ)) as child:
        assert [a["value"] for a in child.answers(time.monotonic() + 30)] == [1, 2]


def test_a_child_that_crashes_says_with_what():
    program = GUARD + "os.kill(os.getpid(), 11)\n"
    with Child(sys.executable, program, [], dict(os.environ)) as child, pytest.raises(
        ChildError, match="SIGSEGV"
    ):
        child.wait_for("ready", time.monotonic() + 30)
