"""Messages of a cuDNN or cuBLAS that could not start, which several rules weigh."""

from __future__ import annotations

from collections.abc import Iterable

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
    "cufft-failed",
)
"""The kinds of symptoms that say so; the last three are said of other failures as well."""


ROOMY_MIB = 2048
"""With so much of the GPU's memory free a handle of cuDNN or cuBLAS, a few hundred MiB at most, does not fail for want of it.

More than TensorFlow's own pool ever leaves by default, which is up to 1800 MiB (MinSystemMemory in
tensorflow/core/common_runtime/gpu/gpu_device.cc, 2.12): with that little left the pool is the likely reason still.
"""


HANDLE_MIB = 1024
"""More than a handle takes, and no more than TensorFlow's own pool may leave: with so much free, want of memory is a guess."""


def free_mib(picture: Picture) -> int | None:
    """The memory that TensorFlow saw free when a handle failed, in MiB; None where it does not say."""
    free = [int(s.get("free") or 0) >> 20 for s in picture.facts.symptoms("handle-memory")]
    return min(free, default=None)


def roomy_handle(picture: Picture) -> Symptom | None:
    """Where TensorFlow says beside a handle that failed that memory was free; None where it was not, or is not said."""
    free = free_mib(picture)
    return picture.facts.symptoms("handle-memory")[0] if free is not None and free >= ROOMY_MIB else None


def went_on(picture: Picture, signs: Iterable[Symptom]) -> bool:
    """Whether the text shows work that was done after the last of the signs."""
    last = max((s.source.line or 0 for s in signs), default=0)
    return any((done.source.line or 0) > last for done in picture.facts.symptoms("work-done"))


def retried_allocations(picture: Picture) -> list[Symptom]:
    """Allocations that the driver refused and TensorFlow's allocator tried again with less, so that the program went on.

    The allocator asks for a large region first and, refused, for nine tenths of it, and so on; each refusal is a line of
    severity E (tensorflow/core/common_runtime/bfc_allocator.cc, Extend). Empty where anything says that memory was short
    in the end.
    """
    refused = picture.facts.symptoms("device-alloc-failed")
    short = picture.facts.has(
        "tensor-oom", "resource-exhausted", "bfc-out-of-memory", "dst-not-initialized", "memory-grows"
    )
    return refused if refused and not short and not handle_signs(picture) and went_on(picture, refused) else []


def failed_routines(picture: Picture) -> list[Symptom]:
    """Routines of cuBLAS that had their handle and failed on the GPU, where nothing says that memory was short.

    CUBLAS_STATUS_EXECUTION_FAILED: "The GPU program failed to execute" (cuBLAS, section cublasStatus_t). Empty where a handle
    failed as well, a routine of another status, or where memory is spoken of.
    """
    facts = picture.facts
    ran = [s for s in facts.symptoms("blas-launch-failed") if s.get("status") == "CUBLAS_STATUS_EXECUTION_FAILED"]
    others = [s for s in handle_signs(picture) if s.kind not in ("blas-launch-failed", "cudnn-launch-failed") or s.get("status") not in ("", "CUBLAS_STATUS_EXECUTION_FAILED")]
    short = facts.has("cuda-out-of-memory", "device-alloc-failed", "tensor-oom", "resource-exhausted", "bfc-out-of-memory", "oom-said", "growth-cure-told", "other-process")
    return [] if others or short else ran


def handle_signs(picture: Picture) -> list[Symptom]:
    """Messages of a cuDNN or cuBLAS that could not start."""
    return picture.facts.symptoms(*HANDLE_FAILURES)
