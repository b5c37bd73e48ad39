"""The folder of a new environment. Only one installation at a time holds it; after a crash the next one
repairs it.

During an installation, a journal beside the folder says how far it has progressed (`doctor.install.journal`).
Only files that an installation created are removed; if the folder contains any other file, the whole folder
stays.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from doctor.errors import UnableError, UsageError
from doctor.folders import temporary_folder
from doctor.install.journal import Beat, Entry, journal_path, last_entry, locked, moved_aside, write
from doctor.install.lock import OTHER_FOLDER
from doctor.install.removal import TEMPORARY, clear_temporary, foreign, remove
from doctor.subprocesses.signals import Ending
from doctor.values import dataclass, field, replace

SLACK = 10.0
"""Seconds after the journal's last update during which an installer may still have written files."""


@dataclass
class Target:
    """An environment's folder that this process has locked.

    notes: sentences about what was done with an earlier installation.
    """

    env: Path
    entry: Entry
    journal: IO[bytes]
    temporary: Path
    notes: list[str] = field(default_factory=list)

    @property
    def before(self) -> Path | None:
        """The path of the old folder after it was moved aside, or None if there was none."""
        return moved_aside(self.env, self.entry)


def is_environment(folder: Path) -> bool:
    """Whether a folder is a virtual environment or a conda environment."""
    return not folder.is_symlink() and ((folder / "pyvenv.cfg").is_file() or (folder / "conda-meta").is_dir())


def look(env: Path, replacing: bool) -> None:
    """Raise UsageError if the folder may not be used, UnableError if another installation holds it. Nothing
    is changed.

    The remains of an interrupted installation are allowed: `held` repairs them.
    """
    path = journal_path(env)
    if path.exists():
        with locked(path, env):
            return
    _may_be_taken(env, replacing)


@contextlib.contextmanager
def held(env: Path, ending: Ending, *, keep: bool = False, replacing: bool = False) -> Iterator[Target]:
    """Hold the folder while the block creates an environment in it.

    If the block succeeds, the old folder is removed. If it raises, the new one is removed and the old one is
    put back (keep: both stay). Ctrl-C and SIGTERM interrupt neither of these. Raises UnableError if another
    installation holds the folder or it cannot be written, UsageError if something there may not be replaced.
    """
    with contextlib.ExitStack() as stack:
        target: Target | None = None
        try:
            with ending.deferred():
                target = _taken(env, stack, keep, replacing)
            beat = Beat(target.journal)
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
        write(target.journal, replace(target.entry, state="done"))
        target.notes = _finished(env, target.entry)
        _forget(env, target.journal, replace(target.entry, made=0))


def _taken(env: Path, stack: contextlib.ExitStack, keep: bool, replacing: bool) -> Target:
    """Move the old folder aside and hold the path until the stack ends. If it raises an error (the same ones
    as `held`), it leaves nothing behind."""
    made = _missing_parents(env)
    try:
        env.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UnableError(f"{env.parent} cannot be created: {problem.strerror}", OTHER_FOLDER) from problem
    journal = stack.enter_context(locked(journal_path(env), env))
    entry = Entry("making", os.getpid(), time.strftime("%Y-%m-%d %H:%M:%S"), made=made, keep=keep)
    notes = _repaired(env, journal)
    try:
        _may_be_taken(env, replacing)
    except UsageError as problem:
        _forget(env, journal, entry)
        raise UsageError(" ".join([*notes, str(problem)]), problem.hint) from problem
    temporary = temporary_folder() / (TEMPORARY + secrets.token_hex(8))
    entry = replace(entry, temporary=str(temporary), before=_free_name(env) if os.path.lexists(env) else None)
    target = Target(env, entry, journal, temporary, notes)
    write(journal, entry)
    try:
        temporary.mkdir(mode=0o700)
        if target.before is not None:
            env.rename(target.before)
    except OSError as problem:
        _forget(env, journal, entry)
        raise UnableError(f"{problem.filename}: {problem.strerror}", OTHER_FOLDER) from problem
    return target


# --- obstacles -------------------------------------------------------------------------------------


