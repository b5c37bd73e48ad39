"""Tests that when a program that the tool started ends, none of its child processes survives, even in another
group or session or after a double fork."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from doctor import processes
from doctor.probe.machine import Machine
from doctor.probe.running import run_program
from tests.sampling import sampled

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux lets this process adopt orphans"
)

DAEMON = """
import os, sys, time
def forked():
    if os.fork():
        os._exit(0)
def stay(mark):
    with open(mark, "a") as file:
        file.write("%d\\n" % os.getpid())
    time.sleep(600)
"""
EXECUTED = "import os, sys, time; open(sys.argv[1], 'a').write(str(os.getpid()) + chr(10)); time.sleep(600)"
WAYS = {
    "its own session": "if not os.fork(): os.setsid(); stay(mark)",
    "a double fork": "if not os.fork():\n    os.setsid(); forked(); stay(mark)",
    "sessions in sessions": """
if not os.fork():
    for _ in range(4):
        if os.getpid() != os.getsid(0): os.setsid()
        forked()
    stay(mark)
""",
    "a family": """
if not os.fork():
    os.setsid(); forked()
    for _ in range(3):
        if not os.fork(): os.setsid(); stay(mark)
    stay(mark)
""",
    "without descriptors": """
if not os.fork():
    os.setsid(); os.closerange(0, 64); forked(); stay(mark)
""",
    "without its environment": f"""
if not os.fork():
    os.setsid(); forked()
    os.execve(sys.executable, [sys.executable, "-c", {EXECUTED!r}, mark], {{}})
""",
}
STARTED = "while not os.path.exists(mark): time.sleep(0.01)\ntime.sleep(0.1)\n"
HOW = {
    "ends": STARTED,
    "hangs": "time.sleep(600)",
    "floods": STARTED + "while True: os.write(2, b'x' * 65536)",
}


def is_there(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def left(mark: Path) -> list[int]:
    """Return the ids of the processes that recorded their ids and still exist."""
    return [pid for pid in map(int, mark.read_text().split()) if is_there(pid)]


def program(way: str, how: str, mark: Path) -> str:
    return f"{DAEMON}\nmark = {str(mark)!r}\n{WAYS[way]}\n{HOW[how]}\n"


@pytest.mark.parametrize(("way", "how"), sampled(itertools.product(WAYS, HOW), 7))
def test_no_descendant_outlives_its_program(way: str, how: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    start = time.monotonic()
    ran = run_program([sys.executable, "-c", program(way, how, mark)], 2.0, dict(os.environ), limit=1 << 20)
    assert time.monotonic() - start < 20
    assert (ran.status == 0) == (how == "ends"), ran
    assert mark.read_text().split(), "the program must have started its children"
    assert not left(mark)


def test_check_kills_a_python_that_became_a_daemon(
    tmp_path: Path, cli: Callable[..., subprocess.CompletedProcess[bytes]]
) -> None:
    python, mark = tmp_path / "python", tmp_path / "mark"
    python.write_text(f"#!{sys.executable}\n{program('a double fork', 'ends', mark)}")
    python.chmod(0o755)
    done = cli("check", "--python", str(python))
    assert done.returncode in (1, 3)
    assert mark.read_text().split()
    assert not left(mark)


def test_other_children_are_not_killed(tmp_path: Path) -> None:
    """The other children belong to this process or its threads, or are in another session. The tool must not
    end processes that its programs did not start."""
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    before = [subprocess.Popen(sleep), subprocess.Popen(sleep, start_new_session=True)]
    mark = tmp_path / "mark"
    thread = threading.Thread(
        target=run_program,
        args=([sys.executable, "-c", program("a double fork", "ends", mark)], 9.0, dict(os.environ)),
    )
    thread.start()
    while not mark.exists():
        time.sleep(0.01)
    meanwhile = subprocess.Popen(sleep)
    thread.join()
    try:
        assert not left(mark)
        assert all(process.poll() is None for process in (*before, meanwhile))
    finally:
        for process in (*before, meanwhile):
            process.kill()
            process.wait()


def test_two_programs_at_once_do_not_affect_each_other(tmp_path: Path) -> None:
    marks = [tmp_path / name for name in ("one", "two")]
    texts = [program("a double fork", how, mark) for how, mark in zip(("ends", "hangs"), marks)]
    results: dict[int, object] = {}

    def run(number: int) -> None:
        results[number] = run_program([sys.executable, "-c", texts[number]], 1.5, dict(os.environ)).status

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: 0, 1: None}
    assert not [pid for mark in marks for pid in left(mark)]


def test_adoption_of_orphans_ends_afterwards() -> None:
    """While the tool runs no program, this process does not adopt orphaned processes."""
    Machine.here().run("nothing", [sys.executable, "-c", "pass"], 10.0)
    code = textwrap.dedent(
        """
        import os, sys, time
        if os.fork(): os._exit(0)
        while os.getppid() == int(sys.argv[1]): time.sleep(0.01)
        time.sleep(0.3); print(os.getppid())
        """
    )
    parent = (
        "import subprocess, sys\n"
        f"command = [sys.executable, '-c', {code!r}, '0']\n"
        "print(subprocess.run(command, capture_output=True, text=True).stdout)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", parent], capture_output=True, text=True, timeout=60, check=True
    )
    assert int(done.stdout) != os.getpid()


class Interrupted(subprocess.Popen):  # type: ignore[type-arg]
    """Simulates Ctrl-C directly after the fork, before any variable refers to the program."""

    pids: ClassVar[list[int]] = []

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[call-overload]
        self.pids.append(self.pid)
        raise KeyboardInterrupt


def gone(pid: int) -> bool:
    """Whether a process has ended. A zombie counts as ended."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return True


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # from unread pipes
def test_ctrl_c_during_the_start_leaves_no_program_running(monkeypatch: pytest.MonkeyPatch) -> None:
    bystander = subprocess.Popen(["sleep", "600"], start_new_session=True)
    time.sleep(0.05)
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_program(["sleep", "600"], 60, dict(os.environ))
        assert gone(Interrupted.pids[-1])
        assert not gone(bystander.pid)
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # from unread pipes
def test_ctrl_c_before_the_first_answer_leaves_no_program_running(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    popen = subprocess.Popen

    def start(*args: object, **options: object) -> object:
        process = popen(*args, **options)  # type: ignore[call-overload]
        started.append(process.pid)
        return process

    def interrupted(_thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_program(["sleep", "600"], 60, dict(os.environ))
    assert gone(started[-1])


def test_after_stop_no_thread_starts_a_program() -> None:
    processes.stop()
    try:
        ran = run_program(["sleep", "600"], 60, dict(os.environ))
        assert ran.failure == "interrupted by the user"
    finally:
        processes.resume()
    assert run_program(["true"], 60, dict(os.environ)).status == 0
