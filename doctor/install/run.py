"""Running a job: step by step, with a log, and with nothing left behind where it fails or is interrupted."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType

from doctor.errors import UnableError
from doctor.install.inside import write_links, write_memory_growth
from doctor.install.job import Action, Job

MARK = ".tfgpu-doctor-unfinished"
"""In an environment that is being made. One that was left (a power cut) is known by it, and may be removed."""
TAIL = 40


class InstallFailedError(UnableError):
    """A step failed; the environment is gone again, or kept on demand."""


class Log:
    """What was done, a line each with its time; written as it happens."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stream = open(path, "w", encoding="utf-8", errors="replace")  # noqa: SIM115 closed by close()

    def say(self, text: str) -> None:
        """One entry."""
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self.stream.write(f"{now} {text}\n")
        self.stream.flush()

    def close(self) -> None:
        """No more entries."""
        self.stream.close()


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """SIGTERM and SIGHUP end the work as Ctrl-C does, so that what is half made is taken away."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    names = [n for n in ("SIGTERM", "SIGHUP") if hasattr(signal, n)]
    old = {}
    with contextlib.suppress(ValueError):  # not in the main thread
        old = {n: signal.signal(getattr(signal, n), stop) for n in names}
    try:
        yield
    finally:
        for name, handler in old.items():
            signal.signal(getattr(signal, name), handler)


def run(job: Job, log: Log, *, keep: bool = False, replace: bool = False, quiet: bool = False) -> list[str]:
    """Make the environment. Returns what was written into it besides packages, a line each.

    Raises InstallFailedError with the installer's own words; KeyboardInterrupt passes through. In both cases the
    environment is removed first, and what stood in its place before is put back (`keep`: it stays).
    """
    before = _set_aside(job.env, replace)
    made_parents = _missing_parents(job.env)
    # an installer that is stopped leaves its half unpacked files in the folder for temporary ones: so it gets its own
    temporary = Path(tempfile.mkdtemp(prefix="tfgpu-doctor-"))
    try:
        with _stoppable():
            written = _make(job, log, quiet, temporary)
    except BaseException as problem:
        if keep and job.env.exists():
            log.say(
                f"stopped ({type(problem).__name__}); kept {job.env} and what was there before: {before or 'nothing'}"
            )
        else:
            _remove(job.env, made_parents)
            if before is not None:
                before.rename(job.env)
            log.say(f"stopped ({type(problem).__name__}); removed {job.env}")
        if not quiet:
            left = "was removed again" if not job.env.exists() else "was put back" if before and not keep else "was kept"
            print(f"\n{job.env} {left}; what was done stands in {log.path}", file=sys.stderr)
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    if before is not None:
        shutil.rmtree(before, ignore_errors=True)
    return written


def undo(job: Job, log: Log) -> None:
    """Remove a finished environment again."""
    _remove(job.env, [])
    log.say(f"removed {job.env}")


def _set_aside(env: Path, replace: bool) -> Path | None:
    """Move what stands in the way to a name beside it; None where nothing does."""
    if not os.path.lexists(env):
        return None
    if env.is_dir() and not env.is_symlink():
        if (env / MARK).exists():  # our own, left half made
            shutil.rmtree(env)
            return None
        if not any(env.iterdir()):
            env.rmdir()
            return None
    if not replace:
        raise UnableError(f"{env} is there already", "choose another folder with --env, or --replace")
    aside = env.with_name(f"{env.name}.before-{os.getpid()}")
    env.rename(aside)
    return aside


def _missing_parents(env: Path) -> list[Path]:
    """The folders above that will be made along with it, the innermost first."""
    missing = []
    parent = env.parent
    while not parent.exists():
        missing.append(parent)
        parent = parent.parent
    return missing


def _remove(env: Path, parents: list[Path]) -> None:
    for _ in range(3):
        shutil.rmtree(env, ignore_errors=True)
        if not env.exists():
            break
        time.sleep(0.2)
    for parent in parents:
        with contextlib.suppress(OSError):
            parent.rmdir()


def _make(job: Job, log: Log, quiet: bool, temporary: Path) -> list[str]:
    job.env.parent.mkdir(parents=True, exist_ok=True)
    for action in job.actions:
        log.say(f"$ {action.line}")
        start = time.monotonic()
        _do(action, log, quiet, temporary)
        log.say(f"done in {time.monotonic() - start:.1f} s")
        if job.env.is_dir():
            (job.env / MARK).touch()
    written: list[str] = []
    try:
        for path in write_links(job.site_packages, job.links):
            written.append(f"{path} -> {path.readlink()}")
        if job.memory_growth:
            written.append(str(write_memory_growth(job.site_packages)))
    except OSError as problem:
        raise InstallFailedError(f"{problem.filename}: {problem.strerror}") from problem
    for line in written:
        log.say(f"wrote {line}")
    (job.env / MARK).unlink(missing_ok=True)
    return written


def _do(action: Action, log: Log, quiet: bool, temporary: Path) -> None:
    """Run one command. Its output goes to the log; on a terminal the installer's own progress with sizes is shown."""
    shown = sys.stderr.isatty() and action.large and not quiet
    environment = {**os.environ, "PIP_NO_INPUT": "1", "PYTHONUNBUFFERED": "1"}
    environment.update({name: str(temporary) for name in ("TMPDIR", "TEMP", "TMP")})
    environment.pop("PYTHONHOME", None)
    environment.pop("PIP_REQUIRE_VIRTUALENV", None)
    environment.pop("PIP_USER", None)
    command = list(action.command)
    pip_log = temporary / "pip.log"
    if shown and "-m" in command and "pip" in command:  # it speaks to the terminal: this is where its words are kept
        command += ["--log", str(pip_log)]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=None if shown else subprocess.PIPE,
            stderr=None if shown else subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
        )
    except OSError as problem:
        raise InstallFailedError(f"{command[0]} cannot be started: {problem.strerror}") from problem
    tail: list[str] = []
    try:
        if process.stdout is not None:
            for line in process.stdout:
                log.stream.write(f"    {line}" if line.endswith("\n") else f"    {line}\n")
                tail = [*tail[-TAIL:], line.rstrip()]
                if action.large and not quiet and _telling(line):
                    print(f"  {line.strip()}", file=sys.stderr)
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
        said = [line.partition(" ")[2] for line in pip_log.read_text(encoding="utf-8", errors="replace").splitlines()]
        telling = said if code else [line for line in said if line.startswith(("Downloading ", "Using cached ", "Successfully "))]
        log.stream.writelines(f"    {line}\n" for line in telling[-400:])
        tail = said[-TAIL:]
    if code:
        raise InstallFailedError(*_why(tail, action, code))


