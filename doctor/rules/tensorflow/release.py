"""Finds the TensorFlow release in the case, and the symptoms that show that the user expects a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import CudaCallFailed, Fact

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.tables import TensorFlowRelease


def likely_build(case: Case) -> TensorFlowRelease | None:
    """Return the table row for the installed build. If the release is unknown, return the row for the newest
    build that loads the libraries in the case. None if there is neither."""
    return case.builds[-1] if case.builds else None


def version_of(case: Case) -> str | None:
    """Return the TensorFlow release for which the steps show code: the release in the case, or else the span
    of the releases that it may be about; None if nothing bounds them."""
    return case.api


def looks_for_gpus(case: Case) -> bool:
    """Whether a report shows a build with CUDA code: it loaded, or tried to load, CUDA's libraries or called
    cuInit."""
    called = any(failed.call == "cuInit" for failed in case.facts.of(CudaCallFailed))
    tried = any(case.component(lib.name) in ("cuda", "cudnn") for lib in case.not_loaded)
    return case.facts.kind == "report" and (called or tried or bool(case.loaded))


def wants_gpu(case: Case) -> list[Fact]:
    """Return the symptoms that show that the user expects TensorFlow to use the GPU although it does not."""
    facts = case.facts
    return [
        *facts.symptoms(
            "gpu-not-used",
            "uses-cpu",
            "built-without-cuda",
            "gpu-list-empty",
            "gpu-not-found",
            "cpu-only-listed",
            "gpu-skipped",
            "gpu-index-error",
        ),
        *facts.symptoms("device-unknown")[:1],
    ]
