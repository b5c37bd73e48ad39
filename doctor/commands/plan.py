"""`tfgpu-doctor plan`: which TensorFlow, Python, CUDA, cuDNN and driver go together, before anything is installed."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from doctor.errors import InputError, UsageError
from doctor.facts import Facts
from doctor.plan import Ground, Outcome, Wish, make_plans
from doctor.tables import Tables

EPILOG = """\
  plan                                           this machine, the newest TensorFlow that needs the fewest changes
  plan --tensorflow 2.15                         this machine, that release
  plan --os "Ubuntu 24.04" --gpu "GTX 1080"      another machine, described
  plan --machine check.json                      another machine: the JSON of `check` there
  plan --cuda 11.2 --cudnn 8.1                   with the CUDA and cuDNN that are given
  plan -r requirements.txt --check               a gate for CI: one line and an exit code"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.epilog = EPILOG
    wish_arguments(parser)
    parser.add_argument("--check", action="store_true", help="one line and an exit code, for CI and Dockerfiles")
    parser.add_argument(
        "--resolve",
        action="store_true",
        help="with -r: let pip or uv resolve the file in dry-run too (uses the network)",
    )


def wish_arguments(parser: argparse.ArgumentParser) -> None:
    """What is wished for, and the machine: shared with `install`."""
    wish = parser.add_argument_group("what is wanted")
    wish.add_argument(
        "--tensorflow", metavar="SPEC", default="", help="2.15, '>=2.16,<2.19', latest (default: the best)"
    )
    wish.add_argument("--python", metavar="X.Y", help="this Python and no other")
    wish.add_argument("--cuda", metavar="V", help="the CUDA that is installed and has to be used")
    wish.add_argument("--cudnn", metavar="V", help="the cuDNN that is installed and has to be used")
    wish.add_argument(
        "-r",
        "--requirements",
        metavar="FILE",
        action="append",
        help="requirements.txt, pyproject.toml, environment.yml or a Dockerfile: a finding for each line that cannot work",
    )
    machine = parser.add_argument_group("the machine (by default this one)")
    machine.add_argument(
        "--os", metavar="NAME", help="'Ubuntu 24.04', 'Windows 11', WSL, 'macOS arm64', 'linux aarch64'"
    )
    machine.add_argument(
        "--gpu", metavar="NAME", action="append", help="name, PCI id or compute capability; several: with commas, or repeated"
    )
    machine.add_argument("--driver", metavar="V", help="version of its NVIDIA driver")
    machine.add_argument("--machine", metavar="FILE", help="the JSON of `check` on that machine")


def run(args: argparse.Namespace) -> int:
    """Exit code 0; 1 where the wish cannot work on the machine as it is. Raises UsageError and InputError."""
    outcome = answer(args)
    if args.resolve:
        from doctor.install.resolver import resolved

        if not args.requirements:
            raise UsageError("--resolve needs a file", "tfgpu-doctor plan -r requirements.txt --resolve")
        outcome = resolved(outcome, args.requirements, quiet=args.quiet)
    show(outcome, args)
    return 0 if outcome.works else 1


def answer(args: argparse.Namespace) -> Outcome:
    """The plans for what the options say."""
    tables = Tables.bundled()
    wish = wished(args, tables)
    ground = Ground(machine_facts(args, tables), tables, wish)
    if not args.requirements:
        return make_plans(ground)
    from doctor.plan.files import judged_files

    texts = {name: _text(name) for name in args.requirements}
    return judged_files(ground, texts, {name: _included(name, text) for name, text in texts.items()})


INCLUDED_LIMIT = 50
"""Files that a requirement file may take in, directly or not."""


def _included(name: str, text: str) -> list[tuple[str, str, bool]]:
    """What a file takes in with -r and -c, as pip reads it: paths are relative to the file that names them.

    Each with its text and whether it constrains only. Addresses are not followed. Raises InputError.
    """
    from doctor.plan.requirements import read

    found: list[tuple[str, str, bool]] = []
    known = {Path(name).resolve()}
    left = [(name, text, False)]
    while left:
        here, words, constrains = left.pop(0)
        wanted = read(words, here)
        for more, only in (*((r, constrains) for r in wanted.includes), *((c, True) for c in wanted.constraints)):
            path = Path(here).parent / more
            if "://" in more or path.resolve() in known:
                continue
            if len(known) > INCLUDED_LIMIT:
                raise InputError(f"`{name}` takes in more than {INCLUDED_LIMIT} files")
            known.add(path.resolve())
            try:
                found.append((str(path), _text(str(path)), only))
            except InputError as error:
                raise InputError(f"{error} (`{here}` takes it in)") from error
            left.append(found[-1])
    return found


def _text(name: str) -> str:
    """A requirement file's text. Raises InputError."""
    limit = 4 << 20
    try:
        with open(name, "rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise InputError(f"cannot read `{name}`: {error.strerror}") from error
    if len(data) > limit or b"\0" in data:
        raise InputError(
            f"`{name}` is no requirement file: {'it is too large' if len(data) > limit else 'it is not text'}"
        )
    return data.decode("utf-8", errors="replace")


def wished(args: argparse.Namespace, tables: Tables) -> Wish:
    """The wish of the options, checked. Raises UsageError."""
    from doctor.plan.described import described
    from doctor.plan.wish import check

    if args.python and "." not in args.python:
        raise UsageError(f"--python {args.python}: which one?", "give its minor version too, such as --python 3.12")
    wish = Wish(args.tensorflow or "", args.python, args.cuda, args.cudnn)
    described(tables, python=args.python, cuda=args.cuda, cudnn=args.cudnn)  # refuses what is no version
    check(wish, tables)
    return wish


def machine_facts(args: argparse.Namespace, tables: Tables) -> Facts:
    """The machine: described, from a file, or this one."""
    from doctor.plan.described import described, machine_file

    if args.machine:
        if args.os or args.driver or args.gpu:
            raise UsageError("--machine excludes --os, --gpu and --driver: the file says what they say")
        return machine_file(args.machine, tables)
    if args.os or args.driver or args.gpu:
        names = [name.strip() for given in args.gpu or () for name in given.split(",") if name.strip()]
        return described(tables, os=args.os, gpu=names, driver=args.driver)
    from doctor.commands.waiting import LOOKING, said_after_a_second
    from doctor.probe import Machine, examine

    with said_after_a_second(LOOKING, args):
        return examine(Machine.here(), None, tables)


def show(outcome: Outcome, args: argparse.Namespace) -> None:
    """Print the outcome in the format that was asked for. Raises UnableError where the file cannot be written."""
    import shutil

    from doctor.render import plans as render
    from doctor.render.output import destination

    if getattr(args, "check", False):
        words = render.gate_line(outcome) + "\n"
    elif args.format == "json":
        words = json.dumps(render.document(outcome), ensure_ascii=False) + "\n"
    elif args.format == "markdown":
        words = render.markdown(outcome)
    elif args.format == "html":
        import html

        words = (
            f'<!doctype html><meta charset="utf-8"><title>plan</title><pre>{html.escape(render.text(outcome))}</pre>\n'
        )
    else:
        colour = args.color == "always" or (
            args.color == "auto" and not args.output and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        )
        width = min(shutil.get_terminal_size((100, 24)).columns, 110)
        words = render.text(outcome, width=width, colour=colour, verbose=bool(args.verbose))
    with destination(args.output) as out:
        out.write(words)
