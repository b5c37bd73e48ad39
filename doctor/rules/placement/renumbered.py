"""gpu-renumbered: TensorFlow, CUDA_VISIBLE_DEVICES and nvidia-smi number the GPUs differently."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import CudaCallFailed, GpuRegistered
from doctor.findings import Finding
from doctor.remedies.visibility import numbering
from doctor.rules.registry import found, rule
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "gpu-renumbered",
    "TensorFlow, CUDA_VISIBLE_DEVICES and nvidia-smi number the GPUs differently",
    severity="info",
    needs=("CUDA_VISIBLE_DEVICES", "renumbered"),
)
def gpu_renumbered(case: Case) -> Iterator[Finding]:
    """TensorFlow, CUDA_VISIBLE_DEVICES and nvidia-smi number the GPUs differently; the GPUs work.

    ## What it means
    A process sees the GPUs that CUDA_VISIBLE_DEVICES lists, renumbered from 0 in that order. With
    CUDA_VISIBLE_DEVICES=1, the second card is GPU:0. Without CUDA_DEVICE_ORDER=PCI_BUS_ID, CUDA counts the
    fastest card first; nvidia-smi counts in the order of the PCI bus ids.

    ## What you see
    The variable lists card 1, 2 …, but TensorFlow reports GPU:0. Or nvidia-smi shows that the program uses
    another card than the one with that number.

    ## What to do
    Use `/gpu:0` in the code; compare PCI bus ids rather than numbers. Set CUDA_DEVICE_ORDER=PCI_BUS_ID before
    the program starts if CUDA_VISIBLE_DEVICES chooses the wrong card.
    """
    facts = case.facts
    variable = case.env.get("CUDA_VISIBLE_DEVICES")
    said = facts.symptoms("renumbered")
    numbers = [n.strip() for n in variable.value.split(",")] if variable is not None else []
    alone = bool(numbers) and all(n.isdigit() and int(n) > 0 for n in numbers)
    on_zero = [r for r in facts.of(GpuRegistered) if r.index == 0]
    only_zero = on_zero and all((r.index or 0) == 0 for r in facts.of(GpuRegistered))
    if not ((alone and (only_zero or said)) or (said and not facts.of(CudaCallFailed))):
        return
    yield found(
        "gpu-renumbered",
        f"CUDA_VISIBLE_DEVICES{'=' + variable.value if variable else ''} chooses the cards that a process"
        f" sees; the first of them is its GPU:0.",
        [variable, *said[:1], *on_zero[:1]],
        confidence="certain" if variable is not None and only_zero else "likely",
        steps=numbering(case),
        verify=run("nvidia-smi"),
    )
