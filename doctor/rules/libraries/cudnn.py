"""Helpers for cuDNN: its major version in a file name, GPUs that it dropped, and steps that install it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor.compat import Answer
from doctor.facts import CudnnMismatch, CudnnVersion, Gpu, Symptom
from doctor.findings import manual, shell
from doctor.remedies import cures
from doctor.remedies.cure import Cure
from doctor.rules.linux import on_linux
from doctor.shell import Literal, piped, run

if TYPE_CHECKING:
    from doctor.case import Case

IN_EVERY_CUDNN = ("cudnnCreate", "cudnnDestroy", "cudnnGetVersion", "cudnnSetStream")
"""Functions that every version of cuDNN has (cudnn.h); a library without them is not cuDNN."""


def never_opened(case: Case) -> list[Symptom]:
    """Return the symptoms of functions that TensorFlow did not find although every cuDNN release has them.
    They show that cuDNN did not load: releases before 1.0 then search the process itself
    (stream_executor/cuda/cuda_dnn.cc, dynload)."""
    return [s for s in case.facts.symptoms("cudnn-symbol-missing") if s.get("symbol") in IN_EVERY_CUDNN]


def cudnn_major(name: str) -> str | None:
    """The major version in a cuDNN file name ("8" for libcudnn.so.8 and cudnn64_8.dll); None without one."""
    match = re.search(r"libcudnn\w{0,60}\.so\.(\d+)|cudnn\w{0,60}64_(\d+)", name.lower())
    return (match[1] or match[2]) if match else None


def bring_cudnn(case: Case) -> Cure:
    """Return the steps that install the cuDNN version that the build needs, and the steps that show other
    copies that the loader may find first."""
    stated = case.facts.first(CudnnMismatch)
    if stated is not None and not case.builds:
        # the TensorFlow release is unknown, but the cuDNN that it was compiled with is known
        cure = Cure(
            (
                manual(
                    f"Install cuDNN {stated.compiled}, or a later version with the same major version, for"
                    f" the installed CUDA: as a package from pip or conda, or from NVIDIA's archive",
                    "TensorFlow's message names the version with which it was compiled",
                ),
            )
        )
    else:
        cure = cures.cudnn_for_build(case)
    if case.platform == "windows":
        return cure.then(
            shell(
                Literal("where.exe cudnn64_*.dll"),
                "shows every cuDNN on PATH; Windows loads the first",
                platform="windows",
            )
        )
    return cure.then(
        on_linux(
            piped(run("ldconfig", "-p"), run("grep", "libcudnn")),
            "shows whether the loader finds the new cuDNN; an older cuDNN that is listed here or is in a"
            " folder on LD_LIBRARY_PATH takes precedence",
        )
    )


def wanted_major(case: Case) -> str | None:
    """The CUDA major version of the build, such as "12"; None if it is unknown or ambiguous. The cuDNN must
    be built for the same CUDA major version."""
    majors = {version.split(".")[0] for version in case.wanted_cuda}
    return majors.pop() if len(majors) == 1 else None


def dropped_gpu(case: Case, cudnn: CudnnVersion) -> tuple[Gpu, str, Answer] | None:
    """A GPU for which this cuDNN has no kernels, with its compute capability and the answer from the tables;
    None if there is no such GPU. For a report, None unless cuDNN supports none of the GPUs."""
    if "." not in cudnn.version:
        return None
    from doctor import compat

    dropped = []
    for gpu in case.gpus:
        capability = gpu.compute_capability
        if not capability:
            continue
        answer = compat.cudnn_serves_gpu(cudnn.version, (capability,), case.tables, wanted_major(case))
        if answer.verdict == "no":
            dropped.append((gpu, capability, answer))
        elif case.facts.kind != "machine":
            return None
    return dropped[0] if dropped else None
