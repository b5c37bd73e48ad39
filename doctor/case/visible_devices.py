"""What a CUDA_VISIBLE_DEVICES value hides, if the GPUs are not known."""

from __future__ import annotations


def hides(value: str) -> bool:
    """Whether a CUDA_VISIBLE_DEVICES value leaves no GPU: an invalid entry hides itself and all after it.

    CUDA C++ Programming Guide, section CUDA Environment Variables.
    """
    first = value.split(",")[0].strip()
    return not (first.lstrip("+").isdigit() or first.upper().startswith(("GPU-", "MIG-")))
