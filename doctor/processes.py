"""Controls the programs that this process started and all their descendants, even those that leave the
process group or session.

While such a program runs, the kernel makes this process the parent of all orphans below it (Linux,
PR_SET_CHILD_SUBREAPER of prctl(2)). So a program cannot escape by a double fork and setsid: once its parent
has ended, it is a child of this process, and is killed with everything that it started. On other systems,
only the process group is killed.
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
"""The value of PR_SET_CHILD_SUBREAPER in linux/prctl.h."""
PATIENCE = 1.0
"""Seconds to wait for killed processes. A process that hangs in the kernel for longer is left behind."""

_lock = threading.Lock()
_running: set[Any] = set()
"""The programs that were started and have not been released yet."""
_stopped = False
"""Whether no more programs may be started."""
_adopting = False
"""Whether orphans become children of this process."""
_strangers: frozenset[int] = frozenset()
"""Children of this process that existed before the first program; they are never killed."""


def options() -> dict[str, Any]:
    """Return the options of `subprocess.Popen` that make it possible to control a program and its
    descendants."""
    return {"start_new_session": True} if os.name == "posix" else {}


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """A context in which to start a program and call `hold`. It makes sure that processes which existed
    before are not mistaken for descendants of the program, and that Ctrl-C between the start and `hold` does
    not leave the program running. Raises OSError after `stop`."""
    global _strangers, _adopting
    with _lock:
        if _stopped:
            raise OSError("interrupted by the user")
        if not _running and not _adopting and _adopt(on=True):
            _adopting = True
            _strangers = frozenset(_children().get(os.getpid(), ()))
        began = time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else 0.0
        try:
            yield
        except BaseException:
            _kill_unheld(began)
            raise


def _kill_unheld(began: float) -> None:
    """Kill the children of this process that are not held and that started after `began`, a time in seconds
    since the system's start."""
    if not sys.platform.startswith("linux"):
        return
    ours = {process.pid for process in _running}
    for pid in _children().get(os.getpid(), ()):
        if pid in ours or pid in _strangers or _began(pid) < began - 0.02:
            continue  # 0.02, because the kernel counts in hundredths of a second
        for end in (os.killpg, os.kill):  # os.kill, because the process may not have created its group yet
            with contextlib.suppress(OSError):
                end(pid, signal.SIGKILL)
        limit = time.monotonic() + PATIENCE
        with contextlib.suppress(OSError):
            while os.waitpid(pid, os.WNOHANG) == (0, 0) and time.monotonic() < limit:
                time.sleep(0.002)


def _began(pid: int) -> float:
    """Return the start time of a process, in seconds since the system's start (proc(5), field 22 of
    /proc/PID/stat); 0 if it is not known."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def hold(process: Any) -> None:
    """Register a started `subprocess.Popen` as running. Call this only inside `starting`."""
    _running.add(process)


def kill(process: Any) -> None:
    """Kill a program with its process group, and wait up to a second until it is gone."""
    import subprocess

    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE)


def held() -> tuple[Any, ...]:
    """Return the programs that run, including those that another thread is just starting."""
    with _lock:
        return tuple(_running)


def stop() -> None:
    """Kill every program, and let no thread start another one, because this process is about to end."""
    global _stopped
    with _lock:
        _stopped = True
    for process in held():
        kill(process)
        release(process)


def resume() -> None:
    """Allow programs to start again after `stop`, for another call in the same process."""
    global _stopped
    _stopped = False


def release(process: Any) -> None:
    """Release a program that has ended or was killed. After the last one, kill every process that the
    programs left behind."""
    global _adopting
    with _lock:
        if process not in _running:
            return
        _running.discard(process)
        if not _running and _adopting:
            _sweep(process.pid)
            _adopting = not _adopt(on=False)


def _adopt(*, on: bool) -> bool:
    """Turn the adoption of orphans below this process on or off. Returns whether that succeeded."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _sweep(ended: int) -> None:
    """Kill the orphans that this process adopted, and everything below them, until none is left.

    An orphan is in another session than this process, because `start_new_session` gave each program a new
    session.
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
    """Return the children of each process, by its number (proc(5), /proc/PID/stat); empty if this process has
    no children."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except OSError:
        return {}
    found: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    # field 2, the name in parentheses, may contain any character
                    words = file.read().rpartition(b")")[2].split()
                found.setdefault(int(words[1]), []).append(int(name))
    return found
