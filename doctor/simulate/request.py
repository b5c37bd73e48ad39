"""Turns the options of `simulate` into a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from doctor.compat.software import first_driver
from doctor.simulate.compilation import CallError, SimulationError
from doctor.simulate.damage import PASSED_OVER
from doctor.simulate.faults import FAULTS
from doctor.simulate.gpus import DEFAULT_GPU, find_gpu
from doctor.simulate.libraries import TensorFlowBuild, find_interpreter, find_tensorflow, libraries_of
from doctor.simulate.machine import SimulatedGpu, SimulatedMachine
from doctor.simulate.mig import OFF, divided
from doctor.simulate.scenario import DEFAULT_DRIVER, Scenario, driver_cuda_number
from doctor.tables import Tables, dotted
from doctor.values import replace

T = TypeVar("T")


def prepare(
    *,
    python: str | None = None,
    gpus: Sequence[str] = (),
    count: int | None = None,
    memory_mib: Sequence[int] = (),
    driver: str | None = None,
    faults: Sequence[str] = (),
    held_mib: Sequence[int] = (),
    mig: Sequence[str] = (),
    command: Sequence[str] = (),
) -> Scenario:
    """The scenario for these options. The default is an RTX 3070 without faults. The default driver is
    550.54.14, or for newer GPUs the first driver that supports them.

    python: an interpreter or an environment's folder; its TensorFlow decides which libraries the machine has.
    The default is the command's own Python, otherwise the environment in use. gpus: one name for each GPU, or
    one for all `count` GPUs. memory_mib, held_mib and mig (MIG profiles, see mig.divided): one value for all
    GPUs, or one for each. Raises CallError for what cannot be simulated, SimulationError for a fault that
    would not show.
    """
    tables = Tables.bundled()
    names = list(gpus) or [DEFAULT_GPU]
    if count is not None:
        if not 1 <= count <= 16:
            raise CallError(f"1 to 16 GPUs can be simulated, not {count}")
        if len(names) not in (1, count):
            raise CallError(f"--count {count} cannot be combined with {len(names)} --gpu options")
        names = names * count if len(names) == 1 else names
    if len(names) > 16:
        raise CallError(f"1 to 16 GPUs can be simulated, not {len(names)}")
    memory: list[int | None] = _for_each(_above_0(memory_mib, "--memory"), len(names), "--memory", None)
    held = _for_each(_above_0(held_mib, "--held"), len(names), "--held", 0)
    tensorflow = tensorflow_of(python, command)
    parts = _for_each(mig, len(names), "--mig", OFF)
    cards = [find_gpu(name, tables, mib) for name, mib in zip(names, memory)]
    first = max([DEFAULT_DRIVER, *(_first_driver(card, tables) for card in cards)], key=dotted)
    version = driver or first
    cuda = driver_cuda_number(version, tables)
    if cuda is None:
        raise CallError(
            f"the tables do not state the CUDA version that driver {version} supports (`tfgpu-doctor tables"
            " driver` lists the driver branches)"
        )
    if first != DEFAULT_DRIVER and dotted(version) < dotted(first):
        named = " and ".join(dict.fromkeys(card.name for card in cards))
        raise CallError(f"driver {version} does not support {named}: {first} is the first that does")
    machine = SimulatedMachine(
        tuple(divided(card, part) for card, part in zip(cards, parts)),
        version,
        cuda,
        libraries_of(tensorflow, tables),
    )
    scenario = Scenario(machine, held_mib=tuple(held))
    for name in faults:
        if name not in FAULTS:
            hint = "`tfgpu-doctor simulate --list-faults` lists the faults"
            raise CallError(f"no fault is called {name!r}{_nearest(name)}; {hint}")
        scenario = FAULTS[name].change(scenario)
    if faults:
        scenario = scenario.setting(faults=", ".join(faults))
    if tensorflow:
        _refuse_what_would_not_show(scenario, tensorflow)
    return _checked(scenario)


def tensorflow_of(python: str | None, command: Sequence[str]) -> TensorFlowBuild | None:
    """The installed TensorFlow build, whose libraries the simulated machine provides; None if no TensorFlow
    is found."""
    interpreter = find_interpreter(python, command)
    return find_tensorflow(interpreter) if interpreter else None


def _for_each(values: Sequence[T], count: int, option: str, default: T) -> list[T]:
    """Return the values of an option for each GPU. values: none, one for all GPUs, or one for each."""
    if len(values) not in (0, 1, count):
        raise CallError(f"{option} was given {len(values)} times for {count} GPUs")
    values = values or (default,)
    return [*values] * count if len(values) == 1 else [*values]


def _above_0(values: Sequence[int], option: str) -> Sequence[int]:
    if any(value <= 0 for value in values):
        raise CallError(f"{option} must be a number of MiB above 0")
    return values


def _checked(scenario: Scenario) -> Scenario:
    if any(scenario.held_mib) and any(gpu.instances is not None for gpu in scenario.machine.gpus):
        raise CallError("--held cannot be combined with --mig: held memory is not simulated on a divided GPU")
    for gpu, held in zip(scenario.machine.gpus, scenario.held_mib):
        if held > gpu.memory_mib:
            raise CallError(f"{held} MiB cannot be held on {gpu.name}, which has {gpu.memory_mib} MiB")
    return replace(scenario, held_mib=scenario.held_mib if any(scenario.held_mib) else ())


def _refuse_what_would_not_show(scenario: Scenario, tensorflow: TensorFlowBuild) -> None:
    """Raise SimulationError if a fault would not show, because TensorFlow also searches the folders of
    NVIDIA's pip packages (its RUNPATH), after those of the simulation."""
    for wrong in scenario.damages:
        for soname in scenario.machine.libraries.sonames:
            own = next(tensorflow.site_packages.glob(f"nvidia/*/lib/{soname}"), None)
            if own and wrong.kind in PASSED_OVER and soname.startswith(f"{wrong.stem}.so."):
                raise SimulationError(
                    f"the fault would not show: this environment has {soname} in {own.parent}, which"
                    " TensorFlow would load in its place",
                    "use an environment in which TensorFlow was installed without [and-cuda]",
                )


def _nearest(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, FAULTS, n=3)
    return f" (similar names: {', '.join(near)})" if near else ""


def _first_driver(card: SimulatedGpu, tables: Tables) -> str:
    """The driver that came with the first CUDA release for a GPU; DEFAULT_DRIVER if the tables do not show
    it."""
    floor = first_driver(card.compute_capability, tables)
    return floor.driver if floor is not None else DEFAULT_DRIVER
