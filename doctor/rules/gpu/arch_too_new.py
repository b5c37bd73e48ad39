"""gpu-arch-too-new: the GPU is newer than the code in the build or in its CUDA libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from doctor.facts import Gpu, Prose
from doctor.findings import Finding, manual
from doctor.remedies import commands, cures
from doctor.remedies.cure import Later
from doctor.rules.gpu.capability import code_answer, minor
from doctor.rules.gpu.registered import registered
from doctor.rules.libraries.cudnn import dropped_gpu
from doctor.rules.registry import found, rule

if TYPE_CHECKING:
    from doctor.case import Case

_ELEVEN_ON = r"(?:cudart64_|libcudart\.so\.|(?:cublas|cublasLt|cusparse)(?:64_|\.so\.))(1[1-9])"
"""The CUDA major version in the names of CUDA's libraries, from CUDA 11 on."""


def wanted_cuda_major(case: Case) -> int | None:
    """The CUDA major version that this TensorFlow build uses, from the libraries that it loads, otherwise
    from its build, otherwise from the installed CUDA; None if nothing shows it."""
    names = [*case.loaded, *(lib.name for lib in case.not_loaded)]
    opened = [int(match[1]) for name in names if (match := re.search(_ELEVEN_ON, name))]
    if opened:
        return max(opened)
    wanted = case.wanted_cuda
    majors = {int(w.split(".")[0]) for w in wanted}
    if len(majors) == 1:
        build = majors.pop()
        if case.cuda is not None and case.tensorflow is not None and case.cuda.rank <= 2:
            return min(build, int(case.cuda.version.split(".")[0]))
        return build
    if case.cuda is not None:
        return int(case.cuda.version.split(".")[0])
    return None


BLACKWELL = (10, 0)
"""The lowest compute capability for which a build without machine code for the GPU cannot run every step from
PTX (TensorFlow up to 2.20)."""