def _may_be_taken(env: Path, replacing: bool) -> None:
    if not os.path.lexists(env) or (env.is_dir() and not env.is_symlink() and not any(env.iterdir())):
        return
    if not replacing:
        raise UsageError(f"{env} already exists", "choose another folder with --env, or use --replace")
    if not is_environment(env):
        what = "not a Python environment (it has neither pyvenv.cfg nor conda-meta)"
        raise UsageError(
            f"{env} is {'a link' if env.is_symlink() else what}; --replace only replaces environments",
            f"choose another folder with --env, or move {env} away yourself",
        )


def _missing_parents(env: Path) -> int:
    """Return how many parent folders must be created."""
    return sum(not os.path.lexists(parent) for parent in env.parents)


def _free_name(env: Path) -> str:
    number = os.getpid()
    while os.path.lexists(env.with_name(f"{env.name}.before-{number}")):
        number += 1
    return f"{env.name}.before-{number}"


def _forget(env: Path, journal: IO[bytes], entry: Entry) -> None:
    """End an installation: remove the journal, then the empty parent folders that it created."""
    if entry.temporary:
        clear_temporary(entry.temporary)
    path = journal_path(env)
    if os.name == "nt":  # Windows cannot remove an open file
        journal.close()
    with contextlib.suppress(OSError):
        path.unlink()
    for parent in list(env.parents)[: entry.made]:
        with contextlib.suppress(OSError):
            parent.rmdir()


# --- how an installation ends: by itself or through the next one ---------------------------------------


def _repaired(env: Path, journal: IO[bytes]) -> list[str]:
    """Repair what the installation with this journal left behind. Returns sentences about what was done."""
    journal.seek(0)
    entry = last_entry(journal.read())
    if entry is None:
        return []
    last = os.fstat(journal.fileno()).st_mtime
    notes = [f"An installation into {env} was interrupted (process {entry.pid}, started {entry.started})."]
    if entry.state == "done":
        notes += _finished(env, entry)
    elif entry.keep:
        notes += _left(env, entry)
    else:
        notes += _undone(env, entry, last)
    if entry.temporary:
        clear_temporary(entry.temporary)
    journal.seek(0)
    journal.truncate()
    return notes


def _undone(env: Path, entry: Entry, ended: float | None = None) -> list[str]:
    """Remove the incomplete folder and put the old one back. Returns sentences about this. ended: when the
    installation ended; None: just now."""
    before = moved_aside(env, entry)
    if entry.before is not None and (before is None or not os.path.lexists(before)):
        return [f"{env} is as it was before."]  # not moved aside yet, or already put back
    notes = []
    if os.path.lexists(env):
        strange = foreign(env, None if ended is None else ended + SLACK)
        if strange is not None:
            notes.append(
                f"{env} is incomplete and was not removed, because {strange} in it was not created by the"
                " installation."
            )
            if before is None:
                return notes
            aside = env.with_name(entry.before.replace(".before-", ".unfinished-") if entry.before else "")
            env.rename(aside)
            notes.append(f"It has been renamed to {aside}.")
        else:
            remove(env)
            if os.path.lexists(env):
                return [
                    *notes,
                    f"{env} is incomplete and could not be removed completely"
                    + (f"; the earlier folder is now {before}." if before else "."),
                ]
            notes.append(f"{env} was incomplete and was removed.")
    if before is not None:
        before.rename(env)
        notes.append(f"The earlier {env} was put back.")
    return notes


def _left(env: Path, entry: Entry) -> list[str]:
    """Keep the incomplete folder (--keep). Returns sentences about what was kept."""
    before = moved_aside(env, entry)
    notes = [f"{env} was kept as it is (--keep)."] if os.path.lexists(env) else []
    if before is not None and os.path.lexists(before):
        if not notes:
            before.rename(env)
            return [f"The earlier {env} was put back."]
        notes.append(f"The earlier folder is now {before}.")
    return notes


def _finished(env: Path, entry: Entry) -> list[str]:
    """Remove the folder that the complete new environment replaces. Returns sentences about this."""
    before = moved_aside(env, entry)
    if before is None or not os.path.lexists(before):
        return []
    remove(before)
    if os.path.lexists(before):
        return [f"{env} is complete. The folder that it replaces could not be removed completely: {before}."]
    return [f"{env} is complete, and the folder that it replaces was removed."]
