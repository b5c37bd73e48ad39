"""Runs a job step by step, with a log, and leaves nothing behind if it fails or is interrupted."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path

from doctor.errors import UnableError
from doctor.folders import temporary_folder
from doctor.install.inside import write_links, write_memory_growth
from doctor.install.job import Action, Job
from doctor.install.target import Target, held
from doctor.printable import say
from doctor.redact import Redactor, without_doors
from doctor.subprocesses.signals import ending_in_order

TAIL = 40
_PDEATHSIG = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
os.getppid() == int(sys.argv[1]) and os.execvp(sys.argv[2], sys.argv[2:])
"""
DIES_WITH_US = (sys.executable, "-I", "-S", "-c", _PDEATHSIG) if sys.platform == "linux" else ()
"""A program that starts a command so that the kernel kills the command when this process dies
(PR_SET_PDEATHSIG of linux/prctl.h, SIGKILL)."""


class InstallFailedError(UnableError):
    """A step failed. The environment was removed, or kept on request."""


class Log:
    """A log of each step with its time. It is written without delay, and redacted because people share
    logs."""

    def __init__(self, path: Path, descriptor: int | None = None) -> None:
        """Start a log. descriptor: the open file; None to create the file, or to empty it. Raises OSError."""
        self.path = path
        file = path if descriptor is None else descriptor
        self._stream = open(file, "w", encoding="utf-8", errors="replace")  # noqa: SIM115 closed by close()
        self._redacted = Redactor.of(os.environ)

    @classmethod
    def beside(cls, env: Path) -> Log:
        """Open a log beside the environment; an existing one is extended. If the environment's parent folder
        does not exist yet, the log is in the folder for temporary files. Links are not followed. Raises
        OSError."""
        parent = env.parent
        if parent.is_dir() and not _is_for_all(parent):
            path = parent / f"{env.name}.install.log"
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            with contextlib.suppress(OSError):
                descriptor = os.open(path, flags, 0o666)
                about = os.fstat(descriptor)
                if stat.S_ISREG(about.st_mode) and about.st_nlink == 1:
                    return cls(path, descriptor)
                os.close(descriptor)
        else:
            parent = temporary_folder()
        descriptor, name = tempfile.mkstemp(".log", f"{env.name}.install-", parent)
        return cls(Path(name), descriptor)

    def say(self, text: str) -> None:
        """Add one entry."""
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._stream.write(f"{now} {self._redacted(text)}\n")
        self._stream.flush()

    def heard(self, line: str) -> None:
        """Add one line of a command's output."""
        self._stream.write(f"    {self._redacted(line.rstrip())}\n")

    def close(self) -> None:
        """Close the log."""
        self._stream.close()


