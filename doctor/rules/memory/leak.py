"""memory-leak: memory grows in one process until it fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.findings import Finding, manual, python
from doctor.remedies import code
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of
from doctor.shell import piped, run

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "memory-leak",
    "Memory grows in one process until it fails",
    explains=("model-oom", "cudnn-init-oom", "gpu-memory-held"),
    needs=("memory-grows",),
)
def memory_leak(case: Case) -> Iterator[Finding]:
    """Memory grows over epochs, folds or models in one process until it fails.

    ## What it means
    TensorFlow keeps every graph, model and cached tensor to which something still refers. They accumulate if
    a program builds models in a loop, keeps tensors in lists or calls `predict` with new shapes.

    ## What you see
    The first folds or epochs work, but a later one fails with OOM; memory grows steadily.

    ## What to do
    Between models, run `tf.keras.backend.clear_session()`, `del model` and `gc.collect()`; keep numbers
    (`float(loss)`) rather than tensors; or run each fold in its own process.
    """
    grows = case.facts.symptoms("memory-grows")
    if not grows:
        return
    trouble = case.facts.symptoms(
        "tensor-oom",
        "resource-exhausted",
        "cuda-out-of-memory",
        "host-killed",
        "host-alloc-failed",
        "bfc-out-of-memory",
        "oom-said",
    )
    host = any(re.search(r"\bRAM\b", s.source.text) for s in grows) and not any(
        re.search(r"\bVRAM\b|GPU(?:'s)? memory", s.source.text) for s in grows
    )
    watch = (
        piped(run("systeminfo"), run("findstr", "Memory"))
        if case.platform == "windows"
        else run("free", "-m", "-s", "10")
    )
    yield found(
        "memory-leak",
        "The report says that memory grows while the program runs: the program still holds the memory of"
        " earlier steps, folds or models.",
        [*grows[:2], *trouble[:2]],
        severity="error" if trouble else "warning",
        confidence="likely" if trouble else "possible",
        steps=[
            python(code.clear_session(version_of(case)), "releases the graphs of earlier models"),
            manual(
                "Run each fold or trial in its own process (multiprocessing, a shell loop), which always"
                " releases its memory when it ends"
            ),
        ],
        verify=(
            watch
            if host and case.platform != "macos"
            else run("nvidia-smi", "--query-gpu=memory.used", "--format=csv", "-l", "1")
        ),
    )