@rule(
    "gpu-arch-too-new",
    "The GPU is newer than the code in this TensorFlow build",
    explains=(
        "cudnn-init-oom",
        "ptx-jit-or-kernel-crash",
        "model-oom",
        "xla-toolchain-missing",
        "cudnn-missing",
    ),
    needs=(
        "jit-from-ptx",
        "ptx-invalid",
        "no-kernel-image",
        "arch-mismatch",
        "container-gpu-newer",
        "gpu-needs-newer",
        "amd-gpu-ignored",
        "function-not-in-build",
        Gpu,
    ),
)
def gpu_arch_too_new(case: Case) -> Iterator[Finding]:
    """The GPU is newer than every kernel in this TensorFlow build, or than its CUDA libraries.

    ## What it means
    Without machine code for the GPU, the driver has to compile PTX at the first start and again after each
    driver upgrade (which takes minutes each time), or cannot run the kernels at all. CUDA libraries older
    than the GPU have no code for it either: cuBLAS and cuDNN then fail, hang or return wrong numbers.

    ## What you see
    `TensorFlow was not built with CUDA kernel binaries compatible with compute capability …`,
    `CUDA_ERROR_INVALID_PTX`, `no kernel image is available`, `PTX version … does not support target`; on
    Ampere and later with CUDA 10 builds, or Turing with CUDA 8 and 9, failing BLAS calls, NaN and silent
    hangs.

    ## What to do
    Install a release that was built with code for the GPU. If there is none, keep a release whose PTX the
    driver can compile: wait at the first start, and enlarge the driver's cache (CUDA_CACHE_MAXSIZE). On
    Blackwell, XLA needs the ptxas of CUDA 12.8 or newer; if XLA finds an older ptxas first, pass
    jit_compile=False to Keras. Or use NVIDIA's container."""
    facts = case.facts
    build = case.build
    # the lambda imports doctor.remedies.cures only if a finding needs the steps
    steps = Later(lambda known: cures.better_code(known), case)
    finding = partial(found, "gpu-arch-too-new", steps=steps, verify=steps.convolves)
    amd = facts.symptoms("amd-gpu-ignored")
    if amd:
        yield finding(
            f"This TensorFlow is built for AMD's ROCm and has no code for {amd[0].get('version')}. AMD's"
            f" documentation lists the GPUs that each release supports; tfgpu-doctor's tables do not.",
            amd[:2],
            title="This ROCm build has no code for the AMD GPU",
            confidence="likely",
            steps=[
                manual(
                    "Choose a release of tensorflow-rocm that lists this GPU, with the ROCm version that it"
                    " requires"
                )
            ],
            verify=commands.list_gpus(case),
        )
        return
    jit = facts.symptoms("jit-from-ptx")
    invalid = facts.symptoms("ptx-invalid", "arch-mismatch")
    if facts.has("relies-on-driver", "ptxas-old") and all(s.get("sm") for s in invalid):
        invalid = []  # an old ptxas is on PATH, and the driver compiles instead
    if case.cudnn is not None and dropped_gpu(case, case.cudnn):
        # cuDNN does not support the GPU because the GPU is too old
        invalid = [s for s in invalid if s.kind != "arch-mismatch"]
    image = facts.symptoms("no-kernel-image")
    compiled = build.compute_capabilities.compiled if build and build.compute_capabilities else ()
    highest = max((minor(c) for c in compiled), default=None)
    unknown = facts.symptoms("container-gpu-newer")
    if unknown and not (jit or invalid or image):
        yield finding(
            f"The image's start script says that the image is older than {unknown[0].get('gpu')}: the image"
            f" has no code for this GPU, or was never tested with it.",
            [*unknown[:2], *case.gpus[:1]],
            severity="warning" if registered(case) else "error",
            confidence="likely",
            steps=[
                manual(
                    "Use a newer tag of the image; NVIDIA's release notes list the GPUs that each tag"
                    " supports"
                ),
                *steps,
            ],
        )
        return
    jit_old = [s for s in jit if minor(s.get("cc")) <= (5, 3)]
    if jit and (not jit_old or build is None):
        yield finding(
            f"This build has no machine code for compute capability {jit[0].get('cc')}. The driver"
            f" compiles its kernels from PTX at their first use, which can take half an hour, and some"
            f" operations then fail.",
            [*jit[:2], *invalid[:2]],
            severity="error" if invalid else "warning",
            tables=[build],
        )
        return
    if invalid:
        yield finding(
            "The PTX in this build, or the tool that makes it, does not support this GPU.",
            [*invalid[:3], *case.gpus[:1]],
            tables=[build],
        )
        return
    if image and case.capabilities:
        newest = max(minor(c) for c in case.capabilities)
        if newest >= (7, 5) and (highest is None or newest > highest):
            yield finding(
                f"No kernel in this build fits a GPU of compute capability {newest[0]}.{newest[1]}.",
                [*image[:2], *case.gpus[:1]],
                tables=[build],
                confidence="certain" if highest else "likely",
            )
        return
    if facts.kind == "machine" and highest is not None:
        for gpu in case.gpus:
            answer = code_answer(case, gpu.compute_capability) if gpu.compute_capability else None
            if (
                answer is None
                or answer.verdict not in ("no", "slow")
                or minor(gpu.compute_capability or "0.0") <= highest
            ):
                continue
            yield finding(
                answer.sentence,
                [gpu, case.tensorflow],
                severity="error" if answer.verdict == "no" else "warning",
                tables=answer.rows,
            )
            return
    failing = facts.symptoms(
        "blas-launch-failed",
        "cublas-handle-failed",
        "cudnn-handle-failed",
        "conv-algorithm-failed",
        "cudnn-launch-failed",
        "nan-results",
        "hangs",
        "no-algorithm",
        "dnn-not-found",
        "launch-failed",
        "routine-failed",
        "slow-first-run",
        "gpu-not-used",
        "segfault",
        "crash-status",
    )
    cuda = wanted_cuda_major(case)
    crashed = [
        s
        for s in facts.symptoms("blas-launch-failed")
        if s.get("status") in ("CUBLAS_STATUS_EXECUTION_FAILED", "CUBLAS_STATUS_NOT_SUPPORTED")
    ]
    if crashed and case.build is None and any(minor(c) >= (8, 0) for c in case.capabilities):
        yield finding(
            "cuBLAS started, but one of its routines fails on an Ampere or later GPU. A TensorFlow build for "
            "CUDA 10 or earlier fails in exactly this way, because its cuBLAS has no code for such a GPU.",
            [*crashed[:2], *case.gpus[:1]],
            confidence="likely",
        )
        return
    asked = facts.first(Prose) is not None  # NaN losses in a bare log, without a complaint, are no sign
    wrong = facts.symptoms("nan-results") if asked and not case.builds and cuda is None else []
    if wrong and case.capabilities and all(minor(c) >= (8, 0) for c in case.capabilities):
        yield finding(
            "An Ampere or later GPU computes NaN, and the report does not name the TensorFlow release: a"
            " release that was built for CUDA 10 or earlier has no code for this GPU and computes NaN on it.",
            [*wrong[:2], *case.gpus[:1]],
            confidence="possible",
        )
        return
    if cuda is not None and case.capabilities and (case.tensorflow is not None or failing):
        newest = max(minor(c) for c in case.capabilities)
        limit = (5, 3) if cuda < 8 else (7, 0) if cuda < 10 else (7, 5) if cuda < 11 else None
        if limit is not None and newest > limit and (failing or newest >= (8, 0)):
            named = [g for g in case.gpus if g.compute_capability and minor(g.compute_capability) == newest]
            yield finding(
                f"{named[0].name or 'The GPU'} has compute capability {newest[0]}.{newest[1]}; this"
                f" TensorFlow uses CUDA {cuda}, whose libraries have no code for GPUs newer than"
                f" {limit[0]}.{limit[1]}. BLAS and cuDNN calls then fail, hang, crash or return NaN; memory"
                f" settings do not help.",
                [*named[:1], *failing[:2], case.tensorflow, case.cuda],
                severity="error" if failing or not registered(case) else "warning",
                confidence="likely" if failing else "possible",
                tables=case.builds[-1:],
            )
            return
    stated = facts.symptoms("gpu-needs-newer")
    works = registered(case) or facts.has("work-done") or case.not_loaded
    launches = [s for s in failing if s.kind in ("blas-launch-failed", "no-algorithm", "cudnn-launch-failed")]
    lines = {s.source.line for s in stated}
    if case.cuda is not None and not case.wanted_cuda and case.cuda.source.line in lines:
        cuda = None  # this CUDA version is the one that the card needs, not the one in use
    if stated and not works and (cuda is None or cuda < int(stated[0].get("cuda"))):
        yield finding(
            f"The report says that the card is newer than this TensorFlow. CUDA releases before"
            f" {stated[0].get('cuda')}, and every TensorFlow built with them, have no code for such GPUs.",
            [*stated[:2], *launches[:1], case.tensorflow, case.cuda],
            confidence="likely" if launches else "possible",
            tables=case.builds[-1:],
        )
        return
    unfit = [*image, *facts.symptoms("function-not-in-build")]
    if unfit and facts.kind == "report" and not case.capabilities:
        yield finding(
            "The program has no code for its GPU, which the report does not name. Usually the GPU is newer"
            " than the build; sometimes it is older than all GPUs that the build supports.",
            unfit[:2],
            confidence="possible",
        )
        return
    newest = max((minor(c) for c in case.capabilities), default=(0, 0))
    if facts.has("gpu-list-empty"):
        # TensorFlow also registers a GPU that is newer than the code: the driver compiles the code from PTX
        return
    if (
        facts.kind == "report"
        and highest is not None
        and newest >= BLACKWELL
        and newest[0] > highest[0]
        and not works
    ):
        answer = code_answer(case, f"{newest[0]}.{newest[1]}")
        yield finding(
            f"This build contains GPU code only up to compute capability {highest[0]}.{highest[1]}, but the"
            f" GPU in the report has {newest[0]}.{newest[1]}"
            + (f": {answer.reason}." if answer is not None and answer.verdict != "yes" else "."),
            [
                *(g for g in case.gpus if g.compute_capability and minor(g.compute_capability) == newest),
                case.tensorflow,
            ],
            confidence="possible",
            tables=[build],
        )