def _telling(line: str) -> bool:
    """Lines of pip and uv that name what comes down, with its size."""
    return line.lstrip().startswith(("Downloading ", "Resolved ", "Prepared ", "Installed ", "Installing collected"))


def _why(tail: list[str], action: Action, code: int) -> tuple[str, str]:
    """What failed and what to do, from the installer's last words."""
    words = "\n".join(tail)
    low = words.lower()
    errors = [
        line for line in tail if line.lstrip().lower().startswith(("error", "× ", "╰─▶")) or "error:" in line.lower()
    ]
    line = (errors or tail or [f"`{action.line}` ended with {code}"])[-1].strip()
    told = next((at for at, text in enumerate(tail) if text.lstrip().startswith(("error: ", "× "))), None)
    if told is not None:  # uv says what is wrong in one line and why in those after it
        line = re.sub(r"\s+", " ", " ".join(text.strip(" ×╰─▶│") for text in tail[told:]))[:600]
    if "no space left on device" in low or "disk quota exceeded" in low:
        return f"the disk is full: {line}", "free some space (pip cache purge), or choose another disk with --env"
    if "do not match the hashes" in low or "hash mismatch" in low:
        return (
            "a package that came down is not the one that the index promised (its hash differs)",
            "try again; where it happens again, pip cache purge, and ask who runs the index or proxy in between",
        )
    network = (
        "failed to establish a new connection", "name or service not known", "temporary failure in name resolution",
        "max retries exceeded", "connection refused", "network is unreachable", "dns error", "proxyerror",
        "error sending request", "read timed out", "connection reset", "tls handshake", "certificate verify failed",
    )  # fmt: skip
    telling = next((text.strip() for text in tail if any(sign in text.lower() for sign in network)), None)
    if telling is not None:
        return (
            f"the package index could not be reached: {telling[:300]}",
            "check the network, a proxy (HTTPS_PROXY) or the index (pip config list), and run it again: what came down is kept in the cache",
        )
    return f"{line}" if line else f"`{action.line}` ended with {code}", f"the command was: {action.line}"
