"""Whether TensorFlow made a GPU device, and what else of the case hangs on that."""

from __future__ import annotations

from doctor.picture import Picture

NO_TENSORFLOW_GPU = ("device-not-found", "cuda-missing", "tf-cpu-only", "benign-messages")
"""Codes whose findings follow where the driver gives TensorFlow no GPU."""


def registered(picture: Picture) -> bool:
    """Whether TensorFlow made a GPU device in this case."""
    return bool(picture.registered) and any(r.count for r in picture.registered)
