"""`tfgpu-doctor check`: examine and diagnose this machine, or the files of another one."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from doctor.commands.numbers import SECONDS
from doctor.errors import UnableError
from doctor.printable import say

if TYPE_CHECKING:
    import argparse

    from doctor.facts import Facts

EPILOG = """\
examples:
  tfgpu-doctor check                        this machine and the Python in use
  tfgpu-doctor check --python ~/venv        another environment (a folder or an interpreter)
  tfgpu-doctor check --deep                 also start TensorFlow, under limits, and use each GPU
  tfgpu-doctor check --root /mnt/disk       the files of a container, a chroot or a disk; runs nothing there
  tfgpu-doctor check --save machine.json    save what was found, without names and tokens
  tfgpu-doctor check --from machine.json    diagnose a saved file, here or on another machine
  tfgpu-doctor check --script > collect.sh  for a machine without Python 3.8; `explain` reads its output"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check` to the parser."""
    parser.add_argument(
        "--python",
        metavar="PATH",
        help=(
            "the environment to examine: an interpreter or an environment's folder (default: VIRTUAL_ENV,"
            " CONDA_PREFIX, python3 or python on PATH, this tool's own Python)"
        ),
    )
    parser.add_argument(
        "--root", metavar="DIR", help="examine the files in this folder instead of /; run nothing in it"
    )
    parser.add_argument(
        "--deep", action="store_true", help="also start TensorFlow in a separate process and use each GPU"
    )
    parser.add_argument(
        "--limit",
        type=SECONDS,
        default=300,
        metavar="SECONDS",
        help="time limit of --deep (default: 300)",
    )
    parser.add_argument(
        "--trace",
        action="store_true",
        help="also show for each code what its rule found, what stopped it, or that it was not considered",
    )
    parser.add_argument(
        "--save", metavar="FILE", help="also write what was found to a file, without names and secrets"
    )
    parser.add_argument(
        "--script",
        action="store_true",
        help=(
            "only print a shell script, for a machine without this tool or without Python 3.8 or later; pass"
            " the script's output to `explain`"
        ),
    )
    parser.add_argument(
        "--node",
        metavar="NAME",
        help="the name of this machine in a fleet; the JSON contains it as `node`, for `fleet read`",
    )
    parser.add_argument("--from", dest="record", metavar="FILE", help="diagnose a file written by --save")


def run(args: argparse.Namespace) -> int:
    """Check the machine and print the diagnosis.

    Returns exit code 1 if a finding is an error; otherwise 3 if a decisive part could not be examined;
    otherwise 0. Raises UsageError for options that exclude each other, InputError if a path or a saved file
    cannot be read, UnableError if --save cannot write its file.
    """
    if args.script:
        from doctor import resources
        from doctor.render.output import write

        write(args.output, resources.text("doctor.probe", "collect.sh"))
        return 0
    from doctor import api, render
    from doctor.commands.waiting import LOOKING, progress_notice

    terminal = sys.stderr.isatty() and not args.quiet
    with progress_notice(LOOKING, args) if not args.record else contextlib.nullcontext() as waiting:

        def tell(words: str) -> None:
            if waiting is not None:
                waiting.cancel()
            if terminal:
                say(words)

        report = api.check(
            args.python, args.root, args.deep, record=args.record, limit=float(args.limit), tell=tell
        )
    if report.times and args.verbose:
        times = ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in report.times)
        say(f"probes: {times}")
    facts = report.diagnosis.facts
    if args.save:
        _save(facts, args.save)
    code = render.emit(report.diagnosis, args)
    return UnableError.exit_code if facts.unexamined and not code else code


def _save(facts: Facts, path: str) -> None:
    """Save the redacted facts in a file."""
    import datetime

    from doctor import __version__
    from doctor.probe import record
    from doctor.render.output import write
    from doctor.render.sharing import shared_facts

    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    write(path, record.as_text(record.to_record(shared_facts(facts), __version__, today)))
