"""`tfgpu-doctor bench`: CPU and GPU times for growing problem sizes, as a table and a plot."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, TextIO

from doctor.commands.numbers import SECONDS
from doctor.errors import UnableError
from doctor.printable import as_json, say

FORMATS = ("text", "json")

if TYPE_CHECKING:
    from doctor.bench.results import Bench, Measurement
    from doctor.charts import Chart

EPILOG = """\
examples:
  tfgpu-doctor bench
  tfgpu-doctor bench --quick                     takes half a minute at most
  tfgpu-doctor bench --gpu 1 --output bench.svg  draws the plot into a file (.svg or .png)
  tfgpu-doctor bench --format json

Each time is the median of repeated calls after a warm-up. The first call, which loads libraries,
compiles and tunes, is shown separately. "with transfer" includes copying the data from host memory
to the GPU and back."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench` to the parser."""
    parser.add_argument("--python", metavar="ENV", help="measure TensorFlow (or NumPy) in this environment")
    parser.add_argument(
        "--gpu",
        type=int,
        metavar="N",
        help="the GPU's number in nvidia-smi (default: the first GPU that the process sees)",
    )
    parser.add_argument("--quick", action="store_true", help="measure only small sizes, with few repeats")
    parser.add_argument(
        "--limit",
        type=SECONDS,
        metavar="SECONDS",
        help="time limit for the whole measurement (default: 300; with --quick: 60)",
    )


def run(args: argparse.Namespace) -> int:
    """Measure, print the results and return exit code 0. Raises UnableError if nothing can be measured."""
    from doctor import charts
    from doctor.bench.run import bench
    from doctor.render.output import destination
    from doctor.simulate import IN_FORCE
    from doctor.simulate.libraries import find_interpreter, find_tensorflow
    from doctor.subprocesses.signals import ending_in_order

    picture = bool(args.output) and args.output.lower().endswith((".svg", ".png"))
    if picture:
        charts.may_write(args.output)
    interpreter = find_interpreter(args.python, ())
    if interpreter is None:
        raise UnableError("no Python was found to measure with", "choose one with --python")
    build = find_tensorflow(interpreter)
    environment = dict(os.environ)
    if args.gpu is not None:
        environment.update(CUDA_VISIBLE_DEVICES=str(args.gpu), CUDA_DEVICE_ORDER="PCI_BUS_ID")
    terminal = sys.stderr.isatty() and not args.quiet
    limit = args.limit or (60 if args.quick else 300)
    if terminal:
        say(f"Measuring with {build or 'NumPy'} in {interpreter} (at most {limit} s) ...")

    def tell(found: Measurement) -> None:
        if terminal:
            say(f"  {found.device} {found.op} {found.size}", end="", over=True)

    with ending_in_order():
        result = bench(
            str(interpreter),
            build.version if build else None,
            environment,
            limit=float(limit),
            quick=args.quick,
            simulated=IN_FORCE in os.environ,
            tell=tell,
        )
    if terminal:
        say("", end="", over=True)
    if picture:
        charts.write(_whole_chart(result), args.output)
    with destination(None if picture else args.output) as out:
        _print(result, out, args)
    return 0


LINES = (("CPU", "CPU", False), ("GPU", "GPU", False), ("GPU with transfer", "GPU", True))


def _chart(result: Bench, op: str) -> Chart:
    """Return a chart of time against size for one operation: one line for the CPU and two for the GPU. Both
    axes are logarithmic."""
    from doctor.bench.results import SIZES
    from doctor.charts import Chart, Line

    lines = tuple(
        Line(name, points)
        for name, device, transfer in LINES
        if (points := _points(result, op, device, transfer, by_size=True))
    )
    return Chart(f"{op}, {result.software}", SIZES[op], "ms", lines, logarithmic=True)


def _whole_chart(result: Bench) -> Chart:
    """Return one chart for both operations: time against the floating-point operations of one call."""
    from doctor.bench.results import SIZES
    from doctor.charts import Chart, Line

    lines = tuple(
        Line(f"{op}, {name}", points)
        for op in SIZES
        for name, device, transfer in LINES
        if (points := _points(result, op, device, transfer, by_size=False))
    )
    simulated = ", SIMULATED GPU" if result.simulated else ""
    title = f"{result.software}: CPU {f'and {result.gpu}' if result.gpu else 'alone'}{simulated}"
    return Chart(title, "10^6 floating-point operations in one call", "ms", lines, logarithmic=True)


def _points(
    result: Bench, op: str, device: str, transfer: bool, *, by_size: bool
) -> tuple[tuple[float, float], ...]:
    """Return the points of one line: (size, or 10^6 floating-point operations; time in ms)."""
    return tuple(
        (float(m.size) if by_size else m.flop / 1e6, 1000 * m.median)
        for m in result.measured
        if (m.op, m.device, m.transfer) == (op, device, transfer)
    )


def _print(result: Bench, out: TextIO, args: argparse.Namespace) -> None:
    if args.format == "json":
        out.write(as_json(result.document(), indent=1) + "\n")
        return
    from rich.table import Table

    from doctor.bench.results import NOISY, SIZES, pays_from
    from doctor.render.console import console_for, print_chart, safe

    console = console_for(out, args.color, 120)
    against = (
        f"CPU and {result.gpu}{' (SIMULATED)' if result.simulated else ''}" if result.gpu else "CPU alone"
    )
    for op in SIZES:
        rows = [m for m in result.measured if m.op == op]
        if not rows:
            continue
        table = Table(title=safe(f"{op}: {against}, {result.software} ({SIZES[op]})"), title_justify="left")
        for heading in ("size", "device", "first call", "median", "middle half", "GFLOP/s", "calls"):
            table.add_column(heading, justify="left" if heading == "device" else "right", overflow="fold")
        for m in sorted(rows, key=lambda m: (m.size, m.device, m.transfer)):
            low, high = m.quartiles
            table.add_row(
                str(m.size),
                m.device + (" with transfer" if m.transfer else ""),
                _time(m.first),
                ("~" if m.spread > NOISY else "") + _time(m.median),
                f"{_time(low)} to {_time(high)}",
                f"{m.gflops:.1f}",
                str(len(m.times)),
            )
        console.print(table)
        print_chart(console, _chart(result, op), 90)
        if result.gpu and not result.simulated:
            for transfer, words in ((False, "With the data on the GPU"), (True, "With transfer")):
                size = pays_from(result.measured, op, transfer=transfer)
                said = f"from size {size} on" if size is not None else "at none of the measured sizes"
                console.print(f"{words}, the GPU is faster {said}.", soft_wrap=True)
        console.print()
    for note in result.notes():
        console.print(safe(note), soft_wrap=True)


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
