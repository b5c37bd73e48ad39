"""Messages of a lack of GPU memory that several rules weigh."""

from __future__ import annotations

from doctor.facts import Symptom
from doctor.picture import Picture


def handle_signs(picture: Picture) -> list[Symptom]:
    """Messages of a cuDNN or cuBLAS that could not start."""
    return picture.facts.symptoms(
        "cudnn-handle-failed", "conv-algorithm-failed", "cublas-handle-failed", "cusolver-handle-failed", "dnn-not-found", "no-algorithm",
        "blas-launch-failed", "cudnn-launch-failed",
    )  # fmt: skip


def largest_refused(picture: Picture) -> list[Symptom]:
    """Allocations from the device that failed."""
    return picture.facts.symptoms("device-alloc-failed")
