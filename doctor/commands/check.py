"""`tfgpu-doctor check`: this machine, or the files of another, examined and diagnosed."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from doctor.commands.numbers import SECONDS
from doctor.errors import InputError, UnableError, UsageError

if TYPE_CHECKING:
    from doctor.facts import Fact, Facts
    from doctor.probe import Examination, Machine

EPILOG = """\
  check                                  this machine and the Python in use
  check --python ~/venv                  another environment (a folder or an interpreter)
  check --deep                           start TensorFlow there too, under limits, and run something on each GPU
  check --root /mnt/disk                 another system's files: a container's, a chroot, a mounted disk; nothing is run
  check --save machine.json              keep what was seen (names and tokens taken out), to be diagnosed elsewhere
  check --from machine.json              diagnose what was kept"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `check`."""
    parser.epilog = EPILOG
    parser.add_argument(
        "--python",
        metavar="PATH",
        help="the environment to look into: an interpreter or an environment's folder "
        "(default: VIRTUAL_ENV, CONDA_PREFIX, python3 or python on PATH, its own)",
    )
    parser.add_argument("--root", metavar="DIR", help="read this folder in place of /; nothing of it is run or loaded")
    parser.add_argument(
        "--deep", action="store_true", help="also start TensorFlow in a process of its own and use each GPU"
    )
    parser.add_argument(
        "--limit", type=SECONDS, default=300, metavar="SECONDS", help="time limit of the deep check (default: 300)"
    )
    parser.add_argument("--save", metavar="FILE", help="write what was seen to a file, redacted")
    parser.add_argument("--from", dest="record", metavar="FILE", help="diagnose a file written by --save")


def run(args: argparse.Namespace) -> int:
    """Exit code 0; 1 where a finding is an error.

    Raises UsageError for options that exclude each other, InputError where a path or a record cannot be read,
    UnableError where --save cannot write.
    """
    from doctor import render
    from doctor.diagnose import diagnose
    from doctor.tables import Tables

    facts = _recorded(args) if args.record else _examined(args)
    if args.save:
        _save(facts, args.save)
    return render.emit([diagnose(facts, Tables.bundled())], args)


def _recorded(args: argparse.Namespace) -> Facts:
    """The facts of a record."""
    from doctor.probe import record

    for name in ("python", "root", "deep"):
        if getattr(args, name):
            raise UsageError(f"--from and --{name} exclude each other: a record is read, not examined")
    try:
        return record.load(args.record)
    except record.NotRecordError as problem:
        raise InputError(f"{args.record}: {problem}") from problem
    except OSError as problem:
        raise InputError(f"{args.record}: {problem.strerror}") from problem


def _examined(args: argparse.Namespace) -> Facts:
    """The facts of this machine or of another one's files."""
    from doctor.commands.waiting import LOOKING, said_after_a_second
    from doctor.probe import Machine, NoPythonError, look

    if args.root and args.deep:
        raise UsageError("--root and --deep exclude each other: nothing under another root is run")
    try:
        machine = Machine.at(args.root) if args.root else Machine.here()
    except (NotADirectoryError, ValueError) as problem:
        raise InputError(str(problem)) from problem
    try:
        with said_after_a_second(LOOKING, args):
            seen = look(machine, args.python)
    except NoPythonError as problem:
        raise InputError(
            str(problem), "--python takes an interpreter or the folder of an environment, such as ~/venv"
        ) from problem
    facts = seen.facts
    if args.deep:
        facts = facts.plus(_deep(machine, seen, args))
    if getattr(args, "verbose", False):
        times = ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in seen.times.items())
        print(f"probes: {times}", file=sys.stderr)
    return facts


def _deep(machine: Machine, seen: Examination, args: argparse.Namespace) -> list[Fact]:
    """TensorFlow as the witness, with a word to the terminal, since it takes a while."""
    from doctor.probe import deep

    if seen.environment is None or seen.environment.executable is None:
        raise UnableError("there is no Python to start TensorFlow with", "name one with --python")
    terminal = sys.stderr.isatty() and not getattr(args, "quiet", False)
    if terminal:
        print(f"Starting TensorFlow in {seen.environment.executable} (at most {args.limit} s) ...", file=sys.stderr)
    return list(deep.examine(machine, seen.environment, seen.facts, float(args.limit)))


def _save(facts: Facts, path: str) -> None:
    """Keep the facts, redacted."""
    import datetime
    import os

    from doctor import __version__
    from doctor.probe import record
    from doctor.redact import Redactor

    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    kept = Redactor.of(os.environ).tree(record.to_record(facts, __version__, today))
    try:
        record.save(path, kept)
    except OSError as problem:
        raise UnableError(f"{path} cannot be written: {problem.strerror}") from problem
