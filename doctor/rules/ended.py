"""How a run that registered a GPU went: it died, or its GPU has little to do."""

from __future__ import annotations

from doctor.findings import Step, manual, shell
from doctor.picture import Picture
from doctor.shell import run

DIED = ("segfault", "fatal-check")
"""Symptoms of a process that ended in a crash."""


def busy(picture: Picture) -> list[Step]:
    """What shows whether a GPU that is registered works, and what gives it more to do."""
    watch = run("nvidia-smi", "--query-gpu=utilization.gpu,memory.used", "--format=csv", "-l", "1")
    steps = [
        shell(watch, "while the program runs: a use that comes and goes waits for input"),
        manual("Give it larger batches, and let tf.data prepare the next one meanwhile (map with num_parallel_calls, prefetch)"),
    ]
    if picture.platform == "windows":
        steps.insert(1, manual("In the Task Manager choose Cuda or Compute for one of the GPU's graphs: the ones that it shows first know nothing of CUDA", platform="windows"))
    return steps
