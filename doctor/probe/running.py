"""Runs programs with limits on time and output, and leaves no process behind."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doctor import processes
from doctor.values import dataclass

if TYPE_CHECKING:
    from typing import TypeAlias

OUTPUT_LIMIT = 4 << 20
"""The maximum number of bytes to keep of a program's stdout, and of its stderr."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a program: exit status (None if it ran out of time or could not start), output, and the
    reason for a failure."""

    status: int | None
    out: str = ""
    err: str = ""
    timed_out: bool = False
    failure: str = ""


_running: set[Any] = set()
"""The processes that this module started and that have not ended."""

Runner: TypeAlias = "Callable[[Sequence[str], float, Mapping[str, str]], Ran]"


def run_program(
    argv: Sequence[str],
    timeout: float,
    env: Mapping[str, str],
    limit: int = OUTPUT_LIMIT,
    cwd: str | None = None,
    feed: bytes | None = None,
) -> Ran:
    """Run a program with a time limit in seconds and a limit in bytes on each of its outputs.

    feed: the bytes for its stdin, which stays open until the program ends; None means no input.

    At either limit the program is killed, with everything that it started (doctor.processes). A process that
    cannot be killed, because a driver hangs in the kernel, is left behind after another second. Nothing that
    the program does raises an error here.
    """
    import subprocess
    import threading

    process: Any = None
    kept: list[list[bytes]] = [[], []]
    too_much = threading.Event()
    ended = threading.Event()
    timed_out = False

    def collect(stream: Any, into: list[bytes]) -> None:
        size = 0
        with stream:
            while data := os.read(stream.fileno(), 1 << 16):
                if size < limit:
                    into.append(data[: limit - size])
                size += len(data)
                if size > limit and not too_much.is_set():
                    too_much.set()
                    processes.kill(process)

    def write() -> None:
        with contextlib.suppress(OSError, ValueError):  # the program ended before it read everything
            process.stdin.write(feed)
            process.stdin.flush()

    def wait() -> None:
        process.wait()  # with a timeout it would poll at growing intervals
        ended.set()

    try:
        with processes.starting():
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL if feed is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(env),
                cwd=cwd,
                **processes.options(),
            )
            processes.hold(process)
            _running.add(process)
        readers = [
            threading.Thread(target=collect, args=(stream, into), daemon=True)
            for stream, into in zip((process.stdout, process.stderr), kept)
        ]
        if feed is not None:
            readers.append(threading.Thread(target=write, daemon=True))
        for thread in (*readers, threading.Thread(target=wait, daemon=True)):
            thread.start()
        if not ended.wait(timeout):
            timed_out = True
            processes.kill(process)
    except BaseException as problem:
        if process is None and isinstance(problem, (OSError, ValueError)):
            return Ran(None, failure=str(problem))
        if process is not None:
            processes.kill(process)
        raise
    finally:
        if process is not None:
            _running.discard(process)
            processes.release(process)
    for reader in readers:
        reader.join(1)
    if process.stdin is not None and not readers[-1].is_alive():
        # while a write hangs, a close would hang too
        with contextlib.suppress(OSError, ValueError):
            process.stdin.close()
    out, err = (b"".join(pieces).decode("utf-8", "replace") for pieces in kept)
    failure = f"its output exceeded {limit} bytes" if too_much.is_set() else ""
    return Ran(None if timed_out or failure else process.returncode, out, err, timed_out, failure)


def end_children() -> None:
    """Kill the programs that `run_program` runs in other threads, so that none is left behind after an
    interrupt."""
    for process in processes.held():
        if process in _running:
            processes.kill(process)
            processes.release(process)
