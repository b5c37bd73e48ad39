#!/usr/bin/env python3
"""Records this machine as a folder that `tfgpu-doctor check --root FOLDER` diagnoses as it would diagnose the
machine itself.

    python scripts/record_machine.py tests/data/machines/NAME [--python PATH] [--note TEXT]

The record contains every file that the probes examine: texts without private names and tokens, libraries as
skeletons (headers, no code), and links as relative links inside the folder. The file .tfgpu-doctor.json
contains the answers of the driver and of Python, and the environment variables that matter. The folder has a
few tens of kilobytes. Look through it before you share it.
"""

# ruff: noqa: PTH110, PTH112, PTH114, PTH208 (these are paths on the machine, not in the record)
from __future__ import annotations

import argparse
import dataclasses
import json
import os
import posixpath
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from doctor.facts import normalised
from doctor.probe import elf, look
from doctor.probe.machine import RECORD, Machine
from doctor.probe.packages import REPORTED, REPORTED_OF_CONDA, TENSORFLOW
from doctor.probe.running import Ran, run_program
from doctor.redact import Redactor
from doctor.redact.variables import decides, kept
from scripts.machines.skeleton import skeleton

TEXT_LIMIT = 256 << 10
LINKS_LIMIT = 40
LINES = {
    r"\.h$": rb"#define CUDA_VERSION|#define CUDNN_",
    r"/(METADATA|PKG-INFO)$": rb"^(Name|Version|Requires-[\w-]+):",
    r"^/var/log/": rb"NVRM",
    r"/RECORD$": rb"build_info\.py",
    r"/mountinfo$": rb" / / ",
}
"""Maps a pattern for paths to a pattern for the lines of these files that go into the record."""
T = TypeVar("T")
MACHINES = {name: number for number, name in elf.MACHINES.items()}


class Watched(Machine):
    """A Machine for this computer that notes every path that is examined, and the output of every program
    that is run."""

    seen: dict[str, None]
    answers: dict[str, dict[str, object]]

    def _look(self, function: Callable[..., T], path: str, **more: Any) -> T:
        self.seen.setdefault(path)
        return super()._look(function, path, **more)

    def readlink(self, path: str) -> str | None:
        self.seen.setdefault(path)
        return super().readlink(path)

    def run(
        self, question: str, argv: Sequence[str], timeout: float, env: Mapping[str, str] | None = None
    ) -> Ran | None:
        ran = run_program(argv, timeout, {**self.env, "LC_ALL": "C"} if env is None else env)
        out = ran.out
        if "-c" in argv:  # our own scripts, whose answers stand between marks
            cookie = argv[list(argv).index("-c") + 2]
            out = "\n".join(piece for piece in ran.out.split(cookie)[1::2])
        self.answers[question] = {"status": ran.status, "out": out, "timed_out": ran.timed_out}
        return ran


def watched() -> Watched:
    """Return a new Watched object for this machine."""
    here = Machine.here()
    values = {field.name: getattr(here, field.name) for field in dataclasses.fields(here) if field.init}
    machine = Watched(**values)
    machine.seen, machine.answers = {}, {}
    return machine


