"""Messages of a cuDNN or cuBLAS that could not start, which several rules weigh."""

from __future__ import annotations

from doctor.facts import Symptom
from doctor.picture import Picture

HANDLE_FAILURES = (
    "cudnn-handle-failed",
    "conv-algorithm-failed",
    "cublas-handle-failed",
    "cusolver-handle-failed",
    "dnn-not-found",
    "no-algorithm",
    "blas-launch-failed",
    "cudnn-launch-failed",
)
"""The kinds of symptoms that say so; the last two are said of other failures as well."""


def handle_signs(picture: Picture) -> list[Symptom]:
    """Messages of a cuDNN or cuBLAS that could not start."""
    return picture.facts.symptoms(*HANDLE_FAILURES)
