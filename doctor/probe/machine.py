"""The machine under examination: its files, its environment, and how a program is run on it.

A live machine is read from "/" and programs may be run. Any other root (a chroot, a container's file system, a
mounted disk, a recorded machine) is only read: nothing of it is run or loaded. A recorded machine holds the file
RECORD at its top with what files cannot tell: its environment variables, its platform, and what its programs
answered when it was recorded.
"""

from __future__ import annotations

import errno
import fnmatch
import json
import os
import posixpath
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from doctor.probe.running import Ran, Runner, run_program

RECORD = ".tfgpu-doctor.json"
READ_LIMIT = 4 << 20
"""Bytes read of a text file at most: the largest that we need, a kernel log's tail, is far below."""
PIECE = 1 << 16
"""Bytes read at once: /proc/sys refuses a large buffer with ENOMEM."""
LINKS_LIMIT = 40
"""As in Linux: more symbolic links than this in one path are a loop (path_resolution(7))."""


@dataclass
class Machine:
    """One machine: `root` is the host's folder that stands for its "/", `env` its environment variables.

    system: linux, windows or macos; `processor` as in `uname -m`. `cwd` is the folder that a program would start in,
    None where that is not known. `recorded` maps the name of a question to the answer of a recorded machine, `denied`
    lists the devices that its user might not open.
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

    @classmethod
    def here(cls) -> Machine:
        """This machine, as it is."""
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
        """Another machine's files under a folder; "/" is this machine itself.

        Raises NotADirectoryError where there is no such folder, ValueError where its record cannot be read.
        """
        folder = Path(root).resolve()
        if not folder.is_dir():
            raise NotADirectoryError(f"{root} is not a folder")
        if str(folder) == folder.anchor:
            return cls.here()
        record: dict[str, Any] = {}
        file = folder / RECORD
        if file.is_file():
            try:
                record = json.loads(file.read_text(encoding="utf-8"))
            except ValueError as problem:
                raise ValueError(f"{file} is not a machine's record: {problem}") from problem
            if not isinstance(record, dict):
                raise ValueError(f"{file} is not a machine's record: an object is expected")
        windows = (folder / "Windows" / "System32").is_dir()
        macos = (folder / "System" / "Library" / "CoreServices").is_dir()
        return cls(
            root=str(folder),
            env={str(k): str(v) for k, v in dict(record.get("env", {})).items()},
            system=str(record.get("system", "windows" if windows else "macos" if macos else "linux")),
            processor=str(record.get("processor", "")) or _processor_of(folder),
            cwd=record.get("cwd"),
            recorded=dict(record.get("answers", {})),
            denied=tuple(record.get("denied", ())),
            name=str(record.get("name", folder.name)),
        )

    @property
    def live(self) -> bool:
        """Whether programs may be run on it."""
        return self.runner is not None

    # --- files: paths are the machine's own, absolute ---------------------------------------------

    def resolve(self, path: str) -> str:
        """The path with every symbolic link followed inside the root, as the machine itself would see it."""
        if self.root == "/" or self.system == "windows":
            return os.path.realpath(path) if self.root == "/" else path
        done = "/"
        todo = [part for part in path.split("/") if part]
        links = 0
        while todo:
            part = todo.pop(0)
            if part == "..":
                done = posixpath.dirname(done)
                continue
            if part == ".":
                continue
            here = posixpath.join(done, part)
            try:
                target = os.readlink(self.root + here)  # noqa: PTH115
            except OSError:
                done = here
                continue
            links += 1
            if links > LINKS_LIMIT:
                return here
            if target.startswith("/"):
                done = "/"
            todo[:0] = [piece for piece in target.split("/") if piece]
        return done

    def host(self, path: str) -> str:
        """Where the machine's path lies on the host that reads it."""
        if self.root == "/":
            return path
        if self.system == "windows":
            relative = path.replace("\\", "/").split(":", 1)[-1].lstrip("/")
            return os.path.join(self.root, *[p for p in relative.split("/") if p not in ("", "..")])  # noqa: PTH118
        return self.root + self.resolve(path)

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder that may be looked at."""
        try:
            os.stat(self.host(path))  # noqa: PTH116
        except (OSError, ValueError):
            return False
        return True

    def open(self, path: str) -> BinaryIO:
        """A file for reading. Raises OSError, also for what is no plain file: a pipe would keep us waiting for ever."""
        host = self.host(path)
        mode = os.stat(host).st_mode  # noqa: PTH116
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no plain file", path)
        return open(host, "rb")

    def is_dir(self, path: str) -> bool:
        """Whether there is such a folder (False where it may not be looked at)."""
        return os.path.isdir(self.host(path))  # noqa: PTH112

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | None:
        """The bytes of a file up to `limit`, None where it is not there; raises OSError where it may not be read."""
        try:
            with self.open(path) as file:
                pieces: list[bytes] = []
                while limit > 0 and (piece := file.read(min(limit, PIECE))):
                    pieces.append(piece)
                    limit -= len(piece)
                return b"".join(pieces)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def text(self, path: str, limit: int = READ_LIMIT) -> str | None:
        """As `read`, decoded; undecodable bytes are replaced."""
        data = self.read(path, limit)
        return None if data is None else data.decode("utf-8", "replace")

    def tail(self, path: str, size: int) -> str | None:
        """The last `size` bytes of a file as text, None where it is not there."""
        try:
            with self.open(path) as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - size))
                return file.read(size).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def kernel_messages(self, size: int) -> str | None:
        """The kernel's own buffer of messages, the last `size` bytes; None on another machine than this one.

        Raises OSError where this user may not read it (kernel.dmesg_restrict).
        """
        if not self.live or self.root != "/" or not os.path.exists("/dev/kmsg"):  # noqa: PTH110
            return None
        handle = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        kept: list[bytes] = []
        try:
            for _ in range(100_000):  # one message a read; the buffer holds some thousands
                try:
                    kept.append(os.read(handle, 8192))
                except BlockingIOError:
                    break
                except BrokenPipeError:  # overwritten while we read: the next read goes on behind it
                    continue
        finally:
            os.close(handle)
        return b"\n".join(kept)[-size:].decode("utf-8", "replace")

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted; [] where it is not there; raises OSError where it may not be read."""
        try:
            return sorted(os.listdir(self.host(path)))  # noqa: PTH208
        except (FileNotFoundError, NotADirectoryError):
            return []

    def glob(self, pattern: str) -> list[str]:
        """Paths that match a pattern with * and ? in any part, sorted; unreadable folders count as empty."""
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
                try:
                    names = self.names(base or "/")
                except OSError:
                    continue
                following += [f"{base}/{name}" for name in names if fnmatch.fnmatchcase(name, part)]
            found = following
        return [path for path in found if os.path.lexists(self.host(path))]

    def may_open(self, path: str) -> bool:
        """Whether this user may read and write a device; a record lists the others under "denied"."""
        if self.live:
            return os.access(self.host(path), os.R_OK | os.W_OK)
        return path not in self.denied

    def readlink(self, path: str) -> str | None:
        """What a symbolic link holds, None where it is none."""
        folder, name = posixpath.split(path)
        base = self.host(folder) if self.root != "/" else folder
        try:
            return os.readlink(os.path.join(base, name))  # noqa: PTH115, PTH118
        except (OSError, ValueError):
            return None

    # --- programs ---------------------------------------------------------------------------------

    def run(
        self, question: str, argv: Sequence[str], timeout: float, env: Mapping[str, str] | None = None
    ) -> Ran | None:
        """Run a program; `question` is the name under which a recorded machine keeps the answer.

        None where nothing may be run on this machine and nothing was recorded.
        """
        if question in self.recorded:
            kept = self.recorded[question]
            return Ran(kept.get("status"), kept.get("out", ""), kept.get("err", ""), bool(kept.get("timed_out")))
        if self.runner is None:
            return None
        return self.runner(argv, timeout, {**self.env, "LC_ALL": "C"} if env is None else env)

    def which(self, program: str) -> str | None:
        """The first executable of that name on the machine's PATH."""
        separator, endings = (";", ("", ".exe")) if self.system == "windows" else (":", ("",))
        for folder in self.env.get("PATH", "").split(separator):
            for ending in endings if folder else ():
                path = f"{folder.rstrip('/')}/{program}{ending}"
                host = self.host(path)
                if os.path.isfile(host) and (not self.live or os.access(host, os.X_OK)):  # noqa: PTH113
                    return path
        return None


def _processor_of(root: Path) -> str:
    """The processor that a file system is for, from the ELF header of its shell or loader; x86_64 if nothing tells."""
    for name in ("bin/sh", "usr/bin/sh", "usr/bin/env", "lib64/ld-linux-x86-64.so.2", "lib/ld-linux-aarch64.so.1"):
        try:
            with open(root / name, "rb") as file:
                header = file.read(20)
        except OSError:
            continue
        if header[:4] == b"\x7fELF" and len(header) == 20:
            return {62: "x86_64", 183: "aarch64", 21: "ppc64le"}.get(int.from_bytes(header[18:20], "little"), "x86_64")
    return "x86_64"
