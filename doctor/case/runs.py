"""Separates the runs in a report: one report may contain both a run that failed and a run that got a GPU."""

from __future__ import annotations

import re

from doctor import lazy
from doctor.facts import CudaCallFailed, Facts, GpuRegistered

_LOGGED = lazy.compile(r"\bCreat(?:ed|ing) |gpu_device\.cc", re.IGNORECASE)
"""Matches TensorFlow's own log lines about a device that it creates (gpu_device.cc)."""


def of_another(facts: Facts) -> list[GpuRegistered]:
    """Return the GPU devices in a report that belong to a run other than the failing one.

    A process looks for GPUs once: if it skipped them, listed none or failed in cuInit, it creates no device
    later. CUDA_ERROR_NO_DEVICE in a log with a device does not count: if several processes write into one
    log, some of them may be meant to see no GPU. It counts below a list that a person's program printed.
    """
    made = [device for device in facts.of(GpuRegistered) if device.count]
    if not made or facts.kind != "report":
        return []
    printed = not any(_LOGGED.search(device.source.text) for device in made)
    last = max(device.source.line or 0 for device in made)
    without = facts.has("gpu-skipped", "cpu-only-listed", "gpu-list-empty", "cudart-stub") or any(
        failed.call == "cuInit"
        and (failed.error != "CUDA_ERROR_NO_DEVICE" or (printed and (failed.source.line or 0) > last))
        for failed in facts.of(CudaCallFailed)
    )
    return made if without else []
