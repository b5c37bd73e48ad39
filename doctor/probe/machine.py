"""The machine under examination: its files, its environment, and how a program is run on it.

A live machine is read from "/" and programs may be run. Any other root (a chroot, a container's file system,
a mounted disk, a recorded machine) is only read; nothing in it is run or loaded. A recorded machine has a
file named RECORD in its root. It contains what other files cannot show: the environment variables, the
platform, and the output of programs at the time of the recording.
"""

from __future__ import annotations

import errno
import fnmatch
import json
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from doctor.facts import Source
from doctor.probe import inside
from doctor.probe.processor import processor_of
from doctor.probe.recorded import checked
from doctor.probe.running import Ran, Runner, run_program
from doctor.values import dataclass, field

RECORD = ".tfgpu-doctor.json"
READ_LIMIT = 4 << 20
"""The largest size in bytes of a file that is read whole; the largest file needed, a loader's cache, is far
smaller."""
PIECE = 1 << 16
"""The number of bytes to read at once: /proc/sys refuses a large buffer with ENOMEM."""
KMSG = "/dev/kmsg"
T = TypeVar("T")


@dataclass(frozen=True)
class Account:
    """The user whose environment is examined, as passwd(5) and group(5) describe the user. groups: the GIDs
    of the user's groups; named: the name of each group on the machine, by GID."""

    name: str
    uid: int
    groups: frozenset[int]
    named: Mapping[int, str]


