"""model-oom: the model, batch or input does not fit into the GPU's memory."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Prose, Symptom
from doctor.findings import Finding, manual, shell
from doctor.rules.memory.handles import handle_signs
from doctor.rules.memory.signs import computes_on_cpu
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case

OTHERWISE = (
    "other-process",
    "host-memory-said",
    "memory-grows",
    "host-killed",
    "host-alloc-failed",
    "fraction-set",
    "limit-set",
)
"""Symptoms of memory that runs out for another reason than the size of the job."""


_OOM = (
    r"(?:out of memory|\bOOM"
    r" (?:error|exception|when|while|in|on|at|after|during)|\b(?:an|the|with|get\w*|got|to|throws?|gives?)"
    r" OOM\b"
    r"|(?<![\w-])OOM[!?. ]*$|[\u3400-\u9fff] ?OOM(?![a-z])|(?<![a-z])OOM ?[\u3400-\u9fff（(]"
    r"|显存(?:不[足够]|溢出)|爆显存|メモリ不足)"
)
"""Matches a person's words for memory that runs out. OOM without such context may be a heading."""


@rule(
    "model-oom",
    "The model, batch or input does not fit into the GPU's memory",
    explains=("cudnn-init-oom", "ptx-jit-or-kernel-crash"),
    needs=(
        "tensor-oom",
        "resource-exhausted",
        "dst-not-initialized",
        "bfc-out-of-memory",
        "allocator-stats",
        "oom-said",
    ),
)
def model_oom(case: Case) -> Iterator[Finding]:
    """The model, batch or input does not fit into the GPU's memory.

    ## What it means
    Most of the GPU's memory was free at the start, TensorFlow allocated it, and the tensors of one step need
    more.

    ## What you see
    `OOM when allocating tensor with shape[…]`, `ResourceExhaustedError`, `Out of memory while trying to
    allocate`. The hint `ran out of memory … not a failure, but may mean` is harmless if it stands alone.

    ## What to do
    Use a smaller batch, smaller inputs, mixed precision, gradient accumulation, a smaller model, or a GPU
    with more memory. Memory growth does not help here.
    """
    facts = case.facts
    places = [(s, (s.get("allocator") + s.get("device")).lower()) for s in facts.symptoms("tensor-oom")]
    known = [place for _, place in places if place]
    if known and all("cpu" in place for place in known):
        return  # lines that leave the device out, such as a title, are about the same failure
    if not known and computes_on_cpu(case):
        return
    oom = [s for s, place in places if "cpu" not in place]
    exhausted = [s for s in facts.symptoms("resource-exhausted") if "cuinit" not in s.source.text.lower()]
    if facts.has("disk-full"):  # TensorFlow has the same error for a full disk
        exhausted = []
    failed = facts.symptoms("bfc-out-of-memory")
    dst = facts.symptoms("dst-not-initialized")
    if facts.has("cpu-oom") and not oom:
        return
    stats = facts.symptoms("allocator-stats")
    alone = not (handle_signs(case) or facts.has(*OTHERWISE)) and (facts.has("mentions-gpu") or case.gpus)
    only = [
        s
        for s in facts.symptoms("oom-said")
        if alone and re.search(_OOM, s.source.text, re.IGNORECASE) and "pytorch" not in s.source.text.lower()
    ]
    if not (oom or exhausted or failed or dst or stats or only):
        return
    if exhausted and not (oom or failed or dst) and facts.has("cuda-out-of-memory") and handle_signs(case):
        return
    shape = next((s.get("shape") for s in oom if s.get("shape")), "")
    of_shape = f" of shape [{shape}]" if shape else ""
    text = f"A tensor{of_shape} did not fit into the GPU's memory while the program ran."
    scalar = [
        s for s in oom if re.search(r"OOM when allocating tensor (?:with|of) shape ?\[\]", s.source.text)
    ]
    if scalar:
        text = (
            "Not even a single number fitted into the GPU's memory: this program's tensors or another"
            " process had already filled the memory."
        )
    size = max((_gib(s.get("shape"), s.get("type")) for s in oom), default=0)
    if size >= 1:
        text += f" That tensor alone needs {size:.1f} GiB."
    if stats:
        text += (
            f" The allocator may use {stats[0].get('limit')} MiB and has {stats[0].get('in_use')} MiB in use:"
            " the job itself fills the GPU."
        )
    smaller_batch = manual(
        "Make the batch smaller: halve it until it fits; then try smaller"
        f" inputs{'' if _before_two(case) else ', mixed precision (tf.keras.mixed_precision)'} or gradient"
        " accumulation"
    )
    held = shell(
        run("nvidia-smi"),
        "if memory is in use before the program starts, another process holds it (gpu-memory-held)",
    )
    yield found(
        "model-oom",
        text,
        [*oom[:2], *failed[:1], *exhausted[:1], *dst[:1], *stats[:1], *only[:1]],
        confidence=(
            "certain"
            if oom or stats
            else "possible"
            if (only or _only_named(case, exhausted)) and not (failed or dst)
            else "likely"
        ),
        steps=[held, smaller_batch] if scalar else [smaller_batch, held],
        verify=run("nvidia-smi", "--query-gpu=memory.used,memory.total", "--format=csv", "-l", "1"),
    )


def _only_named(case: Case, exhausted: list[Symptom]) -> bool:
    """Whether only a person's sentences name the error: they say that memory ran out, but not when, nor
    whether it was the GPU's memory."""
    prose = case.facts.first(Prose)
    return bool(exhausted) and prose is not None and all(s.source.line in prose.lines for s in exhausted)


_BYTES = {
    "float": 4,
    "half": 2,
    "bfloat16": 2,
    "double": 8,
    "int32": 4,
    "int64": 8,
    "complex64": 8,
    "uint8": 1,
    "int8": 1,
    "bool": 1,
}
"""The size of one element in bytes, by TensorFlow's name for the type (DataTypeString,
tensorflow/core/framework/types.cc)."""


def _gib(shape: str, kind: str) -> float:
    """The size of a tensor in GiB; 0 if its shape or type is unknown."""
    sides = [int(side) for side in re.findall(r"\d{1,12}", shape)]
    return math.prod(sides) * _BYTES.get(kind, 0) / 2**30 if sides else 0.0


def _before_two(case: Case) -> bool:
    """Whether the case's TensorFlow has no mixed precision in Keras, as its version or Python 2 shows:
    TensorFlow 1 does not have it, and TensorFlow dropped Python 2 with 2.1, before Keras had it."""
    version = version_of(case)
    return bool(version and version.startswith(("0.", "1."))) or bool(
        case.python and case.python.version.startswith("2")
    )
