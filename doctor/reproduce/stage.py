"""Finds the GPU for a reproduction: the environment variables for the processes, its free memory, and its
users."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from doctor.errors import UnableError
from doctor.subprocesses import Child, ChildError, program
from doctor.values import dataclass, field

MIB = 1 << 20
SAMPLING = 0.05
"""Seconds between two samples of the free memory."""


@dataclass
class Stage:
    """The GPU on which a failure is reproduced. number: its number in nvidia-smi. gpu: its name. environment:
    the environment variables that restrict a process to this GPU. python: the interpreter of this process.
    samples: (time, free MiB)."""

    number: int
    gpu: str
    total_mib: int
    environment: dict[str, str]
    python: str
    samples: list[tuple[float, float]] = field(default_factory=list)

    @property
    def now(self) -> float:
        """The present time in seconds, on the clock of the samples."""
        return time.time()

    def lowest_between(self, begin: float, end: float) -> int | None:
        """The lowest sample of free memory (MiB) between two times; None if there is none."""
        seen = [free for at, free in list(self.samples) if begin <= at <= end]
        return round(min(seen)) if seen else None

    def free(self) -> int | None:
        """The last sample of free memory (MiB)."""
        return round(self.samples[-1][1]) if self.samples else None


def find(environment: Mapping[str, str], number: int, *, force: bool, python: str) -> Stage:
    """Return the GPU whose number in nvidia-smi is `number`.

    Raises UnableError if there is no such GPU, or if other processes (which the message lists) use it and
    `force` is not given.
    """
    from doctor.devices.look import look

    seen = look(environment, "PCI_BUS_ID")
    if not seen.devices:
        raise UnableError(
            f"there is no NVIDIA GPU to reproduce on ({seen.problem})",
            "--simulate reproduces the failure with real TensorFlow on a simulated GPU; `tfgpu-doctor check`"
            " says why no GPU responds",
        )
    if number >= len(seen.devices):
        raise UnableError(
            f"there is no GPU {number}: the last one is GPU {len(seen.devices) - 1}",
            "`tfgpu-doctor devices` lists the GPUs",
        )
    users = seen.processes[number]
    if users and not force:
        named = "; ".join(
            f"pid {p.pid}"
            + (f" of {p.user}" if p.user else "")
            + (f", {p.memory_mib} MiB" if p.memory_mib else "")
            for p in users
        )
        raise UnableError(
            f"GPU {number} is in use ({named}), and the reproduction would fill its memory",
            "wait, choose another GPU with --gpu N, or use --force",
        )
    memory = seen.memory[number]
    if memory is None:
        raise UnableError(f"the driver does not report how much memory GPU {number} has")
    variables = {**environment, "CUDA_VISIBLE_DEVICES": str(number), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return Stage(number, seen.devices[number].name, memory.total_mib, variables, python)


@contextmanager
def watched(stage: Stage) -> Iterator[None]:
    """Sample the GPU's free memory while the block runs."""
    import threading

    text = program("doctor.reproduce", "_watch.py")
    with Child(stage.python, text, [str(stage.number), str(SAMPLING)], stage.environment) as watcher:

        def collect() -> None:
            try:
                for answer in watcher.answers(time.monotonic() + 86400):
                    if answer.get("stage") == "memory":
                        stage.samples.append((float(answer["at"]), answer["free"] / MIB))
            except ChildError:
                return

        reader = threading.Thread(target=collect, daemon=True)
        reader.start()
        begin = time.monotonic()
        while not stage.samples and reader.is_alive() and time.monotonic() - begin < 10:
            time.sleep(0.02)
        if not stage.samples:
            raise UnableError(f"the GPU's memory cannot be watched: {watcher.how_it_ended()}")
        yield
    reader.join(2)
