"""The folder of a new environment: held by one installation at a time, and put right after one that was cut
off.

Beside the folder stands a journal while an installation works on it, `.NAME.tfgpu-doctor`. Its lock says that
the installation still runs: the kernel gives the lock up when the last process of it is gone. Its lines say
how far the installation came; each is written before the step that it speaks of, and the file is removed
last. So whatever moment a process is killed in, the next installation knows from the journal what the folders
are:

    before   the folder that was moved aside, if any; while it is there, what stands in its place is half made
    done     the new environment is complete; what was moved aside is to be removed

What is removed is only what an installation made: anything else in the folder keeps the whole folder where it
is.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import IO, Any

from doctor.children.signals import Ending
from doctor.errors import UnableError, UsageError
from doctor.install.lock import LockedError, lock

BEAT = 1.0
"""Seconds between two signs of life: the time of the journal's last change says when the installation
ended."""
SLACK = 10.0
"""Seconds after the last sign of life in which an installer may still have written."""
TEMPORARY = "tfgpu-doctor-"
_MADE = frozenset(
    ("bin", "lib", "lib64", "include", "share", "etc", "man", "pyvenv.cfg", ".gitignore", "CACHEDIR.TAG", ".lock",
     "Scripts", "Lib", "Include")
)  # fmt: skip
"""What venv, virtualenv, uv and pip make in an environment's own folder."""


@dataclass(frozen=True)
class Entry:
    """What an installation says of itself and of how far it came.

    before: the name, in the same folder, under which what stood there waits. made: how many folders above
    were made along with it. temporary: the folder in which the installer unpacks. keep: what is half made
    stays.
    """

    state: str = "making"
    pid: int = 0
    started: str = ""
    before: str | None = None
    made: int = 0
    temporary: str | None = None
    keep: bool = False


@dataclass
class Target:
    """An environment's folder that this process holds.

    notes: what was done about an earlier installation, in sentences.
    """

    env: Path
    entry: Entry
    journal: IO[bytes]
    temporary: Path
    notes: list[str] = field(default_factory=list)

    @property
    def before(self) -> Path | None:
        """Where the folder waits that is to be replaced."""
        return _before(self.env, self.entry)


def journal_path(env: Path) -> Path:
    """Where the journal of an installation into this folder stands; the same for every spelling of the
    path."""
    return Path(os.path.realpath(env.parent)) / f".{env.name}.tfgpu-doctor"


def is_environment(folder: Path) -> bool:
    """Whether a folder is a virtual environment or one of conda."""
    return not folder.is_symlink() and ((folder / "pyvenv.cfg").is_file() or (folder / "conda-meta").is_dir())


def look(env: Path, replacing: bool) -> None:
    """Raise UsageError where the folder may not be taken, UnableError where another installation holds it.
    Changes nothing.

    What an installation left that was cut off is no hindrance: `held` puts it right.
    """
    path = journal_path(env)
    if path.exists():
        with _locked(path, env):
            return
    _may_be_taken(env, replacing)


@contextlib.contextmanager
def held(env: Path, ending: Ending, *, keep: bool = False, replacing: bool = False) -> Iterator[Target]:
    """Hold the folder while the block makes an environment in it.

    Where the block ends well, what was replaced is removed. Where it raises, what the block made is removed
    and what stood there is put back (keep: both stay). Requests to end do not interrupt either.
    Raises UnableError where another installation holds the folder, or it cannot be written; UsageError where
    something stands there that may not be replaced.
    """
    with contextlib.ExitStack() as stack:
        target: Target | None = None
        try:
            with ending.deferred():
                target = _taken(env, stack, keep, replacing)
            beat = _Beat(target.journal)
            stack.callback(beat.stop)
            yield target
        except BaseException:
            with contextlib.suppress(KeyboardInterrupt):
                ending.shield()
            if target is not None:
                target.notes = _left(env, target.entry) if keep else _undone(env, target.entry)
                _forget(env, target.journal, target.entry)
            raise
        ending.shield()
        _write(target.journal, replace(target.entry, state="done"))
        target.notes = _finished(env, target.entry)
        _forget(env, target.journal, replace(target.entry, made=0))