def _is_for_all(folder: Path) -> bool:
    """Whether other users may create files in a folder, as in /tmp; they could then create a file with a
    predictable name first."""
    return os.name == "posix" and bool(folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def run(
    job: Job,
    log: Log,
    *,
    keep: bool = False,
    replace: bool = False,
    quiet: bool = False,
    accept: Callable[[], None] = lambda: None,
) -> list[str]:
    """Create the environment. Returns one line for each thing that was written into it in addition to
    packages.

    accept: called when everything is installed; an exception from it undoes the installation, as a failure
    does. Raises InstallFailedError with the installer's own message, UnableError if another installation
    holds the folder, UsageError if the folder may not be used; KeyboardInterrupt passes through. Before any
    of these, the environment is removed and the earlier folder is put back (keep: both stay).
    """

    def tell(sentences: Iterable[str]) -> None:
        for sentence in sentences:
            log.say(sentence)
            if not quiet:
                say(sentence)

    with ending_in_order() as ending:
        target = None
        try:
            with held(job.env, ending, keep=keep, replacing=replace) as target:
                tell(target.notes)
                written = _make(job, log, quiet, target)
                accept()
        except BaseException as problem:
            if target is not None:
                log.say(f"stopped by {type(problem).__name__}")
                tell([*target.notes, f"The log is {log.path}."])
            raise
        tell(target.notes)
        return written


def _make(job: Job, log: Log, quiet: bool, target: Target) -> list[str]:
    for action in job.actions:
        log.say(f"$ {action.line}")
        start = time.monotonic()
        _do(action, log, quiet, target)
        log.say(f"done in {time.monotonic() - start:.1f} s")
    written: list[str] = []
    try:
        for path in write_links(job.site_packages, job.links):
            written.append(f"{path} -> {os.readlink(path)}")
        if job.memory_growth:
            written.append(str(write_memory_growth(job.site_packages)))
    except OSError as problem:
        raise InstallFailedError(f"{problem.filename}: {problem.strerror}") from problem
    for line in written:
        log.say(f"wrote {line}")
    return written


def _do(action: Action, log: Log, quiet: bool, target: Target) -> None:
    """Run one command. Its output goes to the log; on a terminal the installer shows its own progress with
    sizes."""
    # An installer that is stopped leaves half-unpacked files in its folder for temporary files, so it gets a
    # separate one.
    temporary = target.temporary
    shown = sys.stderr.isatty() and action.large and not quiet
    environment = {**os.environ, "PIP_NO_INPUT": "1", "PYTHONUNBUFFERED": "1"}
    environment.update(dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)))
    for name in ("PYTHONHOME", "PIP_REQUIRE_VIRTUALENV", "PIP_USER"):
        environment.pop(name, None)
    command = list(action.command)
    pip_log = temporary / "pip.log"
    if shown and "-m" in command and "pip" in command:  # pip writes to the terminal: log its output later
        command += ["--log", str(pip_log)]
    guarded = bool(DIES_WITH_US and shutil.which(command[0]))
    try:
        process = subprocess.Popen(
            [*DIES_WITH_US, str(os.getpid()), *command] if guarded else command,
            stdin=subprocess.DEVNULL,
            stdout=None if shown else subprocess.PIPE,
            stderr=None if shown else subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            # the journal stays locked while an installer works in the folder, even if this process has died
            pass_fds=(target.journal.fileno(),) if os.name == "posix" else (),
        )
    except OSError as problem:
        raise InstallFailedError(f"{command[0]} cannot be started: {problem.strerror}") from problem
    tail: list[str] = []
    try:
        if process.stdout is not None:
            for line in process.stdout:
                log.heard(line)
                line = without_doors(line.rstrip())
                tail = [*tail[-TAIL:], line]
                if action.large and not quiet and _telling(line):
                    say(f"  {line.strip()}")
        code = process.wait()
    except BaseException:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    finally:
        if process.stdout is not None:
            process.stdout.close()
    if shown and pip_log.exists():
        lines = pip_log.read_text(encoding="utf-8", errors="replace").splitlines()
        said = [without_doors(line.partition(" ")[2]) for line in lines]
        worth = "" if code else ("Downloading ", "Using cached ", "Successfully ")
        for line in [line for line in said if line.startswith(worth)][-400:]:
            log.heard(line)
        tail = said[-TAIL:]
    if code:
        raise InstallFailedError(*_why(tail, action, code))


def _telling(line: str) -> bool:
    """Whether a line from pip or uv reports progress, such as a download and its size."""
    return line.lstrip().startswith(
        ("Downloading ", "Resolved ", "Prepared ", "Installed ", "Installing collected")
    )


def _why(tail: list[str], action: Action, code: int) -> tuple[str, str]:
    """Return a description of what failed, and a hint about what to do next.

    tail: the last lines of the installer's output. code: its exit status.
    """
    low = "\n".join(tail).lower()
    errors = [
        line
        for line in tail
        if line.lstrip().lower().startswith(("error", "× ", "╰─▶")) or "error:" in line.lower()
    ]
    line = (errors or tail or [f"`{action.line}` ended with status {code}"])[-1].strip()
    start = next((at for at, text in enumerate(tail) if text.lstrip().startswith(("error: ", "× "))), None)
    if start is not None:  # uv says what is wrong in one line, and why in the next lines
        line = re.sub(r"\s+", " ", " ".join(text.strip(" ×╰─▶│") for text in tail[start:]))[:600]
    if "no space left on device" in low or "disk quota exceeded" in low:
        return (
            f"the disk is full: {line}",
            "free some space (for example with `pip cache purge`), or choose another disk with --env",
        )
    if "do not match the hashes" in low or "hash mismatch" in low:
        return (
            "a downloaded package is not the one that the index lists (its hash differs)",
            "try again; if that fails too, run `pip cache purge`, and ask the operator of the index or proxy",
        )
    network = (
        "failed to establish a new connection",
        "name or service not known",
        "temporary failure in name resolution",
        "max retries exceeded",
        "connection refused",
        "network is unreachable",
        "dns error",
        "proxyerror",
        "error sending request",
        "read timed out",
        "connection reset",
        "tls handshake",
        "certificate verify failed",
    )
    telling = next((text.strip() for text in tail if any(sign in text.lower() for sign in network)), None)
    if telling is not None:
        return (
            f"the package index could not be reached: {telling[:300]}",
            "check the network, the proxy (HTTPS_PROXY) and the index (pip config list), and run the command"
            " again: finished downloads stay in the cache",
        )
    return line or f"`{action.line}` ended with status {code}", f"the command was: {action.line}"
