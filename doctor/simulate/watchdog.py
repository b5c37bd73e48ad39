"""Cleans up after a simulation, however it ends.

It runs as a separate process in its own session: `python -I -S watchdog.py FOLDER`. Its stdin is a pipe; only
the simulation has the other end. The pipe closes when the simulation ends, even if it is killed. The watchdog
then ends every process that was started inside the simulation, and removes the simulation's folder.

A process belongs to the simulation if its environment says so (TFGPU_DOCTOR_SIMULATION names a file in the
folder), so no other process is ever touched.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time

MARK = "tfgpu-doctor-simulation-"  # the names of all simulations' folders begin with this
_PATIENCE = 3.0  # seconds between asking a process to end and killing it
_LOOK_AGAIN = 0.02  # seconds; for a moment during exec, a process has no environment


def processes_inside(folder: str) -> list[int]:
    """The processes whose environment refers to a file in this folder as their simulation."""
    wanted = f"\0TFGPU_DOCTOR_SIMULATION={folder}/".encode()
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 (starts faster without pathlib)
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
            if wanted in b"\0" + file.read():
                found.append(int(name))
    return found


def end_processes(folder: str) -> None:
    """Ask the processes to end, and kill those that do not."""
    deadline = time.monotonic() + _PATIENCE
    asked: set[int] = set()
    looks_without = 0
    while True:
        processes = processes_inside(folder)
        looks_without = 0 if processes else looks_without + 1
        if looks_without == 2:
            return
        late = time.monotonic() > deadline
        for process in processes:
            if late or process not in asked:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL if late else signal.SIGTERM)
                asked.add(process)
        if time.monotonic() > deadline + _PATIENCE:
            return  # not even SIGKILL ended them: they are blocked in the kernel
        time.sleep(_LOOK_AGAIN)


def main(folder: str) -> None:
    """Wait until the simulation ends, then end its processes and remove its folder."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        while os.read(0, 1):
            pass
    if not folder.rpartition("/")[2].startswith(MARK):
        return  # never remove a folder that no simulation created
    end_processes(folder)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