@dataclass
class Machine:
    """One machine: `root` is the host's folder that stands for its "/", `env` its environment variables.

    `system`: linux, windows or macos. `processor`: as in `uname -m`. `cwd`: the folder in which a program
    would start, None if unknown. `recorded`: the recorded answers, by question name (the argument `question`
    of `run`). `denied`: the devices that a recorded machine's user could not open. `origins`: the files that
    set the variables, where known. `account`: the user of another machine's environment, if its files show
    who that is.
    """

    root: str
    env: Mapping[str, str]
    system: str = "linux"
    processor: str = "x86_64"
    cwd: str | None = None
    runner: Runner | None = None
    recorded: Mapping[str, Any] = field(default_factory=dict)
    denied: tuple[str, ...] = ()
    name: str = ""
    origins: Mapping[str, Source] = field(default_factory=dict)
    account: Account | None = None
    _noting: threading.local = field(default_factory=threading.local, init=False, repr=False, compare=False)

    @classmethod
    def here(cls) -> Machine:
        """The machine on which this process runs."""
        system = {"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")
        if hasattr(os, "uname"):
            processor = os.uname().machine.lower()
        else:
            import platform

            processor = platform.machine().lower()
        try:
            cwd: str | None = str(Path.cwd())
        except OSError:
            cwd = None
        return cls(
            root="/",
            env=dict(os.environ),
            system=system,
            processor={"amd64": "x86_64"}.get(processor, processor),
            cwd=cwd,
            runner=run_program,
            name=f"{system} {processor}",
        )

    @classmethod
    def at(cls, root: str | os.PathLike[str]) -> Machine:
        """The machine whose files are under a folder; "/" is this machine itself.

        Raises NotADirectoryError if there is no such folder, ValueError if its record cannot be read.
        """
        folder = Path(root).resolve()
        if not folder.is_dir():
            raise NotADirectoryError(f"{root} is not a folder")
        if str(folder) == folder.anchor:
            return cls.here()
        files = cls(root=str(folder), env={}, name=folder.name)
        try:
            text = files.text(f"/{RECORD}")
            record = checked(json.loads(text)) if text is not None else {}
        except OSError as problem:
            raise ValueError(f"{folder / RECORD} cannot be read: {problem.strerror}") from problem
        except (ValueError, RecursionError) as problem:
            raise ValueError(f"{folder / RECORD} is not a machine's record: {problem}") from problem
        windows = files.is_dir("/Windows/System32")
        macos = files.is_dir("/System/Library/CoreServices")
        return cls(
            root=str(folder),
            env={str(k): str(v) for k, v in dict(record.get("env", {})).items()},
            system=str(record.get("system", "windows" if windows else "macos" if macos else "linux")),
            processor=str(record.get("processor", "")) or processor_of(files),
            cwd=record.get("cwd"),
            recorded=dict(record.get("answers", {})),
            denied=tuple(record.get("denied", ())),
            name=str(record.get("name", folder.name)),
        )

    @property
    def live(self) -> bool:
        """Whether programs may be run on the machine."""
        return self.runner is not None

    # --- files: absolute paths as the machine sees them -------------------------------------------

    def _inside(self, path: str) -> str:
        """The path in the form that doctor.probe.inside uses: a Windows path without the drive and with
        forward slashes."""
        if self.root == "/" or self.system != "windows":
            return path
        return path.replace("\\", "/").split(":", 1)[-1]

    def _look(self, function: Callable[..., T], path: str, **more: Any) -> T:
        """Call a function that reads from the machine. If it raises OSError, note the path and the reason,
        and re-raise it."""
        try:
            return function(self.root, self._inside(path), **more)
        except OSError as problem:
            problem.filename = path
            if problem.errno not in inside.ABSENT:
                self._failed(path, inside.reason(problem))
            raise

    def _failed(self, path: str, reason: str) -> None:
        for notes in getattr(self._noting, "open", ()):
            notes.setdefault(path, reason)

    @contextmanager
    def noting(self) -> Iterator[dict[str, str]]:
        """Collect the paths that this thread cannot read while the block runs, each with the reason.

        A probe that found nothing may report an absence only if the collection is empty.
        """
        notes: dict[str, str] = {}
        opened: list[dict[str, str]] = self._noting.__dict__.setdefault("open", [])
        opened.append(notes)
        try:
            yield notes
        finally:
            opened[:] = [entry for entry in opened if entry is not notes]

    def resolve(self, path: str) -> str:
        """The path with every symbolic link followed inside the root, as the machine itself would see it."""
        if self.root != "/" and self.system == "windows":
            return path
        try:
            return self._look(inside.real_inside, path)
        except OSError:
            return path

    def status(self, path: str, *, follow: bool = True) -> os.stat_result | None:
        """The result of stat(2) on a path; None if the path does not exist, or if access is denied
        (noted)."""
        try:
            return self._look(inside.status_inside, path, follow=follow)
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        """Whether the path exists and may be examined."""
        return self.status(path) is not None

    def is_dir(self, path: str) -> bool:
        """Whether the path is an existing folder (False if it may not be examined)."""
        status = self.status(path)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading. Raises OSError, also if it is not a regular file: a pipe would block
        forever."""
        return self._look(inside.open_inside, path)

    def read(self, path: str, head: int | None = None) -> bytes | None:
        """The bytes of a file, None if it does not exist; only the first `head` bytes if given.

        Raises OSError if it may not be read, or if it is larger than READ_LIMIT and `head` is not given.
        """
        try:
            with self.open(path) as file:
                pieces: list[bytes] = []
                left = READ_LIMIT + 1 if head is None else head
                while left > 0 and (piece := file.read(min(left, PIECE))):
                    pieces.append(piece)
                    left -= len(piece)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            self._failed(path, inside.reason(problem))
            raise
        if head is None and left <= 0:
            reason = f"it is larger than {READ_LIMIT >> 20} MiB"
            self._failed(path, reason)
            raise OSError(errno.EFBIG, reason, path)
        return b"".join(pieces)

    def text(self, path: str, head: int | None = None) -> str | None:
        """The same as `read`, as text; undecodable bytes are replaced."""
        data = self.read(path, head)
        return None if data is None else data.decode("utf-8", "replace")

    def text_seen(self, path: str, head: int | None = None) -> str:
        """The same as `text`, but "" if the file does not exist, and also if it cannot be read, which is
        noted."""
        try:
            return self.text(path, head) or ""
        except OSError:
            return ""

    def tail_seen(self, path: str, size: int) -> str:
        """The last `size` bytes of a file as text; "" if the file does not exist, and also if it cannot be
        read, which is noted."""
        try:
            with self.open(path) as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - size))
                return file.read(size).decode("utf-8", "replace")
        except OSError as problem:
            if problem.errno not in inside.ABSENT:
                self._failed(path, inside.reason(problem))
            return ""

    def kernel_messages(self, size: int) -> str:
        """The last `size` bytes of the kernel's message buffer; "" if this object is not the running machine,
        if there is no /dev/kmsg, or if it cannot be opened (kernel.dmesg_restrict). Only the last case is
        recorded for `noting`."""
        if not self.live or self.root != "/" or not self.exists(KMSG):
            return ""
        try:
            handle = inside.open_device(KMSG)
        except OSError as problem:
            self._failed(KMSG, inside.reason(problem))
            return ""
        kept: list[bytes] = []
        try:
            for _ in range(100_000):  # one message per read; the buffer holds a few thousand
                try:
                    kept.append(os.read(handle, 8192))
                except BlockingIOError:
                    break
                except BrokenPipeError:  # overwritten meanwhile: the next read returns a later message
                    continue
        finally:
            os.close(handle)
        return b"\n".join(kept)[-size:].decode("utf-8", "replace")

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted; [] if it does not exist. Raises OSError if it may not be read."""
        try:
            return self._look(inside.names_inside, path)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def names_seen(self, path: str) -> list[str]:
        """Like `names`, but returns [] for a folder that cannot be read, and notes the problem."""
        try:
            return self.names(path)
        except OSError:
            return []

    def glob(self, pattern: str) -> list[str]:
        """The paths that match a pattern with * and ? in any part, sorted. Unreadable folders count as empty
        and are noted."""
        text = pattern.replace("\\", "/") if self.system == "windows" else pattern
        parts = [part for part in text.split("/") if part]
        found = [""]
        if self.system == "windows" and parts and parts[0].endswith(":"):
            found = [parts.pop(0)]
        for part in parts:
            following: list[str] = []
            for base in found:
                if not any(sign in part for sign in "*?["):
                    following.append(f"{base}/{part}")
                    continue
                names = self.names_seen(base or "/")
                following += [f"{base}/{name}" for name in names if fnmatch.fnmatchcase(name, part)]
            found = following
        return [path for path in found if self.status(path, follow=False) is not None]

    def may_open(self, path: str) -> bool:
        """Whether this user may read and write a device. A record lists under "denied" the devices that its
        user may not open.

        A copy of another machine's files may have lost the original owners, and then a device's mode means
        nothing. The mode is therefore trusted only if the device's group is listed in that machine's
        /etc/group, or if only the owner may open the device although everyone may open /dev/null.
        """
        if self.live:
            return inside.may_inside(path, os.R_OK | os.W_OK)
        status, who = self.status(path), self.account
        if path in self.denied or status is None or who is None or who.uid == 0:
            return path not in self.denied
        if status.st_uid == who.uid:
            return True
        if status.st_mode & 0o077 == 0:
            plain = self.status("/dev/null")
            return plain is None or plain.st_mode & 0o004 == 0
        if status.st_gid == 0 or status.st_gid not in who.named:
            return True
        return bool(status.st_mode & (0o020 if status.st_gid in who.groups else 0o002))

    def group_of(self, path: str) -> str:
        """The group whose members may open a device; "" if there is none or its name is unknown."""
        status = self.status(path)
        if status is None or status.st_mode & 0o060 != 0o060:
            return ""
        if not self.live:
            return self.account.named.get(status.st_gid, "") if self.account is not None else ""
        try:
            import grp

            return grp.getgrgid(status.st_gid).gr_name
        except (ImportError, KeyError, OSError):
            return ""

    def may_read(self, path: str) -> bool:
        """Whether the permissions of a file on another machine let a user other than root read it. On this
        machine always True, because opening the file shows it."""
        if self.live or (self.account is not None and self.account.uid == 0):
            return True
        status = self.status(path)
        return status is None or bool(status.st_mode & 0o444)

    def distinct_folders(self, paths: Iterable[str]) -> list[str]:
        """The paths that are existing folders. Of several paths to one real folder, only the first is
        returned."""
        found: dict[str, str] = {}
        for path in paths:
            if self.is_dir(path):
                found.setdefault(self.resolve(path), path)
        return list(found.values())

    def readlink(self, path: str) -> str | None:
        """The target of a symbolic link; None if the path is not a link."""
        try:
            return inside.link_inside(self.root, self._inside(path))
        except OSError:
            return None

    # --- programs ---------------------------------------------------------------------------------

    def run(
        self, question: str, argv: Sequence[str], timeout: float, env: Mapping[str, str] | None = None
    ) -> Ran | None:
        """Run a program, or return the answer that a recorded machine stores under the name `question`.

        None if nothing may be run on this machine and no answer was recorded.
        """
        if question in self.recorded:
            kept = self.recorded[question]
            return Ran(
                kept.get("status"), kept.get("out", ""), kept.get("err", ""), bool(kept.get("timed_out"))
            )
        if self.runner is None:
            return None
        return self.runner(argv, timeout, {**self.env, "LC_ALL": "C"} if env is None else env)

    def which(self, program: str) -> str | None:
        """The path of the first executable of that name on the machine's PATH; None if there is none."""
        separator, endings = (";", ("", ".exe")) if self.system == "windows" else (":", ("",))
        for folder in self.env.get("PATH", "").split(separator):
            for ending in endings if folder else ():
                path = f"{folder.rstrip('/')}/{program}{ending}"
                status = self.status(path)
                if status is None or not stat.S_ISREG(status.st_mode):
                    continue
                if not self.live or inside.may_inside(path, os.X_OK):
                    return path
        return None
