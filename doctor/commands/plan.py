"""`tfgpu-doctor plan`: which TensorFlow, Python, CUDA, cuDNN and driver go together, before anything is installed."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from doctor.errors import UnableError, UsageError

if TYPE_CHECKING:
    from doctor.api import PlanReport
    from doctor.plan import Outcome

EPILOG = """\
  plan                                           this machine, the newest TensorFlow that needs the fewest changes
  plan --tensorflow 2.15                         this machine, that release
  plan --os "Ubuntu 24.04" --gpu "GTX 1080"      another machine, described
  plan --machine check.json                      another machine: the JSON of `check` there
  plan --cpu                                     for the CPU: no CUDA is installed; --gpu none says the same
  plan --cuda 11.2 --cudnn 8.1                   with the CUDA and cuDNN that are given
  plan -r requirements.txt --check               a gate for CI: one line and an exit code"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.epilog = EPILOG
    wish_arguments(parser)
    parser.add_argument("--check", action="store_true", help="one line and an exit code, for CI: 0 ok, 1 an error, 3 could not examine")
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
    wish.add_argument("--cpu", action="store_true", help="for the CPU, without CUDA")
    wish.add_argument(
        "-r",
        "--requirements",
        metavar="FILE",
        action="append",
        help="requirements.txt, pyproject.toml, Pipfile, environment.yml or a Dockerfile: a finding for each line that cannot "
        "work or cannot be examined",
    )
    machine = parser.add_argument_group("the machine (by default this one)")
    machine.add_argument(
        "--os", metavar="NAME", help="'Ubuntu 24.04', 'Windows 11', WSL, 'macOS arm64', 'linux aarch64'"
    )
    machine.add_argument(
        "--gpu", metavar="NAME", action="append",
        help="name, PCI id or compute capability; several: with commas, or repeated; none: for the CPU",
    )  # fmt: skip
    machine.add_argument("--driver", metavar="V", help="version of its NVIDIA driver")
    machine.add_argument("--machine", metavar="FILE", help="the JSON of `check` on that machine")


def run(args: argparse.Namespace) -> int:
    """Exit code 0; 1 where the wish cannot work on the machine as it is; with --check or --resolve 3 where that could not
    be examined. Raises UsageError and InputError."""
    outcome = answer(args).outcome
    if args.resolve:
        from doctor.install.resolver import resolved

        if not args.requirements:
            raise UsageError("--resolve needs a file", "tfgpu-doctor plan -r requirements.txt --resolve")
        outcome = resolved(outcome, args.requirements, quiet=args.quiet)
    show(outcome, args)
    if not outcome.works:
        return 1
    return UnableError.exit_code if outcome.unexamined and (args.check or args.resolve) else 0


def answer(args: argparse.Namespace) -> PlanReport:
    """The plans for what the options say."""
    from doctor import api
    from doctor.commands.waiting import LOOKING, said_after_a_second

    asked = {
        "tensorflow": args.tensorflow or "", "python": args.python, "cuda": args.cuda, "cudnn": args.cudnn, "cpu": args.cpu,
        "os": args.os, "gpu": args.gpu or (), "driver": args.driver, "machine": args.machine or None,
        "requirements": args.requirements or (),
    }  # fmt: skip
    with said_after_a_second(LOOKING, args):
        return api.plan(**asked)


def show(outcome: Outcome, args: argparse.Namespace) -> None:
    """Print the outcome in the format that was asked for. Raises UnableError where the file cannot be written."""
    import shutil

    from doctor.render import plans as render
    from doctor.render.options import is_file
    from doctor.render.output import destination

    gate = getattr(args, "check", False)
    with destination(args.output) as out:
        shared = is_file(out)
        if gate:
            words = render.hidden(render.gate_line(outcome) + "\n", shared)
        elif args.format == "text":
            colour = args.color == "always" or (
                args.color == "auto" and not args.output and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
            )
            width = min(shutil.get_terminal_size((100, 24)).columns, 110)
            words = render.rendered(
                outcome, "text", width=width, colour=colour, verbose=bool(args.verbose), shared=shared
            )
        else:
            words = render.rendered(outcome, args.format)
        out.write(words)
