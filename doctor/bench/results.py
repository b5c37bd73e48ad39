"""Defines measurements and their statistics, and finds the size from which the GPU is faster."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles
from typing import Any

from doctor.values import dataclass

NOISY = 0.2
"""A measurement is noisy if its spread (the range of the middle half of the times, divided by the median) is
above this."""
SIZES = {
    "matmul": "n: a product of n × n matrices, float32",
    "convolution": "n: 8 images of n × n pixels with 16 channels, 3 × 3 filters",
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """The times of one operation of one size on one device, in seconds.

    first: the time of the first call, which includes the preparation. times: the times of later calls.
    transfer: whether each call copies the data from host memory to the GPU and back. flop: the number of
    floating-point operations in one call.
    """

    op: str
    size: int
    device: str
    transfer: bool
    first: float
    times: tuple[float, ...]
    flop: float

    @property
    def median(self) -> float:
        """The median of the times of the later calls."""
        return median(self.times)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The lower and upper quartile of the times of the later calls."""
        if len(self.times) < 2:
            return self.times[0], self.times[0]
        low, _, high = quantiles(self.times, n=4, method="inclusive")
        return low, high

    @property
    def spread(self) -> float:
        """The distance between the quartiles, as a fraction of the median."""
        low, high = self.quartiles
        return (high - low) / self.median if self.median else 0.0

    @property
    def gflops(self) -> float:
        """The speed at the median time, in 10^9 floating-point operations per second."""
        return self.flop / self.median / 1e9 if self.median else 0.0


def pays_from(measured: Sequence[Measurement], op: str, *, transfer: bool) -> int | None:
    """Return the smallest size from which the GPU is faster than the CPU at all sizes that both ran, or None
    if there is no such size.

    Faster means that the upper quartile of the GPU's times is below the lower quartile of the CPU's times.
    """
    cpu = {m.size: m for m in measured if m.op == op and m.device == "CPU"}
    gpu = {m.size: m for m in measured if m.op == op and m.device == "GPU" and m.transfer == transfer}
    found = None
    for size in sorted(set(cpu) & set(gpu), reverse=True):
        if gpu[size].quartiles[1] >= cpu[size].quartiles[0]:
            break
        found = size
    return found


@dataclass(frozen=True, slots=True)
class Bench:
    """The result of a whole run. software: the library that computed ("TensorFlow 2.21.0"). gpu: the GPU's
    name; None without a GPU. load: the machine's load at the start and at the end, in runnable processes per
    core; None if the system does not report it. stopped: sentences that say why measurements ended early."""

    software: str
    gpu: str | None
    simulated: bool
    cores: int
    load: tuple[float, float] | None
    measured: tuple[Measurement, ...]
    stopped: tuple[str, ...]

    def notes(self) -> list[str]:
        """Return warnings that say how reliable the numbers are."""
        notes = []
        if self.simulated:
            notes.append("THE GPU IS SIMULATED: its kernels do not compute, so its times mean nothing.")
        noisy = [m for m in self.measured if m.spread > NOISY]
        if noisy:
            notes.append(
                f"{len(noisy)} of {len(self.measured)} measurements are noisy (~): the middle half of their"
                f" times spans more than {NOISY:.0%} of the median. Close other programs, and ignore small"
                " differences."
            )
        if self.load is not None and max(self.load) > 0.5:
            notes.append(
                f"The machine was busy: {self.load[0]:.1f} to {self.load[1]:.1f} runnable processes per core"
                f" ({self.cores} cores), including the measurement itself."
            )
        if self.gpu is None:
            notes.append("No GPU was used: all times are those of the CPU. `tfgpu-doctor check` says why.")
        return [*notes, *self.stopped]

    def document(self) -> dict[str, Any]:
        """Return the result as a dictionary for JSON."""
        from doctor import __version__

        return {
            "schema": 1,
            "tool": {"name": "tfgpu-doctor", "version": __version__},
            "software": self.software,
            "gpu": self.gpu,
            "simulated": self.simulated,
            "cores": self.cores,
            "measurements": [
                {
                    "op": m.op,
                    "size": m.size,
                    "device": m.device,
                    "transfer": m.transfer,
                    "first_seconds": m.first,
                    "median_seconds": m.median,
                    "quartiles_seconds": list(m.quartiles),
                    "repeats": len(m.times),
                    "noisy": m.spread > NOISY,
                    "gflops": m.gflops,
                }
                for m in self.measured
            ],
            "gpu_pays_from": {
                op: {
                    "without_transfer": pays_from(self.measured, op, transfer=False),
                    "with_transfer": pays_from(self.measured, op, transfer=True),
                }
                for op in SIZES
                if self.gpu is not None
            },
            "notes": self.notes(),
        }
