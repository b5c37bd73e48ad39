"""Starts the child process that measures, and collects its results."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping

from doctor.bench.results import Bench, Measurement
from doctor.errors import UnableError
from doctor.remedies import code
from doctor.subprocesses import Child, ChildError, program

MATMUL = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
CONVOLUTION = (8, 16, 32, 64, 128, 256, 512, 1024)
REPEATS, SECONDS = 30, 1.5
QUICK = {"repeats": 7, "seconds": 0.3}


def bench(
    python: str,
    version: str | None,
    environment: Mapping[str, str],
    *,
    limit: float,
    quick: bool,
    simulated: bool,
    tell: Callable[[Measurement], None],
) -> Bench:
    """Measure with the TensorFlow of `python`, or with its NumPy if `version` is None.

    limit: the time limit in seconds. quick: measure fewer and smaller sizes. tell: called with each
    measurement. Raises UnableError if nothing can be measured.
    """
    plan = {
        "matmul": MATMUL[:5] if quick else MATMUL,
        "convolution": CONVOLUTION[:4] if quick else CONVOLUTION,
        "repeats": REPEATS,
        "seconds": SECONDS,
        # the child stops increasing the size before the limit, so only a call that hangs reaches the limit
        "budget": limit * 0.8,
        "growth": code.memory_growth(version),
        **(QUICK if quick else {}),
    }
    variables = {**environment, "TF_CPP_MIN_LOG_LEVEL": environment.get("TF_CPP_MIN_LOG_LEVEL", "2")}
    arguments = ["tensorflow" if version else "numpy", json.dumps(plan)]
    measured: list[Measurement] = []
    stopped: list[str] = []
    software, gpu = "", None
    before = _load()
    with Child(python, program("doctor.bench", "_measure.py"), arguments, variables) as child:
        done = False
        try:
            for answer in child.answers(time.monotonic() + limit):
                stage = answer["stage"]
                if stage == "ready":
                    software, gpu = f"{answer['name']} {answer['version']}", answer["gpu"]
                elif stage == "measured":
                    what = {key: answer[key] for key in ("op", "size", "device", "transfer", "first", "flop")}
                    found = Measurement(**what, times=tuple(answer["times"]))
                    measured.append(found)
                    tell(found)
                elif stage == "stopped":
                    stopped.append(
                        f"{answer['op']} on the {answer['device']} ended at size {answer['size']}:"
                        f" {answer['why']}."
                    )
                elif stage == "absent":
                    raise UnableError(
                        f"{python} has neither TensorFlow nor NumPy to measure with",
                        "choose another environment with --python",
                    )
                elif stage == "failed":
                    raise UnableError(
                        f"the measurement failed: {answer['error']}",
                        "run `tfgpu-doctor check --deep` for more details",
                    )
                done = done or stage == "done"
        except ChildError as problem:
            stopped.append(f"The measurement ended early: {problem} ({limit:.0f} s).")
        else:
            if not done:
                stopped.append(f"The measurement ended early: {child.how_it_ended()}.")
    if not measured:
        raise UnableError(
            f"nothing was measured: {' '.join(stopped)}", "run `tfgpu-doctor check --deep` for more details"
        )
    after = _load()
    load = (before, after) if before is not None and after is not None else None
    return Bench(software, gpu, simulated, os.cpu_count() or 1, load, tuple(measured), tuple(stopped))


def _load() -> float | None:
    """Return the machine's load in the last minute, in runnable processes per core; None on a system that
    does not report it."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return None