class Recorder:
    """Writes everything that a Watched object has noted to a folder."""

    def __init__(self, target: Path, redact: Redactor) -> None:
        self.target, self.redact = target, redact

    def path(self, path: str) -> None:
        """Copy a path to the record: each link on the way to it, and then its target."""
        done, todo, links = "/", [part for part in path.split("/") if part], 0
        while todo:
            here = posixpath.normpath(posixpath.join(done, todo.pop(0)))
            if os.path.islink(here) and links < LINKS_LIMIT:
                links += 1
                to = os.readlink(here)
                place = self.place(here)
                if not os.path.lexists(place):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.symlink_to(self.link(here, to))
                todo = [*(part for part in to.split("/") if part), *todo]
                done = "/" if to.startswith("/") else done
                if todo and todo[0] == "..":
                    done, todo = posixpath.dirname(done), todo[1:]
                continue
            done = here
        self.content(done)

    def link(self, path: str, to: str) -> str:
        """Return the relative target that a link gets in the record. An absolute target would lead out of the
        record to this machine's files."""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), to))
        return os.path.relpath(self.place(target), self.place(path).parent)

    def place(self, path: str) -> Path:
        """Return the path in the record for a path on this machine."""
        return self.target / self.redact(path).replace("~", "home/USER").lstrip("/")

    def content(self, path: str) -> None:
        """Copy a file or folder to the record."""
        place = self.place(path)
        try:
            if os.path.isdir(path):
                place.mkdir(parents=True, exist_ok=True)
                self.listing(path)
                return
            if not os.path.exists(path) or os.path.lexists(place):
                return
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(self.bytes_of(path))
        except (OSError, ValueError) as problem:
            print(f"left out: {path}: {problem}", file=sys.stderr)

    def listing(self, folder: str) -> None:
        """Record the names of files that a probe lists but does not open."""
        name = posixpath.basename(folder)
        if name in ("site-packages", "dist-packages"):
            for entry in os.listdir(folder):
                match = re.fullmatch(r"(.+?)-[^-]+\.(?:dist|egg)-info", entry)
                if match and (REPORTED.fullmatch(normalised(match[1])) or normalised(match[1]) in TENSORFLOW):
                    self.place(f"{folder}/{entry}").mkdir(parents=True, exist_ok=True)
                    (self.place(f"{folder}/{entry}") / ".keep").touch()
        elif name == "conda-meta":
            for entry in os.listdir(folder):
                if REPORTED_OF_CONDA.fullmatch(entry.rsplit("-", 2)[0]):
                    self.place(f"{folder}/{entry}").write_text("{}")

    def bytes_of(self, path: str) -> bytes:
        """Return the part of a file's content that goes into the record."""
        if path.startswith("/dev/"):
            return b""
        with open(path, "rb") as file:
            head = file.read(4)
        if head == b"\x7fELF":
            return library(path)
        with open(path, "rb") as file:
            data = file.read(TEXT_LIMIT if path.startswith(("/proc", "/sys")) else 16 << 20)
        if path.endswith(".py") and not path.endswith("/build_info.py"):
            return b""  # only its existence matters
        if path == "/proc/cpuinfo":
            data = data.split(b"\n\n")[0] + b"\n"
        if path.startswith("/var/log/"):
            data = data[-TEXT_LIMIT:]
        wanted = next((lines for paths, lines in LINES.items() if re.search(paths, path)), None)
        if wanted is not None:
            data = b"".join(line + b"\n" for line in data.splitlines() if re.search(wanted, line))
        if len(data) > TEXT_LIMIT:
            raise ValueError(f"it has {len(data)} bytes")
        if b"\0" in data:
            return data
        return self.redact(data.decode("utf-8", "replace")).encode()


def library(path: str) -> bytes:
    """Return the skeleton of a library: its SONAME, dependencies and symbol versions. If the original is cut
    off, so is the skeleton."""
    try:
        header = elf.of(Machine.here(), path)
    except elf.NotElf:
        with open(path, "rb") as file:
            return file.read(4096)
    wants = tuple(
        (name, version) for name, version, weak in header.wants if not weak and version.startswith("GLIBC_")
    )
    data = skeleton(
        soname=header.soname,
        needed=header.needed,
        runpath=":".join(header.runpath) if header.runpath else None,
        rpath=":".join(header.rpath) if header.rpath else None,
        wants=wants,
        gives=tuple(sorted(version for version in header.gives if version.startswith("GLIBC_"))),
        machine=MACHINES.get(header.machine, 62),
        filling=4096 if header.missing_bytes else 0,
    )
    return data[:-2048] if header.missing_bytes else data


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where to write the record; must not exist")
    parser.add_argument("--python", help="the environment to examine")
    parser.add_argument("--note", default="", help="a description of the machine")
    args = parser.parse_args()
    if args.folder.exists():
        parser.error(f"{args.folder} already exists")
    machine = watched()
    environment = look(machine, args.python).environment
    redact = Redactor.of(os.environ)
    recorder = Recorder(args.folder, redact)
    args.folder.mkdir(parents=True)
    for path in list(machine.seen):
        if path.startswith("/"):
            recorder.path(path)
    env = {
        name: kept(name, value, redact) if decides(name) else redact(value)
        for name, value in machine.env.items()
        if (decides(name) and name not in ("PATH", "PYTHONPATH"))
        or name in ("HOME", "TFGPU_DOCTOR_SIMULATION")
    }
    # PATH is not kept, so one of these variables must lead to the environment
    if environment is not None and environment.prefix:
        env.pop("VIRTUAL_ENV", None)
        env.pop("CONDA_PREFIX", None)
        env["CONDA_PREFIX" if environment.conda else "VIRTUAL_ENV"] = redact(environment.prefix)
    answers = {
        question: {**answer, "out": redact(str(answer["out"]))}
        for question, answer in machine.answers.items()
    }
    record = {
        "name": args.folder.name,
        "note": args.note,
        "system": machine.system,
        "processor": machine.processor,
        "env": env,
        "answers": answers,
        "denied": [
            path
            for path in machine.seen
            if path.startswith("/dev/") and not os.access(path, os.R_OK | os.W_OK) and os.path.exists(path)
        ],
    }
    for folder, folders, files in os.walk(args.folder):
        if not folders and not files:  # git does not store empty folders
            Path(folder, ".keep").touch()
    (args.folder / RECORD).write_text(json.dumps(record, indent=1) + "\n")
    size = sum(
        path.stat().st_size for path in args.folder.rglob("*") if path.is_file() and not path.is_symlink()
    )
    print(f"{args.folder}: {size >> 10} KiB; look through it before you share it")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
