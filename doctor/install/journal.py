"""The journal of an installation: it shows that an installation is running, and how far it has progressed.

The journal of the folder NAME is the file `.NAME.tfgpu-doctor` beside it. An installation holds a lock on it;
the kernel releases the lock when the last process of the installation ends. Each line is written before the
step that it announces, and the file is removed last. So the next installation knows the state of the folders,
no matter when a process was killed:

    before   the folder that was moved aside, if any; while it exists, its replacement is incomplete
    done     the new environment is complete; the folder that was moved aside must be removed
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from doctor.errors import UnableError
from doctor.install.lock import LockedError, lock
from doctor.values import dataclass

BEAT = 1.0
"""Seconds between two updates of the journal's modification time, which shows when the installation ended."""


@dataclass(frozen=True)
class Entry:
    """One line of the journal.

    before: the name, in the same parent folder, of the folder that was moved aside. made: how many parent
    folders the installation created. temporary: the folder in which the installer unpacks. keep: whether to
    keep an incomplete environment.
    """

    state: str = "making"
    pid: int = 0
    started: str = ""
    before: str | None = None
    made: int = 0
    temporary: str | None = None
    keep: bool = False


def journal_path(env: Path) -> Path:
    """Return the journal's path for an environment's folder. It is the same for every spelling of that
    folder."""
    return Path(os.path.realpath(env.parent)) / f".{env.name}.tfgpu-doctor"


def moved_aside(env: Path, entry: Entry) -> Path | None:
    """Return the folder that was moved aside, or None if its name is not one that an installation chooses."""
    name = entry.before
    if name is None or not re.fullmatch(re.escape(env.name) + r"\.before-\d+", name):
        return None
    return env.with_name(name)


@contextlib.contextmanager
def locked(path: Path, env: Path) -> Iterator[IO[bytes]]:
    """Open and lock the journal. Raises UnableError if another installation holds it or another user owns
    it."""
    try:
        with lock(path) as journal:
            yield journal
    except LockedError as held_by:
        raise UnableError(
            _holder(env, last_entry(held_by.words)), "wait until it ends, or choose another folder with --env"
        ) from None


def _holder(env: Path, entry: Entry | None) -> str:
    if entry is None or not entry.pid:
        return f"another installation into {env} is running"
    who = f"process {entry.pid}, since {entry.started}"
    if Path("/proc/self").exists() and not Path(f"/proc/{entry.pid}").exists():
        return f"an installation into {env} was interrupted ({who}), but its installer is still running"
    return f"another installation into {env} is running ({who})"


def write(journal: IO[bytes], entry: Entry) -> None:
    """Add a line, and wait until it is on the disk. Only then may the step that it announces begin."""
    journal.seek(0, os.SEEK_END)
    journal.write(json.dumps(asdict(entry)).encode() + b"\n")
    journal.flush()
    os.fsync(journal.fileno())


_KINDS: dict[str, Any] = {
    "state": str, "pid": int, "started": str, "before": str, "made": int, "temporary": str, "keep": bool,
}  # fmt: skip


def last_entry(words: bytes) -> Entry | None:
    """Return the last complete line of a journal. A value of the wrong type is replaced with its default."""
    for line in reversed(words[-65536:].split(b"\n")):
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict):
            return Entry(
                **{name: said[name] for name, kind in _KINDS.items() if type(said.get(name)) is kind}
            )
    return None


class Beat:
    """A thread that updates the journal's modification time while the process lives."""

    def __init__(self, journal: IO[bytes]) -> None:
        self._file: int | str = journal.fileno() if os.utime in os.supports_fd else journal.name
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(BEAT):
            with contextlib.suppress(OSError):
                os.utime(self._file)

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
