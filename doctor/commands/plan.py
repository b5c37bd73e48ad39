"""`tfgpu-doctor plan`: find out before an installation which versions of TensorFlow, Python, CUDA, cuDNN and
the driver work together."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from doctor.errors import UnableError, UsageError
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.plan import Outcome
    from doctor.plan.gate import Gate
    from doctor.plan.request import Request

EPILOG = """\
examples:
  tfgpu-doctor plan                              the newest TensorFlow that needs the fewest changes
  tfgpu-doctor plan --tensorflow 2.15            this machine, that release
  tfgpu-doctor plan --os "Ubuntu 24.04" --gpu "GTX 1080"  another machine, described
  tfgpu-doctor plan --machine check.json         another machine: the JSON that `check` printed there
  tfgpu-doctor plan --cpu                        for the CPU, without CUDA
  tfgpu-doctor plan --cuda 11.2 --cudnn 8.1      with this CUDA and cuDNN
  tfgpu-doctor plan uv.lock --check --gpu T4     for CI: one line and an exit code for that GPU
  tfgpu-doctor plan Dockerfile --format sarif --gpu T4  for code scanning (or --format github)
  tfgpu-doctor plan Dockerfile --fix --diff      the lines that fix it; --fix --yes writes them"""

FORMATS = ("text", "json", "markdown", "html", "sarif", "github")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `plan` to the parser."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="the same as -r FILE")
    request_arguments(parser)
    parser.add_argument(
        "--check",
        action="store_true",
        help="for CI: print one line for each file; exit code 0: ok, 1: an error, 3: a line was not examined",
    )
    parser.add_argument(
        "--skip-without-tensorflow",
        action="store_true",
        help="with --check: skip files that do not request TensorFlow",
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="print a diff that corrects the files; nothing is written without --yes",
    )
    parser.add_argument("--diff", action="store_true", help="with --fix: do not say that nothing was written")
    parser.add_argument("--yes", action="store_true", help="with --fix: print the diff and write the files")
    parser.add_argument(
        "--resolve",
        action="store_true",
        help="with -r: also let pip or uv resolve the file in a dry run (uses the network)",
    )


def request_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the request and the machine, which `install` shares."""
    request = parser.add_argument_group("request")
    request.add_argument(
        "--tensorflow",
        metavar="SPEC",
        default="",
        help="the TensorFlow version: 2.15, '>=2.16,<2.19' or latest (default: the best fit)",
    )
    request.add_argument(
        "--python",
        metavar="X.Y",
        help="the Python version to plan for; a plan that needs another version says so",
    )
    request.add_argument("--cuda", metavar="V", help="the installed CUDA, which the plan has to use")
    request.add_argument("--cudnn", metavar="V", help="the installed cuDNN, which the plan has to use")
    request.add_argument("--cpu", action="store_true", help="plan for the CPU, without CUDA")
    request.add_argument(
        "-r",
        "--requirements",
        metavar="FILE",
        action="append",
        help=(
            "requirements.txt, pyproject.toml, Pipfile, environment.yml, pixi.toml, a lock file from uv,"
            " Poetry, conda-lock or pixi, a Dockerfile or a compose file; the answer has a finding for each"
            " line that cannot work or cannot be examined"
        ),
    )
    machine = parser.add_argument_group(
        "the machine",
        "by default, this machine; with --os, --gpu or --driver, another machine, which runs Linux unless"
        " --os says otherwise",
    )
    machine.add_argument(
        "--os", metavar="NAME",
        help="its operating system, such as 'Ubuntu 24.04', 'Debian 12', 'Windows 11', WSL, 'macOS arm64' or"
        " 'linux aarch64'",
    )  # fmt: skip
    machine.add_argument(
        "--gpu", metavar="NAME", action="append",
        help="its GPU, by name, PCI id or compute capability; separate several with commas or repeat --gpu;"
        " `none` plans for the CPU",
    )  # fmt: skip
    machine.add_argument("--driver", metavar="V", help="the version of its NVIDIA driver")
    machine.add_argument("--machine", metavar="FILE", help="the JSON that `check` printed on that machine")


