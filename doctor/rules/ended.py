"""Symptoms that show that a process crashed, and the steps to suggest if a GPU is registered but mostly
idle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.findings import Step, manual, shell
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case

DIED = ("segfault", "fatal-check")
"""Symptoms of a process that ended in a crash."""


def busy(case: Case) -> list[Step]:
    """Return the steps that show whether a registered GPU is busy, and the steps that give it more work."""
    watch = run("nvidia-smi", "--query-gpu=utilization.gpu,memory.used", "--format=csv", "-l", "1")
    steps = [
        shell(
            watch,
            "run this while the program is running: if the utilisation goes up and down, the GPU is waiting"
            " for input",
        ),
        manual(
            "Use larger batches, and let tf.data prepare the next batch while the GPU computes (map with"
            " num_parallel_calls, prefetch)"
        ),
        shell(
            run("tfgpu-doctor", "bench"),
            "compares the CPU and the GPU at growing sizes: a small model may gain nothing from the GPU",
        ),
    ]
    if case.platform == "windows":
        steps.insert(
            1,
            manual(
                "In Task Manager, choose Cuda or Compute for one of the GPU's graphs: the default graphs do"
                " not show the load from CUDA",
                platform="windows",
            ),
        )
    return steps
