"""Defines the result of a reproduction: rows, samples of free memory, and the conclusion."""

from __future__ import annotations

from typing import Any

from doctor.values import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One attempt. setting: what was set, as code or variables. outcome: "failed", "passed" or "unfinished".

    code: the verdict of tfgpu-doctor's rules on the attempt's log. line: what the libraries printed. Memory
    in MiB: free_before (free at the start), held (by the other process), lowest (the least free memory during
    the attempt). seconds: its duration.
    """

    mode: str
    setting: str
    outcome: str
    code: str
    line: str
    free_before_mib: int | None
    held_mib: int | None
    lowest_free_mib: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a whole reproduction. samples: (seconds since the start, free MiB); starts: (seconds
    since the start, mode) for each attempt.

    free_at_start_mib, free_at_end_mib: they show whether all memory was freed.
    """

    backend: str
    simulated: bool
    gpu: str
    versions: tuple[str, ...]
    rows: tuple[Row, ...]
    samples: tuple[tuple[float, float], ...]
    starts: tuple[tuple[float, str], ...]
    free_at_start_mib: int | None
    free_at_end_mib: int | None

    @property
    def reproduced(self) -> bool:
        """Whether the intended failure occurred. If cuDNN never creates its handle, that is a different
        failure."""
        if self.backend == "native" and (not self.rows or self.rows[0].outcome != "passed"):
            return False
        return any(row.outcome == "failed" and row.code == "cudnn-init-oom" for row in self.rows)

    @property
    def cures(self) -> tuple[str, ...]:
        """The modes that passed, if the first one failed."""
        return tuple(row.mode for row in self.rows if row.outcome == "passed") if self.reproduced else ()

    def conclusion(self) -> str:
        """The conclusion in a sentence."""
        if self.reproduced and self.cures:
            if self.backend == "native":
                return (
                    "cuDNN cannot create its handle when the GPU is full, but can when memory is free. If the"
                    " same message appears with memory free, the versions are at fault, not the memory."
                )
            return f"Reproduced; fixed by: {', '.join(self.cures)}."
        if self.reproduced:
            return "Reproduced; none of the settings that were tried fixes it on this machine."
        if self.backend == "native" and self.rows and self.rows[0].outcome == "failed":
            return (
                "cuDNN cannot create its handle even when memory is free, so memory is not the cause here."
                " Compare the versions."
            )
        return "Not reproduced on this machine."

    def document(self) -> dict[str, Any]:
        """The result as plain data for JSON."""
        from doctor import __version__

        return {
            "schema": 1,
            "tool": {"name": "tfgpu-doctor", "version": __version__},
            "reproduction": "cudnn-init-oom",
            "backend": self.backend,
            "simulated": self.simulated,
            "gpu": self.gpu,
            "versions": list(self.versions),
            "reproduced": self.reproduced,
            "cured_by": list(self.cures),
            "conclusion": self.conclusion(),
            "rows": [
                {
                    "mode": r.mode,
                    "setting": r.setting,
                    "outcome": r.outcome,
                    "verdict": r.code,
                    "line": r.line,
                    "free_before_mib": r.free_before_mib,
                    "held_by_other_mib": r.held_mib,
                    "lowest_free_mib": r.lowest_free_mib,
                    "seconds": round(r.seconds, 2),
                }
                for r in self.rows
            ],
            "free_memory_mib": [[round(t, 2), round(free)] for t, free in self.samples],
            "free_at_start_mib": self.free_at_start_mib,
            "free_at_end_mib": self.free_at_end_mib,
        }
