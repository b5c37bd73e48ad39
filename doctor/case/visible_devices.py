"""Checks whether a value of CUDA_VISIBLE_DEVICES hides all GPUs, without knowing the GPUs."""

from __future__ import annotations


def hides(value: str) -> bool:
    """Whether a value of CUDA_VISIBLE_DEVICES leaves no GPU visible: an invalid entry hides its GPU and those
    of all later entries.

    Source: CUDA C++ Programming Guide, section CUDA Environment Variables.
    """
    first = value.split(",")[0].strip()
    return not (first.lstrip("+").isdigit() or first.upper().startswith(("GPU-", "MIG-")))