def _taken(env: Path, stack: contextlib.ExitStack, keep: bool, replacing: bool) -> Target:
    """Hold the folder until the stack ends, with what stood there moved aside. Raises as `held` does, with
    nothing left."""
    made = _missing_parents(env)
    try:
        env.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UnableError(
            f"{env.parent} cannot be made: {problem.strerror}", "choose another folder with --env"
        ) from problem
    journal = stack.enter_context(_locked(journal_path(env), env))
    entry = Entry("making", os.getpid(), time.strftime("%Y-%m-%d %H:%M:%S"), made=made, keep=keep)
    notes = _repaired(env, journal)
    try:
        _may_be_taken(env, replacing)
    except UsageError as problem:
        _forget(env, journal, entry)
        raise UsageError(" ".join([*notes, str(problem)]), problem.hint) from problem
    temporary = Path(tempfile.gettempdir(), TEMPORARY + secrets.token_hex(8))
    entry = replace(entry, temporary=str(temporary), before=_free_name(env) if os.path.lexists(env) else None)
    target = Target(env, entry, journal, temporary, notes)
    _write(journal, entry)
    try:
        temporary.mkdir(mode=0o700)
        if target.before is not None:
            env.rename(target.before)
    except OSError as problem:
        _forget(env, journal, entry)
        raise UnableError(
            f"{problem.filename}: {problem.strerror}", "choose another folder with --env"
        ) from problem
    return target


# --- what stands in the way --------------------------------------------------------------------------


def _may_be_taken(env: Path, replacing: bool) -> None:
    if not os.path.lexists(env) or (env.is_dir() and not env.is_symlink() and not any(env.iterdir())):
        return
    if not replacing:
        raise UsageError(f"{env} is there already", "choose another folder with --env, or --replace")
    if not is_environment(env):
        what = (
            "a link"
            if env.is_symlink()
            else "no Python environment (it has neither pyvenv.cfg nor conda-meta)"
        )
        raise UsageError(
            f"{env} is {what}, and --replace replaces an environment only",
            "choose another folder with --env, or move it away yourself",
        )


def _missing_parents(env: Path) -> int:
    missing = 0
    for parent in env.parents:
        if os.path.lexists(parent):
            break
        missing += 1
    return missing


def _free_name(env: Path) -> str:
    number = os.getpid()
    while os.path.lexists(env.with_name(f"{env.name}.before-{number}")):
        number += 1
    return f"{env.name}.before-{number}"


def _before(env: Path, entry: Entry) -> Path | None:
    """The folder moved aside; only a name of the form that we give is believed."""
    name = entry.before
    if name is None or not re.fullmatch(re.escape(env.name) + r"\.before-\d+", name):
        return None
    return env.with_name(name)


# --- the journal -------------------------------------------------------------------------------------


@contextlib.contextmanager
def _locked(path: Path, env: Path) -> Iterator[IO[bytes]]:
    """The journal, opened and locked. Raises UnableError where another installation holds it, or it is not
    ours."""
    try:
        with lock(path) as journal:
            yield journal
    except LockedError as held_by:
        raise UnableError(
            _holder(env, _last(held_by.words)), "wait until it ends, or choose another folder with --env"
        ) from None


def _holder(env: Path, entry: Entry | None) -> str:
    if entry is None or not entry.pid:
        return f"another installation into {env} is at work"
    who = f"process {entry.pid}, since {entry.started}"
    if os.name == "posix" and not Path("/proc/self").exists():
        return f"another installation into {env} is at work ({who})"
    if os.name == "posix" and not Path(f"/proc/{entry.pid}").exists():
        return f"an installation into {env} was cut off ({who}), and the installer that it started still runs"
    return f"another installation into {env} is at work ({who})"


def _write(journal: IO[bytes], entry: Entry) -> None:
    """Add a line, and wait until it is on the disk: what it speaks of is done after that."""
    values = {item.name: getattr(entry, item.name) for item in fields(entry)}
    journal.seek(0, os.SEEK_END)
    journal.write(json.dumps(values).encode() + b"\n")
    journal.flush()
    os.fsync(journal.fileno())


_KINDS: dict[str, Any] = {
    "state": str, "pid": int, "started": str, "before": str, "made": int, "temporary": str, "keep": bool,
}  # fmt: skip


def _last(words: bytes) -> Entry | None:
    """The last whole line of a journal; values of a wrong type count as not said."""
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


class _Beat:
    """A thread that changes the journal's time as long as the process lives."""

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


def _forget(env: Path, journal: IO[bytes], entry: Entry) -> None:
    """The end of an installation: the journal goes, and then those of the folders above that it made and are
    empty."""
    if entry.temporary:
        _clear_temporary(entry.temporary)
    path = journal_path(env)
    if os.name == "nt":  # a file that is open cannot be removed there
        journal.close()
    with contextlib.suppress(OSError):
        path.unlink()
    for parent in list(env.parents)[: entry.made]:
        with contextlib.suppress(OSError):
            parent.rmdir()


