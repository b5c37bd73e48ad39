"""memory-limit-misfit: the program's own memory limit is too low for the job, or above the free memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Fact, GpuRegistered
from doctor.findings import Finding, manual, python
from doctor.remedies import code
from doctor.rules.memory.handles import handle_signs
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "memory-limit-misfit",
    "The program's memory limit is too low for its job, or above the free memory",
    explains=("model-oom", "cudnn-init-oom", "gpu-memory-held"),
    needs=("limit-set", "fraction-set", GpuRegistered),
)
def memory_limit_misfit(case: Case) -> Iterator[Finding]:
    """The program's own memory limit is too low for the job, or above the free memory.

    ## What it means
    `memory_limit` and `per_process_gpu_memory_fraction` limit TensorFlow's memory pool. With too low a limit,
    the job fails on an empty GPU; with a limit above the free memory, it fails at the start.

    ## What you see
    OOM although the code sets a limit, and a device that was created with exactly that much memory.

    ## What to do
    Raise the limit, or use memory growth instead.
    """
    facts = case.facts
    trouble = facts.symptoms(
        "tensor-oom",
        "resource-exhausted",
        "cuda-out-of-memory",
        "device-alloc-failed",
        "bfc-out-of-memory",
        "oom-said",
    )
    small: list[Fact] = []
    for limit in facts.symptoms("limit-set"):
        digits = [int(x) for x in limit.get("mib").replace(" ", "").split("*") if x.isdigit()]
        if digits and 0 < math.prod(digits) <= 2048:
            small.append(limit)
    for fraction in facts.symptoms("fraction-set"):
        value = float(fraction.get("fraction", "1") or 1)
        if value <= 0.35 or value > 0.98:
            small.append(fraction)
    for device in facts.of(GpuRegistered):
        # TensorFlow's default share is hardly ever a round number of MB, so a round number is a user's limit
        size = device.memory_mib or 0
        if (
            0 < size <= 4096
            and (size % 128 == 0 or size % 500 == 0)
            and facts.has("tensor-oom", "bfc-out-of-memory")
        ):
            small.append(device)
    if not small or not trouble or (handle_signs(case) and not facts.has("tensor-oom")):
        return
    yield found(
        "memory-limit-misfit",
        "The program limits TensorFlow's share of the GPU. The job does not fit into that limit, or the"
        " limit is above the free memory.",
        [*small[:2], *trouble[:2]],
        confidence="likely",
        steps=[
            python(
                code.memory_growth(version_of(case)), "replaces the limit: allocates as much as the job needs"
            ),
            manual("Or raise the limit to what the job needs, up to the GPU's free memory (see nvidia-smi)"),
        ],
        verify=run("nvidia-smi"),
    )
