"""`tfgpu-doctor simulate`: run a command, or a shell, on a simulated GPU."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doctor.printable import as_json, say

if TYPE_CHECKING:
    import subprocess

    from doctor.simulate.machine import SimulatedGpu
    from doctor.simulate.scenario import Scenario

EPILOG = """\
examples:
  tfgpu-doctor simulate -- python train.py
  tfgpu-doctor simulate --gpu "RTX 3070" --gpu T4 -- python train.py
  tfgpu-doctor simulate --fault cudnn-out-of-memory -- python train.py
  tfgpu-doctor simulate --held 7000 -- tfgpu-doctor check
  tfgpu-doctor simulate --gpu A100 --mig 3g.20gb,1g.5gb -- python train.py
  tfgpu-doctor simulate  starts a shell"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `simulate` to the parser."""
    add = parser.add_argument
    add(
        "--gpu",
        action="append",
        default=[],
        metavar="NAME",
        help="a GPU by name, PCI id or compute capability; may be repeated",
    )
    add("--count", type=int, metavar="N", help="how many of these GPUs to simulate")
    add(
        "--memory",
        action="append",
        type=int,
        default=[],
        metavar="MIB",
        help="the GPU's memory in MiB (default: as much as the real GPU has)",
    )
    add(
        "--driver",
        metavar="V",
        help="the driver's version (default: 550.54.14, or the first version that supports the GPU)",
    )
    add(
        "--fault",
        action="append",
        default=[],
        metavar="NAME",
        help="a fault to simulate; may be repeated (--list-faults lists them)",
    )
    add(
        "--held",
        action="append",
        type=int,
        default=[],
        metavar="MIB",
        help="the GPU memory, in MiB, that another process seems to hold",
    )
    add(
        "--mig",
        action="append",
        default=[],
        metavar="PROFILES",
        help=(
            "divide the GPU into MIG instances, such as 3g.20gb,1g.5gb; `empty`: MIG mode without instances;"
            " `off`: no MIG mode (repeat --mig for each GPU, or give it once for all GPUs)"
        ),
    )
    add(
        "--python",
        metavar="ENV",
        help="use the TensorFlow in this environment: a folder or an interpreter",
    )
    add(
        "--trace",
        metavar="FILE",
        help="log each call of a simulated library in this file, with its process, function and status",
    )
    add("--list-faults", action="store_true", help="list the faults that can be simulated")
    add(
        "--about",
        action="store_true",
        help="say what is real, what is simulated, and what a simulation cannot show",
    )
    add(
        "command",
        nargs=argparse.REMAINDER,
        metavar="-- COMMAND",
        help="the command and its arguments (default: a shell)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command on the simulated GPU. Returns the command's exit code (128 + N if signal N ended it).

    Raises CallError for wrong options, SimulationError if the simulation is not possible here, UnableError if
    --output cannot be written.
    """
    if args.about or args.list_faults:
        from doctor.render.fold import columns_of, fold
        from doctor.render.output import destination
        from doctor.simulate.about import TEXT

        with destination(args.output) as out:
            if args.about:
                out.write(fold(TEXT, columns_of(out), paragraphs=True))
            elif args.format == "json":
                out.write(_faults_as_json())
            else:
                out.write(fold(_faults(), columns_of(out)))
        return 0
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    return _simulate(args, command)


def _faults_as_json() -> str:
    from doctor.simulate.faults import FAULTS

    rows = [
        {
            "name": f.name,
            "code": f.code,
            "shown_by": f.shown_by,
            "description": f.description,
            "code_of_log": f.logged or f.code,
            "code_of_machine": None if f.on_machine is None else f.on_machine or f.code,
        }
        for f in FAULTS.values()
    ]
    return as_json({"schema": 1, "faults": rows}, indent=1) + "\n"


def _faults() -> str:
    """Return a table of the faults that can be simulated."""
    from doctor.simulate.faults import FAULTS

    faults = FAULTS.values()
    rows = [("fault", "finding", "what is wrong"), *((f.name, f.code, f.description) for f in faults)]
    names, codes = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "".join(f"{name:{names}}  {code:{codes}}  {what}\n" for name, code, what in rows)


def _simulate(args: argparse.Namespace, command: list[str]) -> int:
    from doctor.simulate.compilation import CallError
    from doctor.simulate.libraries import has_nccl_inside
    from doctor.simulate.lifecycle import environment
    from doctor.simulate.request import prepare, tensorflow_of

    base = _base_environment(args.python)
    shell = not command
    command = command or [os.environ.get("SHELL") or "/bin/sh"]
    program = shutil.which(command[0], path=base.get("PATH"))
    if program is None:
        raise CallError(f"there is no command {command[0]!r}")
    command = [program, *command[1:]]
    looked_at = [] if shell else command
    scenario = prepare(
        python=args.python,
        gpus=args.gpu,
        count=args.count,
        memory_mib=args.memory,
        driver=args.driver,
        faults=args.fault,
        held_mib=args.held,
        mig=args.mig,
        command=looked_at,
    )
    if args.trace:
        scenario = scenario.setting(trace=str(Path(args.trace).absolute()))
    tensorflow = tensorflow_of(args.python, looked_at)
    with _deferred_signals() as forward, environment(scenario, base) as simulation:
        _say(_opening(scenario, str(tensorflow) if tensorflow else "", args.fault))
        if tensorflow and len(scenario.machine.gpus) > 1 and has_nccl_inside(tensorflow):
            _say(
                "NCCL does not work in this simulation: the NCCL inside this TensorFlow needs NVIDIA's"
                " driver; use"
                " tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.HierarchicalCopyAllReduce()),"
                " or TensorFlow 2.21"
            )
        if shell:
            _say("exit the shell to end the simulation")
        code = _run(command, simulation.environment, forward)
    how = f"signal {code - 128} ended the command" if code > 128 else f"the command's exit code is {code}"
    _say(f"the simulation is over ({how}); what ran in it had no real GPU")
    return code


def _base_environment(python: str | None) -> dict[str, str]:
    """Return this process's environment variables, with the commands of the chosen Python environment first
    on PATH."""
    base = dict(os.environ)
    if python is not None:
        from doctor.simulate.libraries import find_interpreter

        interpreter = find_interpreter(python, ())
        if interpreter is not None:
            base["PATH"] = os.pathsep.join([str(interpreter.parent), base.get("PATH", os.defpath)])
            if (interpreter.parent.parent / "pyvenv.cfg").exists():
                base["VIRTUAL_ENV"] = str(interpreter.parent.parent)
    return base


def _opening(scenario: Scenario, tensorflow: str, faults: list[str]) -> str:
    machine = scenario.machine
    gpus = ", ".join(map(_in_words, machine.gpus)) or "no GPU"
    libraries = (
        f"the libraries of {tensorflow or 'CUDA'} (CUDA {machine.libraries.cuda}, cuDNN"
        f" {machine.libraries.cudnn})"
    )
    wrong = f"; faults: {', '.join(faults)}" if faults else ""
    held = (
        f"; another process holds {', '.join(map(str, scenario.held_mib))} MiB" if scenario.held_mib else ""
    )
    none = "" if tensorflow else " (no TensorFlow was found in this environment)"
    return (
        f"a simulation without a real GPU: {gpus}, driver {machine.driver}, {libraries}{none}{held}{wrong};"
        " kernels do not compute (`tfgpu-doctor simulate --about` says more)"
    )


def _in_words(gpu: SimulatedGpu) -> str:
    if gpu.instances is None:
        return f"{gpu.name} ({gpu.memory_mib} MiB)"
    parts = ", ".join(part.profile for part in gpu.instances) or "no instance"
    return f"{gpu.name} ({gpu.memory_mib} MiB; MIG: {parts})"


def _say(text: str) -> None:
    say(f"tfgpu-doctor simulate: {text}")


def _run(command: list[str], environment: dict[str, str], forward: list[subprocess.Popen[bytes]]) -> int:
    import subprocess

    child = subprocess.Popen(command, env=environment)
    forward.append(child)
    code = child.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _deferred_signals() -> Iterator[list[subprocess.Popen[bytes]]]:
    """A context in which signals that would end this process are passed on to the command instead. Yields a
    list, to which the caller adds the process of the command.

    The terminal sends Ctrl-C to the command too, so this process only ignores it.
    """
    children: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, _frame: Any) -> None:
        if not children:
            raise KeyboardInterrupt
        if number != signal.SIGINT:
            children[0].send_signal(number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        yield children
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
