"""Checks whether TensorFlow created a GPU device, and lists the codes of findings that are only consequences
if it did not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.case import Case


NO_TENSORFLOW_GPU = ("device-not-found", "cuda-missing", "tf-cpu-only", "benign-messages")
"""Codes of findings that are only consequences if the driver gives TensorFlow no GPU."""


def registered(case: Case) -> bool:
    """Whether TensorFlow created a GPU device in this case."""
    return bool(case.registered) and any(r.count for r in case.registered)
