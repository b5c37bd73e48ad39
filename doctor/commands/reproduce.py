"""`tfgpu-doctor reproduce`: cause a failure on purpose, then show which settings fix it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from doctor.commands.numbers import SECONDS
from doctor.errors import UnableError, UsageError
from doctor.printable import as_json, say

FORMATS = ("text", "json")

if TYPE_CHECKING:
    from doctor.charts import Chart
    from doctor.reproduce.results import Result

EPILOG = """\
examples:
  tfgpu-doctor reproduce cudnn-init-oom
  tfgpu-doctor reproduce cudnn-init-oom --simulate  with real TensorFlow on a simulated GPU
  tfgpu-doctor reproduce cudnn-init-oom --backend native  cuDNN alone, without TensorFlow
  tfgpu-doctor reproduce cudnn-init-oom --output memory.svg  draws the free memory into a file (.svg or .png)

The command fills the GPU's memory for a few seconds at a time, then frees all of it. It does not affect
other processes, and refuses a GPU that they use. Exit code 0: the failure occurred and was fixed; 3: it
did not occur, or could not be tried."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `reproduce` to the parser."""
    parser.add_argument("failure", choices=("cudnn-init-oom",), help="the failure to cause")
    parser.add_argument(
        "--backend",
        choices=("tensorflow", "native"),
        default="tensorflow",
        help="the software in which the failure has to occur (default: tensorflow)",
    )
    parser.add_argument("--simulate", action="store_true", help="use a simulated GPU, with real TensorFlow")
    parser.add_argument(
        "--gpu",
        metavar="N",
        help="the GPU's number in nvidia-smi (default: 0); with --simulate, the name of a GPU model",
    )
    parser.add_argument("--python", metavar="ENV", help="use the TensorFlow or cuDNN of this environment")
    parser.add_argument("--force", action="store_true", help="run even if other processes use the GPU")
    parser.add_argument(
        "--limit",
        type=SECONDS,
        default=180,
        metavar="SECONDS",
        help="time limit for each attempt (default: 180)",
    )


def run(args: argparse.Namespace) -> int:
    """Reproduce the failure and print the result.

    Returns exit code 0 if the failure occurred and was fixed, otherwise 3. Raises UnableError if it cannot be
    tried here, UsageError for wrong options.
    """
    from doctor import charts
    from doctor.render.output import destination
    from doctor.reproduce.run import reproduce, surroundings
    from doctor.simulate import IN_FORCE
    from doctor.simulate.libraries import find_interpreter, find_tensorflow
    from doctor.subprocesses.signals import ending_in_order

    picture = args.output if args.output and args.output.lower().endswith((".svg", ".png")) else None
    if picture:
        charts.may_write(picture)
    number = 0
    if args.gpu is not None and not args.simulate:
        if not args.gpu.isdecimal():
            raise UsageError(f"--gpu {args.gpu} is not a number", "to use the name of a GPU, add --simulate")
        number = int(args.gpu)
    interpreter = find_interpreter(args.python, ())
    build = find_tensorflow(interpreter) if interpreter else None

    if args.backend == "tensorflow" and build is not None and build.version.startswith(("0.", "1.")):
        raise UnableError(
            f"the failure needs TensorFlow 2, but the environment has {build}",
            "use --backend native, which needs no TensorFlow",
        )

    def tell(mode: str) -> None:
        if not args.quiet and sys.stderr.isatty():
            say(f"  {mode} ...")

    around = surroundings(args.python, args.gpu if args.simulate else None, simulate=args.simulate)
    with ending_in_order(), around as where:
        if not args.quiet:
            say(_beforehand(args))
        result = reproduce(
            where,
            number=number,
            backend=args.backend,
            python=args.python,
            interpreter=str(interpreter) if interpreter else None,
            version=build.version if build else None,
            force=args.force,
            simulated=args.simulate or IN_FORCE in os.environ,
            limit=float(args.limit),
            tell=tell,
        )
    if picture:
        charts.write(_chart(result), picture)
    with destination(None if picture else args.output) as out:
        _print(result, out, args)
    return 0 if result.reproduced and result.cures else 3


def _beforehand(args: argparse.Namespace) -> str:
    """Return the sentences that say, before the attempts, what the command will do."""
    what = "A separate process fills the GPU's memory" + (
        "; cuDNN tries to create its handle before the memory is full, while it is full, and after it is free"
        " again."
        if args.backend == "native"
        else "; TensorFlow runs a convolution there with five settings, one process each."
    )
    where = "On a SIMULATED GPU: there is no such card, and kernels do not compute. " if args.simulate else ""
    return f"{where}{what} Each attempt ends within {args.limit} s, and then frees all memory."


def _chart(result: Result) -> Chart:
    from doctor.charts import Chart, Line

    simulated = " (simulated)" if result.simulated else ""
    return Chart(
        f"Free memory of {result.gpu}{simulated}",
        "seconds",
        "MiB free",
        (Line("free", result.samples),),
        result.starts,
    )


def _print(result: Result, out: TextIO, args: argparse.Namespace) -> None:
    if args.format == "json":
        out.write(as_json(result.document(), indent=1) + "\n")
        return
    from rich.table import Table

    from doctor.render.console import console_for, print_chart, safe

    console = console_for(out, args.color, 160)
    versions = ", ".join(Path(version).name for version in result.versions)
    title = f"cudnn-init-oom on {result.gpu}{', SIMULATED' if result.simulated else ''}, {versions}"
    table = Table(title=safe(title), title_justify="left")
    for heading in ("setting", "outcome", "verdict"):
        table.add_column(heading, overflow="fold")
    for heading in ("free before", "held by the other process", "lowest free", "seconds"):
        table.add_column(heading, justify="right", overflow="fold")
    colours = {"passed": "green", "failed": "red"}
    for row in result.rows:
        colour = colours.get(row.outcome, "yellow")
        amounts = (row.free_before_mib, row.held_mib, row.lowest_free_mib)
        table.add_row(
            safe(f"{row.mode}\n{row.setting}"),
            f"[{colour}]{row.outcome}[/{colour}]",
            row.code,
            *("?" if amount is None else f"{amount} MiB" for amount in amounts),
            f"{row.seconds:.1f}",
        )
    console.print(table)
    for row in result.rows:
        if row.line:
            console.print(safe(f"{row.mode}: {row.line[:400]}"), soft_wrap=True)
    print_chart(console, _chart(result), 100)
    console.print(f"\n{safe(result.conclusion())}", soft_wrap=True)
    console.print(
        f"Free memory: {result.free_at_start_mib} MiB at the start, {result.free_at_end_mib} MiB at the end.",
        soft_wrap=True,
    )
    if result.reproduced and result.backend == "tensorflow":
        console.print("`tfgpu-doctor snippet memory-growth` prints the code.", soft_wrap=True)
