"""Separates the runs in a report: one report may contain both a run that failed and a run that got a GPU."""

from __future__ import annotations

from doctor.facts import CudaCallFailed, Facts, GpuRegistered


def of_another(facts: Facts) -> list[GpuRegistered]:
    """Return the GPU devices in a report that belong to a run other than the failing one.

    A process looks for GPUs once: if it skipped them, listed none or failed in cuInit, it creates no device
    later. CUDA_ERROR_NO_DEVICE in a log with a device does not count: if several processes write into one
    log, some of them may be meant to see no GPU. It counts below a list that somebody printed.
    """
    made = [device for device in facts.of(GpuRegistered) if device.count]
    if not made or facts.kind != "report":
        return []
    printed = all("PhysicalDevice(" in device.source.text for device in made)
    last = max(device.source.line or 0 for device in made)
    without = facts.has("gpu-skipped", "cpu-only-listed", "gpu-list-empty", "cudart-stub") or any(
        failed.call == "cuInit"
        and (failed.error != "CUDA_ERROR_NO_DEVICE" or (printed and (failed.source.line or 0) > last))
        for failed in facts.of(CudaCallFailed)
    )
    return made if without else []
