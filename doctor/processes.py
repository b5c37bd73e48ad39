"""Programs that we started, held to the last descendant: what leaves its process group or session is ours
all the same.

While a program of ours runs, this process is the one to which the kernel gives orphans below it (Linux,
PR_SET_CHILD_SUBREAPER of prctl(2)). So a program cannot get away by a double fork and setsid: once its
parent has ended, it is a child of ours, and is killed with what it started. Elsewhere only the process group
is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
"""linux/prctl.h."""
PATIENCE = 1.0
"""Seconds for what was killed to be gone: a process that hangs in the kernel is left behind."""

_lock = threading.Lock()
_running: set[Any] = set()
"""The programs that were started here and have not been given back."""
_adopting = False
_strangers: frozenset[int] = frozenset()
"""Children of ours that were there before the first program of ours."""


def options() -> dict[str, Any]:
    """What `subprocess.Popen` needs so that a program and what it starts can be held."""
    return {"start_new_session": True} if os.name == "posix" else {}


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """The block that starts a program and calls `hold`: no orphan of others is taken for one of ours
    meanwhile."""
    global _strangers, _adopting
    with _lock:
        if not _running and not _adopting and _adopt(on=True):
            _adopting = True
            _strangers = frozenset(_children().get(os.getpid(), ()))
        yield


def hold(process: Any) -> None:
    """Count a started `subprocess.Popen` as running; only within `starting`."""
    _running.add(process)


def kill(process: Any) -> None:
    """Kill a program with its process group, and wait a second for it to be gone."""
    import subprocess

    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE)


def release(process: Any) -> None:
    """Give back a program that has ended or was killed; after the last one nothing that they started is
    left."""
    global _adopting
    with _lock:
        if process not in _running:
            return
        _running.discard(process)
        if not _running and _adopting:
            _sweep(process.pid)
            _adopting = not _adopt(on=False)


def _adopt(*, on: bool) -> bool:
    """Whether orphans below this process become its children, from now on."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _sweep(ended: int) -> None:
    """Kill the orphans that came to us, and all below them, until none is left.

    An orphan of a program has left our session: `start_new_session` took the program out of it.
    """
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        below = _children()
        orphans = [
            pid
            for pid in below.get(os.getpid(), ())
            if pid != ended and pid not in _strangers and _left_session(pid)
        ]
        if not orphans:
            return
        every = list(orphans)
        for pid in every:
            every += below.get(pid, ())
        for pid in every:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in orphans:
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.002)


def _left_session(pid: int) -> bool:
    try:
        return os.getsid(pid) != os.getsid(0)
    except OSError:
        return False


def _children() -> dict[int, list[int]]:
    """Children by parent, of all processes (proc(5), /proc/PID/stat); nothing if this process has no
    child."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except OSError:
        return {}
    found: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    words = file.read().rpartition(b")")[2].split()  # the name before it may hold anything
                found.setdefault(int(words[1]), []).append(int(name))
    return found
