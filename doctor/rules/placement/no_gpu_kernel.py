"""op-no-gpu-kernel: an op is pinned to a GPU but has no GPU kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.findings import Finding, Step, manual, python, shell
from doctor.remedies import code, commands
from doctor.rules.placement.colocation import colocated
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of

if TYPE_CHECKING:
    from doctor.case import Case

_SOFT = lazy.compile(
    r"allow_soft_placement['\"]? ?[=:] ?True|set_soft_device_placement\((?:enabled=)?True", re.IGNORECASE
)
"""Matches the code that sets soft placement."""


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
                    "Before the graph is loaded, import the module that contains the op (for TensorRT's ops:"
                    " tensorflow.contrib.tensorrt in TensorFlow 1, tensorflow.python.compiler.tensorrt in"
                    " TensorFlow 2), and place the op on a GPU"
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
    soft = [fact for fact in facts if _SOFT.search(fact.source.text)]
    yield found(
        "op-no-gpu-kernel",
        "The code pins an op to the GPU, but TensorFlow has no GPU kernel for it"
        + (" (int32 variables live on the CPU)" if int32 else "")
        + "; the GPU itself works."
        + (
            " The report sets soft placement, which places such an op on the CPU. So this setting probably"
            " does not reach the session that runs the graph."
            if soft
            else ""
        ),
        [*signs[:3], *typed[:1], *soft[:1]],
        confidence=(
            "possible"
            if not stated and not gpus
            else "likely"
            if not stated or all(s.get("stated") for s in stated)
            else "certain"
        ),
        steps=_steps(version, already=bool(soft)),
        verify=commands.program(case),
    )


def _steps(version: str | None, *, already: bool) -> list[Step]:
    """The steps that let TensorFlow run the op on the CPU. already: whether the report already sets soft
    placement."""
    pin = python(code.pin_to_cpu(), "or pins these ops to the CPU in the code, if the code itself makes them")
    if not already:
        soft = python(
            code.soft_placement(version), "soft placement: such ops run on the CPU, all others on the GPU"
        )
        return [soft, pin]
    first = (
        "Give the options to the session that runs the graph: tf.Session(config=config),"
        " MonitoredTrainingSession(config=config), the Supervisor's managed_session(config=config), or"
        " RunConfig(session_config=config) of an Estimator. A library may create this session itself"
        if code.has_sessions(version)
        else "Call tf.config.set_soft_device_placement(True) right after the import of TensorFlow, before"
        " any op"
    )
    return [
        manual(first),
        manual(
            "Or remove tf.device('/gpu:0') around the code that creates the op; for an op in a library's"
            " function (an RNN, a loss), around the call of that function",
            "without a device, TensorFlow runs each op on GPU 0 if it has a GPU kernel for it",
        ),
        pin,
    ]
