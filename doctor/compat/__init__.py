"""Which versions work together: each question gets an answer with a verdict, a reason and the table rows
behind it.

Nothing here touches a machine. If a row or a fact is missing, the verdict is "unknown".
"""

from __future__ import annotations

from doctor.compat.answer import Answer, worst
from doctor.compat.choose import Judgement, candidates, judge, newest
from doctor.compat.companions import Pin, companions, cudnn_bound, requirement
from doctor.compat.gpu import code_for, driver_serves_gpu, runs_on_gpu
from doctor.compat.install import installs_on, pip_cudnn, runs_with_pip_libraries
from doctor.compat.situation import Situation, applies, traps_of
from doctor.compat.software import (
    compiled_cudnn,
    cuda_of,
    cudnn_serves_gpu,
    driver_minimum,
    runs_on_driver,
    runs_with_cuda,
    runs_with_cudnn,
)

__all__ = [
    "Answer",
    "Judgement",
    "Pin",
    "Situation",
    "applies",
    "candidates",
    "code_for",
    "companions",
    "compiled_cudnn",
    "cuda_of",
    "cudnn_bound",
    "cudnn_serves_gpu",
    "driver_minimum",
    "driver_serves_gpu",
    "installs_on",
    "judge",
    "newest",
    "pip_cudnn",
    "requirement",
    "runs_on_driver",
    "runs_on_gpu",
    "runs_with_cuda",
    "runs_with_cudnn",
    "runs_with_pip_libraries",
    "traps_of",
    "worst",
]
