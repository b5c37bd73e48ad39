"""Runs a reproduction: sets up the GPU, makes the attempts, watches free memory, and cleans up."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from doctor.errors import UnableError
from doctor.reproduce import native, stage, with_tensorflow
from doctor.reproduce.results import Result, Row


@contextmanager
def surroundings(python: str | None, gpu: str | None, *, simulate: bool) -> Iterator[Mapping[str, str]]:
    """The environment variables for the processes: this process's own without CUDA_VISIBLE_DEVICES, or with
    `simulate` those of a simulated machine. gpu: the name of the simulated GPU; None for the default.
    python: see `doctor.simulate.prepare`."""
    base = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    if not simulate:
        yield base
        return
    from doctor.simulate import environment, prepare

    with environment(prepare(python=python, gpus=(gpu,) if gpu else ()), base) as simulation:
        yield simulation.environment


def reproduce(
    environment: Mapping[str, str],
    *,
    number: int,
    backend: str,
    python: str | None,
    interpreter: str | None,
    version: str | None,
    force: bool,
    simulated: bool,
    limit: float,
    tell: Callable[[str], None],
) -> Result:
    """Make the failure happen on GPU `number` (its number in nvidia-smi), and try the settings that may fix
    it.

    interpreter, version: the environment's Python and its TensorFlow. limit: seconds for each attempt. tell:
    called with each attempt's name. Raises UnableError if this is not possible.
    """
    place = stage.find(environment, number, force=force, python=sys.executable)
    starts: list[tuple[float, str]] = []

    def begin(mode: str) -> None:
        starts.append((place.now, mode))
        tell(mode)

    rows: list[Row]
    versions: tuple[str, ...]
    with stage.watched(place):
        free_at_start = place.free()
        if backend == "native":
            found = native.libraries(python, dict(environment))
            versions = (found.cudart, found.cudnn)
            rows = native.attempts(place, found, limit, begin)
        else:
            if interpreter is None or version is None:
                raise UnableError(
                    "the environment in use has no TensorFlow",
                    "choose another environment with --python; --backend native needs no TensorFlow",
                )
            versions = (f"TensorFlow {version}",)
            rows = with_tensorflow.attempts(place, interpreter, version, limit, begin)
        time.sleep(3 * stage.SAMPLING)  # until the freed memory shows in a sample
        free_at_end = place.free()
    zero = place.samples[0][0]
    return Result(
        backend,
        simulated,
        f"{place.gpu}, {place.total_mib} MiB",
        versions,
        tuple(rows),
        tuple((at - zero, free) for at, free in place.samples),
        tuple((at - zero, mode) for at, mode in starts),
        free_at_start,
        free_at_end,
    )