# --- how an installation ends, by itself or in the next one ------------------------------------------


def _repaired(env: Path, journal: IO[bytes]) -> list[str]:
    """Put right what the installation left that wrote this journal. Returns what was done, in sentences."""
    journal.seek(0)
    entry = _last(journal.read())
    if entry is None:
        return []
    last = os.fstat(journal.fileno()).st_mtime
    notes = [f"An installation into {env} was cut off (process {entry.pid}, since {entry.started})."]
    if entry.state == "done":
        notes += _finished(env, entry)
    elif entry.keep:
        notes += _left(env, entry)
    else:
        notes += _undone(env, entry, last)
    if entry.temporary:
        _clear_temporary(entry.temporary)
    journal.seek(0)
    journal.truncate()
    return notes


def _undone(env: Path, entry: Entry, ended: float | None = None) -> list[str]:
    """Remove what is half made and put back what stood there. ended: when the installation ended, if not just
    now."""
    before = _before(env, entry)
    if entry.before is not None and (before is None or not os.path.lexists(before)):
        return [f"{env} is as it was before."]  # not moved aside yet, or put back already
    notes = []
    if os.path.lexists(env):
        strange = foreign(env, None if ended is None else ended + SLACK)
        if strange is not None:
            notes.append(
                f"{env} is half made and was not removed: {strange} in it is not of the installation."
            )
            if before is None:
                return notes
            aside = env.with_name(entry.before.replace(".before-", ".unfinished-") if entry.before else "")
            env.rename(aside)
            notes.append(f"It is now {aside}.")
        else:
            _remove(env)
            if os.path.lexists(env):
                return [
                    *notes,
                    f"{env} is half made and could not be removed whole"
                    + (f"; what stood there is {before}." if before else "."),
                ]
            notes.append(f"{env} was half made and was removed.")
    if before is not None:
        before.rename(env)
        notes.append(f"What stood in {env} before was put back.")
    return notes


def _left(env: Path, entry: Entry) -> list[str]:
    """What --keep keeps."""
    before = _before(env, entry)
    notes = [f"{env} was kept as it is (--keep)."] if os.path.lexists(env) else []
    if before is not None and os.path.lexists(before):
        if not notes:
            before.rename(env)
            return [f"What stood in {env} before was put back."]
        notes.append(f"What stood there before is {before}.")
    return notes


def _finished(env: Path, entry: Entry) -> list[str]:
    """The new environment is complete: remove what it replaces."""
    before = _before(env, entry)
    if before is None or not os.path.lexists(before):
        return []
    _remove(before)
    if os.path.lexists(before):
        return [f"{env} is complete. What it replaces could not be removed whole: {before}."]
    return [f"{env} is complete, and what it replaces was removed."]


def foreign(env: Path, since: float | None = None) -> str | None:
    """A path in the folder of an environment that no installer made; None where there is none.

    since: seconds of the clock; what changed later is foreign wherever it stands, since the installer had
    ended by then.
    """
    if env.is_symlink() or not env.is_dir():
        return str(env)
    own = _MADE | _data_files(env)
    for name in sorted(os.listdir(env)):  # noqa: PTH208
        if name not in own:
            return name
    if since is None:
        return None
    for where, folders, names in os.walk(env):
        for name in (*folders, *names):
            path = os.path.join(where, name)  # noqa: PTH118 thousands of files: strings are enough
            about = os.lstat(path)
            if max(about.st_mtime, about.st_ctime) > since:
                return os.path.relpath(path, env)
    return None


def _data_files(env: Path) -> set[str]:
    """What packages put into the environment's own folder, by the lists that pip and uv write."""
    found = set()
    for listed in env.glob("[lL]ib/**/site-packages/*.dist-info/RECORD"):
        missing = contextlib.suppress(OSError, csv.Error)
        with missing, open(listed, encoding="utf-8", errors="replace") as file:
            for row in csv.reader(file):
                outside = re.fullmatch(r"(?:\.\./){1,20}([^/]{1,255})(?:/.{0,4000})?", row[0] if row else "")
                if outside:
                    found.add(outside[1])
    return found


def _remove(folder: Path) -> None:
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            return
        time.sleep(0.2)


def _clear_temporary(text: str) -> None:
    """Remove the folder in which an installer unpacked; only one of our name, and a folder of this user."""
    path = Path(text)
    with contextlib.suppress(OSError):
        about = os.lstat(path)
        own = os.name == "nt" or about.st_uid == os.geteuid()
        if path.name.startswith(TEMPORARY) and stat.S_ISDIR(about.st_mode) and own:
            shutil.rmtree(path, ignore_errors=True)
