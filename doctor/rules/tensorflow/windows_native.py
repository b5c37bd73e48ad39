"""tf-windows-native: releases after 2.10 have no GPU support on native Windows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.findings import Finding
from doctor.remedies import cures, environments
from doctor.rules.gpu.registered import registered
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import wants_gpu
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "tf-windows-native",
    "TensorFlow after 2.10 has no GPU support on native Windows",
    explains=(
        "tf-cpu-only",
        "cuda-missing",
        "device-not-found",
        "library-path",
        "cudnn-missing",
        "cuda-version-mismatch",
    ),
    needs=("windows-native", "intel-package", "and-cuda-installed", "on-windows"),
)
def tf_windows_native(case: Case) -> Iterator[Finding]:
    """TensorFlow after 2.10 has no GPU support on native Windows.

    ## What it means
    2.10 was the last release with GPU support on native Windows. From 2.11 on, the Windows wheels contain the
    CPU build; installing CUDA and cuDNN does not help.

    ## What you see
    `TensorFlow GPU support is not available on native Windows for TensorFlow >= 2.11`, or an empty list of
    GPUs without any message.

    ## What to do
    Use WSL2 with `pip install 'tensorflow[and-cuda]'`; or TensorFlow 2.10 with Python 3.7 to 3.10, CUDA 11.2
    and cuDNN 8.1.
    """
    facts = case.facts
    said = facts.symptoms("windows-native")
    if registered(case) or facts.symptoms("plugin-device"):
        return
    if not said and (case.container or facts.has("image-tag")):
        return  # a Linux container under Docker Desktop
    known = case.tensorflow
    wanting = wants_gpu(case)
    late = (
        case.platform == "windows"
        and known is not None
        and dotted(re.split(r"[a-z+]", known.version)[0].strip(".")) >= (2, 11)
        and known.rank <= 2
    )
    # the extra [and-cuda] exists from 2.14 on
    extra = facts.symptoms("and-cuda-installed") if case.platform == "windows" and known is None else []
    intel = facts.symptoms("intel-package") if late or (known is None and (wanting or case.gpus)) else []
    affected = late and (
        wanting or facts.kind == "machine" or facts.has("cudart-stub", "gpu-skipped", "mentions-gpu")
    )
    if not (said or intel or extra or affected):
        return
    row = case.tables.tensorflow("2.10.1", None, "windows-amd64")
    cure = cures.another_build(case, own=True)
    if case.platform != "windows":
        cure = cure.after(*environments.wsl_install())
    cure = cure.then(*cures.beside_windows(case))  # the code may need a release after 2.10
    yield found(
        "tf-windows-native",
        "The Windows wheels of TensorFlow 2.11 and later contain no CUDA code and do not use an installed"
        " CUDA or cuDNN.",
        [*said[:1], *intel[:1], *extra[:1], *([known] if late else []), *(wanting[:1] if not said else [])],
        confidence=(
            "certain"
            if said or (wanting and known is not None and known.rank <= 1)
            else "likely"
            if wanting or extra or (intel and case.gpus) or facts.kind == "machine"
            else "possible"
        ),
        tables=[row],
        steps=cure.steps,
        verify=cure.lists_gpus(case),
    )
