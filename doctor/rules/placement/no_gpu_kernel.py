"""op-no-gpu-kernel: an op is pinned to a GPU and has no kernel for it."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.findings import Finding, python
from doctor.picture import Picture
from doctor.remedies import code, commands
from doctor.rules.placement.colocation import colocated
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of


@rule(
    "op-no-gpu-kernel",
    "An op that is pinned to a GPU has no GPU kernel",
    explains=("device-not-found",),
    needs=("no-gpu-kernel", "colocation-failed"),
)
def op_no_gpu_kernel(picture: Picture) -> Iterator[Finding]:
    """An op pinned to a GPU has no GPU kernel for its types.

    ## What it means
    Not every op has a kernel for the GPU, and not for every type: int32 variables, strings, many decompositions and lookups run on the CPU only.
    `tf.device('/gpu:0')` around them is an order that cannot be carried out.

    ## How it shows
    `Cannot assign a device … because no supported kernel for GPU devices is available`, `Supported device types [CPU]` while a GPU is among the
    available devices, a colocation table with `CPU` alone behind an op.

    ## What to do
    Let TensorFlow place what it must elsewhere (soft placement), or pin such ops to the CPU; use float32 where a number is meant for the GPU.
    """
    facts = picture.facts
    told = facts.symptoms("no-gpu-kernel")
    without, gpus = colocated(picture)
    if not told and (not without or gpus == "XLA" or facts.has("work-done")):
        return
    signs = told or [*facts.symptoms("colocation-failed")[:1], *without]
    version = version_of(picture)
    if version is None and any("node '" in s.source.text or "operation '" in s.source.text.lower() for s in signs):
        version = (
            "1.15"
            if any("no supported kernel" in s.source.text for s in signs) and not facts.has("device-listed")
            else None
        )
    typed = facts.symptoms("int32-node")
    int32 = bool(typed) or any("int32" in s.source.text.lower() for s in signs)
    yield found(
        "op-no-gpu-kernel",
        "The code orders an op onto the GPU for which TensorFlow has no GPU kernel"
        + (" (int32 variables live on the CPU)" if int32 else "")
        + "; the GPU itself is in order.",
        [*signs[:3], *typed[:1]],
        confidence="possible" if not told and not gpus else "likely" if not told or all(s.get("told") for s in told) else "certain",
        steps=[
            python(code.soft_placement(version), "soft placement: such ops go to the CPU, the rest stays on the GPU"),
            python(code.pin_to_cpu(), "or place them by hand"),
        ],
        verify=commands.run_python(picture, code.list_gpus(version)),
    )
