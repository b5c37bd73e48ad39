"""op-no-gpu-kernel: an op is pinned to a GPU but has no GPU kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.findings import Finding, manual, python, shell
from doctor.remedies import code, commands
from doctor.rules.placement.colocation import colocated
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "op-no-gpu-kernel",
    "An op that is pinned to a GPU has no GPU kernel",
    explains=("device-not-found",),
    needs=("no-cpu-kernel", "no-gpu-kernel", "colocation-failed"),
)
def op_no_gpu_kernel(case: Case) -> Iterator[Finding]:
    """An op that is pinned to a GPU has no GPU kernel for its types.

    ## What it means
    Some ops have no GPU kernel, or none for some types: int32 variables, strings, many decompositions and
    lookups run on the CPU only. TensorFlow cannot place such ops as `tf.device('/gpu:0')` requests.

    ## What you see
    `Cannot assign a device … because no supported kernel for GPU devices is available`, `Supported device
    types [CPU]` while a GPU is among the available devices, a colocation table with only `CPU` after an op.

    ## What to do
    Let TensorFlow place such ops itself (soft placement), or pin them to the CPU; use float32 for numbers
    that belong on the GPU.
    """
    facts = case.facts
    only_gpu = facts.symptoms("no-cpu-kernel")
    if only_gpu and not facts.has("no-gpu-kernel"):
        yield found(
            "op-no-gpu-kernel",
            "TensorFlow placed an op on the CPU but has no CPU kernel for it: either the op runs on GPUs "
            "only, like TensorRT's ops, or the library that contains the op is not loaded.",
            only_gpu[:2],
            title="An op that was placed on the CPU has no CPU kernel",
            confidence="likely",
            steps=[
                manual(
                    "Import the module that contains the op before the graph is loaded "
                    "(tensorflow.contrib.tensorrt in TensorFlow 1, trt_convert in 2), and place the op on a "
                    "GPU"
                ),
                shell(commands.list_gpus(case), "shows whether TensorFlow sees a GPU"),
            ],
            verify=commands.list_gpus(case),
        )
        return
    stated = facts.symptoms("no-gpu-kernel")
    without, gpus = colocated(case)
    if not stated and (not without or gpus == "XLA" or facts.has("work-done")):
        return
    signs = stated or [*facts.symptoms("colocation-failed")[:1], *without]
    texts = [s.source.text for s in signs]
    version = version_of(case)
    if (
        version is None
        and not facts.has("device-listed")
        and any("no supported kernel" in text for text in texts)
        and any("node '" in text or "operation '" in text.lower() for text in texts)
    ):
        version = "1.15"
    typed = facts.symptoms("int32-node")
    int32 = bool(typed) or any("int32" in text.lower() for text in texts)
    yield found(
        "op-no-gpu-kernel",
        "The code pins an op to the GPU, but TensorFlow has no GPU kernel for it"
        + (" (int32 variables live on the CPU)" if int32 else "")
        + "; the GPU itself works.",
        [*signs[:3], *typed[:1]],
        confidence=(
            "possible"
            if not stated and not gpus
            else "likely"
            if not stated or all(s.get("stated") for s in stated)
            else "certain"
        ),
        steps=[
            python(
                code.soft_placement(version), "soft placement: such ops run on the CPU, all others on the GPU"
            ),
            python(code.pin_to_cpu(), "or pins these ops to the CPU in the code"),
        ],
        verify=commands.run_python(case, code.list_gpus(version)),
    )
