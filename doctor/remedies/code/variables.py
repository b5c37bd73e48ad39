"""GPU settings as environment variables, for programs that cannot be changed.

TensorFlow reads its own variables when it initializes its GPUs; the driver reads CUDA's variables at cuInit.
So set them in the shell, or in Python before `import tensorflow`. Sources:
tensorflow/core/common_runtime/gpu/gpu_bfc_allocator.cc (TF_FORCE_GPU_ALLOW_GROWTH), gpu_process_state.cc
(TF_GPU_ALLOCATOR); CUDA C++ Programming Guide, "CUDA Environment Variables".
"""

from __future__ import annotations

from collections.abc import Sequence


def environment(
    gpus: Sequence[int] | None = None, *, growth: bool = False, allocator: bool = False
) -> dict[str, str]:
    """The environment variables for these settings, by name. gpus: nvidia-smi's numbers, () for no GPU, None
    to leave the choice of GPUs unset. growth: memory growth. allocator: CUDA's asynchronous allocator."""
    chosen: dict[str, str] = {}
    if gpus is not None:
        if gpus:
            chosen["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        chosen["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, gpus)) if gpus else "-1"
    if growth:
        chosen["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
    if allocator:
        chosen["TF_GPU_ALLOCATOR"] = "cuda_malloc_async"
    return chosen
