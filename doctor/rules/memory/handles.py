"""Signs that cuDNN, cuBLAS or another CUDA library could not start, and how much memory was free then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import Symptom

if TYPE_CHECKING:
    from doctor.case import Case

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
"""The kinds of symptoms that show that a CUDA library could not start. The last three also appear with other
failures."""


ROOMY_MIB = 2048
"""If this much GPU memory is free, a lack of memory does not explain a failed handle of cuDNN or cuBLAS: a
handle needs a few hundred MiB at most. The value is above what TensorFlow's own pool leaves free by default,
up to 1800 MiB (MinSystemMemory in tensorflow/core/common_runtime/gpu/gpu_device.cc, 2.12); if no more than
that is free, the pool is still the likely reason."""


HANDLE_MIB = 1024
"""If this much GPU memory is free, a lack of memory is only a guess: this amount is more than a handle needs,
but no more than TensorFlow's own pool may leave free."""


def free_mib(case: Case) -> int | None:
    """The free memory that TensorFlow printed when a handle failed, in MiB (the lowest amount); None if it
    printed none."""
    free = [int(s.get("free") or 0) >> 20 for s in case.facts.symptoms("handle-memory")]
    return min(free, default=None)


def roomy_handle(case: Case) -> Symptom | None:
    """TensorFlow's message about the free memory when a handle failed; None if less than ROOMY_MIB was free,
    or if there is no such message."""
    free = free_mib(case)
    return case.facts.symptoms("handle-memory")[0] if free is not None and free >= ROOMY_MIB else None


def no_cudnn_at_all(case: Case) -> bool:
    """Whether a report shows only that TensorFlow has no cuDNN ("DNN library is not found",
    stream_executor/stream.h), but neither the line with the reason nor a lack of memory. In 11 of 12 such
    reports, cuDNN had another version or was missing."""
    facts = case.facts
    alone = {sign.kind for sign in handle_signs(case)} == {"dnn-not-found"}
    memory = ("growth-set", "handle-memory", "oom-said", "tensor-oom", "cuda-out-of-memory", "other-process")
    return facts.kind == "report" and alone and not facts.has(*memory) and not case.not_loaded


def handle_signs(case: Case) -> list[Symptom]:
    """The symptoms that cuDNN, cuBLAS or another CUDA library could not start."""
    return case.facts.symptoms(*HANDLE_FAILURES)
