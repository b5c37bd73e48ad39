"""Checks whether the environment's own CUDA libraries, which a simulation replaces, would load without it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from doctor.facts import Fact, Source, Symptom
from doctor.probe.interpreter import Environment
from doctor.probe.loader import Loader
from doctor.probe.machine import Machine
from doctor.values import replace

SIMULATION = "TFGPU_DOCTOR_SIMULATION"
_DRIVER = ("libcuda.so", "libnvidia-ml.so")


def examine(
    machine: Machine, environment: Environment, caller: str | None, names: tuple[str, ...]
) -> Iterator[Fact]:
    """If a simulation is in use, a symptom with the libraries that would not load without it; otherwise
    nothing.

    caller: the path of TensorFlow's own library, whose RUNPATH affects the search. names: the libraries that
    TensorFlow needs.
    """
    in_force = machine.env.get(SIMULATION)
    if not in_force:
        return
    folder = posixpath.dirname(in_force)
    search = [
        part
        for part in machine.env.get("LD_LIBRARY_PATH", "").split(":")
        if part and not _within(part, folder)
    ]
    preload = [
        part
        for part in machine.env.get("LD_PRELOAD", "").replace(" ", ":").split(":")
        if part and not _within(part, folder)
    ]
    env = {**machine.env, "LD_LIBRARY_PATH": ":".join(search), "LD_PRELOAD": ":".join(preload)}
    without = replace(machine, env=env)
    loader = Loader(without, env, environment.program)
    if caller is not None:
        loader.load(caller)
    own = loader.loaded(posixpath.basename(caller)) if caller is not None else None
    asked = [name for name in names if not name.startswith(_DRIVER)]
    missing = [name for name in asked if loader.open(name, own).path is None]
    text = (
        f"without the simulation, these libraries would not load: {', '.join(missing)}"
        if missing
        else "without the simulation, all the libraries would load"
    )
    detail = (("missing", ", ".join(missing)), ("asked", ", ".join(asked)))
    yield Symptom(Source(f"${SIMULATION}", None, text), "simulated-libraries", detail)


def _within(path: str, folder: str) -> bool:
    return posixpath.normpath(path).startswith(posixpath.normpath(folder) + "/")
