"""The TensorFlow release of the case, and the signs that its user expects a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import CudaCallFailed, Fact
from doctor.picture import Picture

if TYPE_CHECKING:
    from doctor.tables import TensorFlowRelease


def likely_build(picture: Picture) -> TensorFlowRelease | None:
    """The row of the build in use; where the release is not known, the newest that opens the libraries of the case."""
    return picture.builds[-1] if picture.builds else None


def version_of(picture: Picture) -> str | None:
    """The TensorFlow release of the case, for code in its spelling."""
    if picture.tensorflow is not None:
        return picture.tensorflow.version
    build = likely_build(picture)
    return build.version if build is not None else None


def looks_for_gpus(picture: Picture) -> bool:
    """Whether a report shows a build that holds CUDA code: it opened, or tried to open, CUDA's libraries or called cuInit."""
    called = any(failed.call == "cuInit" for failed in picture.facts.of(CudaCallFailed))
    tried = any(picture.component(lib.name) in ("cuda", "cudnn") for lib in picture.not_loaded)
    return picture.facts.kind == "report" and (called or tried or bool(picture.loaded))


def wants_gpu(picture: Picture) -> list[Fact]:
    """Signs that somebody expects the GPU to be used and it is not."""
    facts = picture.facts
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