def run(args: argparse.Namespace) -> int:
    """Print the plans. Returns exit code 0; 1 if the request cannot work on the machine as it is now; 3 if a
    file could not be examined. Raises UsageError and InputError."""
    args.requirements = [*(args.requirements or ()), *args.files]
    if (args.resolve or args.fix) and not args.requirements:
        option = "--resolve" if args.resolve else "--fix"
        raise UsageError(
            f"{option} needs a file", f"for example: tfgpu-doctor plan -r requirements.txt {option}"
        )
    if ((args.diff or args.yes) and not args.fix) or (args.diff and args.yes):
        raise UsageError(
            "--diff and --yes need --fix, and exclude each other",
            "for example: tfgpu-doctor plan -r Dockerfile --fix --diff",
        )
    if args.fix:
        return _fix(args)
    if args.check or args.format in ("sarif", "github"):
        return _gate(args)
    outcome = answer(args)
    if args.resolve:
        from doctor.install.resolver import resolved

        outcome = resolved(outcome, args.requirements, quiet=args.quiet)
    show(outcome, args)
    if not outcome.works:
        return 1
    return UnableError.exit_code if outcome.unexamined else 0


def _gate(args: argparse.Namespace) -> int:
    """Judge each file separately, for CI. Returns the exit code."""
    from doctor.render.gate import rendered
    from doctor.render.options import is_file
    from doctor.render.output import destination

    found = _judged(args)
    if args.resolve:
        from doctor.install.resolver import resolved

        files = [replace(j, outcome=resolved(j.outcome, [j.name], quiet=args.quiet)) for j in found.files]
        found = replace(found, files=tuple(files))
    with destination(args.output) as out:
        out.write(rendered(found, args.format, shared=is_file(out)))
    return found.exit_code


def _fix(args: argparse.Namespace) -> int:
    """Show the fixes as a diff; with --yes, write them. Standard error says why each line changes and which
    findings have no fix. The exit code describes the files as they are on the disk afterwards."""
    from doctor.files import cannot_write, write_whole
    from doctor.plan.gate import cured, left_over
    from doctor.printable import block, say
    from doctor.render.output import destination
    from doctor.render.plans import cures, hidden

    found = _judged(args)
    changes = cured(_request(args), found)
    after = left_over(_request(args), found, changes)
    with destination(args.output) as out:
        out.write(hidden("".join(block(change.diff()) for change in changes), shared=False))
    if not args.quiet:
        for reason in (reason for change in changes for reason in change.reasons):
            say(reason)
        open_ = [f for f in after.whole.findings if f.severity != "info"]
        for finding in open_:
            other = replace(finding, prescription=tuple(s for s in finding.prescription if s.edit is None))
            words = ". ".join((finding.title, *cures(other, after.whole, shown=False)))
            say(f"Not fixed: {finding.evidence[0]}: {words} [{finding.code}]")
        if not changes and not open_:
            say("There is nothing to fix.")
    if not args.yes:
        if changes and not args.quiet and not args.diff:
            say("Nothing was written. Use --yes to write the fixes.")
        return found.exit_code
    for change in changes:
        try:
            write_whole(change.name, change.after.encode("utf-8"))
        except OSError as error:
            raise cannot_write(change.name, error) from error
    return after.exit_code


def _judged(args: argparse.Namespace) -> Gate:
    from doctor.commands.waiting import LOOKING, progress_notice
    from doctor.plan.gate import gate

    with progress_notice(LOOKING, args):
        return gate(_request(args), passes_over=args.skip_without_tensorflow)


def _request(args: argparse.Namespace) -> Request:
    from doctor.plan.request import Request

    return Request(
        args.tensorflow or "",
        args.python,
        args.cuda,
        args.cudnn,
        args.cpu,
        args.os,
        tuple(args.gpu or ()),
        args.driver,
        args.machine or None,
        tuple(args.requirements or ()),
    )


def answer(args: argparse.Namespace) -> Outcome:
    """Return the plans for these options. Raises UsageError and InputError."""
    from doctor.commands.waiting import LOOKING, progress_notice
    from doctor.plan.request import answered

    with progress_notice(LOOKING, args):
        return answered(_request(args))


def show(outcome: Outcome, args: argparse.Namespace) -> None:
    """Print the outcome in the requested format. Raises UnableError if the file cannot be written."""
    from doctor.render.fold import columns_of
    from doctor.render.options import is_file
    from doctor.render.output import destination
    from doctor.render.plans import rendered
    from doctor.render.symbols import wants_colour

    with destination(args.output) as out:
        text = rendered(
            outcome,
            args.format,
            width=columns_of(out) or 100,
            colour=wants_colour(out, args.color),
            verbose=bool(args.verbose),
            shared=is_file(out),
        )
        out.write(text)
