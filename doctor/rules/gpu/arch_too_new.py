"""gpu-arch-too-new: the GPU is newer than the code in the build or in its CUDA libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Gpu
from doctor.findings import Finding, manual
from doctor.picture import Picture
from doctor.remedies import commands, cures
from doctor.rules.gpu.capability import code_answer, minor
from doctor.rules.gpu.registered import registered
from doctor.rules.libraries.cudnn import dropped_gpu
from doctor.rules.registry import found, rule

_ELEVEN_ON = r"(?:cudart64_|libcudart\.so\.|(?:cublas|cublasLt|cusparse)(?:64_|\.so\.))(1[1-9])"
"""In the names of CUDA's libraries from CUDA 11 on: its major."""


def wanted_cuda_major(picture: Picture) -> int | None:
    """The CUDA major that the TensorFlow of the case works with: that of the libraries that it opens, its build's, or what is installed."""
    names = [*picture.loaded, *(lib.name for lib in picture.not_loaded)]
    opened = [int(found[1]) for name in names if (found := re.search(_ELEVEN_ON, name))]
    if opened:
        return max(opened)
    wanted = picture.wanted_cuda
    majors = {int(w.split(".")[0]) for w in wanted}
    if len(majors) == 1:
        build = majors.pop()
        if picture.cuda is not None and picture.tensorflow is not None and picture.cuda.rank <= 2:
            return min(build, int(picture.cuda.version.split(".")[0]))
        return build
    if picture.cuda is not None:
        return int(picture.cuda.version.split(".")[0])
    return None


BLACKWELL = (10, 0)
"""From this compute capability on, the PTX of builds without code for it does not serve every step (TensorFlow up to 2.20)."""


@rule(
    "gpu-arch-too-new",
    "The GPU is newer than the code in this TensorFlow build",
    explains=("cudnn-init-oom", "ptx-jit-or-kernel-crash", "model-oom", "xla-toolchain-missing", "cudnn-missing"),
    needs=("jit-from-ptx", "ptx-invalid", "no-kernel-image", "arch-mismatch", "container-gpu-newer", "gpu-needs-newer", "amd-gpu-ignored", Gpu),
)
def gpu_arch_too_new(picture: Picture) -> Iterator[Finding]:
    """The GPU is newer than every kernel in this TensorFlow build, or than its CUDA libraries.

    ## What it means
    Without machine code for the GPU, the driver has to compile PTX at the first start (minutes, and again after each driver
    upgrade), or cannot run the kernels at all. CUDA libraries older than the GPU have no code for it either: cuBLAS and
    cuDNN then fail, hang or give wrong numbers.

    ## How it shows
    `TensorFlow was not built with CUDA kernel binaries compatible with compute capability …`, `CUDA_ERROR_INVALID_PTX`,
    `no kernel image is available`, `PTX version … does not support target`; on Ampere and later with CUDA 10 builds, or
    Turing with CUDA 8 and 9, failing BLAS calls, NaN and silent hangs.

    ## What to do
    Install a release that was built with code for the GPU. Where there is none, keep one whose PTX the driver can compile:
    wait at the first start, and give the driver's cache room (CUDA_CACHE_MAXSIZE). On Blackwell XLA needs the ptxas of CUDA 12.8
    or newer; where an older one is found first, pass jit_compile=False to Keras. NVIDIA's container is another way.
    """
    facts = picture.facts
    build = picture.build
    steps = cures.Later(cures.better_code, picture)
    verify = steps.convolves
    amd = facts.symptoms("amd-gpu-ignored")
    if amd:
        yield found(
            "gpu-arch-too-new",
            f"This TensorFlow is made for AMD's ROCm and has no code for {amd[0].get('version')}; which GPUs a release of it serves is in AMD's documents, "
            "not in the tables here.",
            amd[:2],
            title="The AMD GPU is not among those that this build for ROCm has code for",
            confidence="likely",
            steps=[manual("Take a release of tensorflow-rocm, and the ROCm it names, that lists this GPU")],
            verify=commands.list_gpus(picture),
        )
        return
    jit = facts.symptoms("jit-from-ptx")
    invalid = facts.symptoms("ptx-invalid", "arch-mismatch")
    if facts.has("relies-on-driver", "ptxas-old") and all(s.get("sm") for s in invalid):
        invalid = []  # an old ptxas is on PATH, and the driver compiles in its place
    if picture.cudnn is not None and dropped_gpu(picture, picture.cudnn):
        invalid = [s for s in invalid if s.kind != "arch-mismatch"]  # it is cuDNN that does not serve the GPU, since the GPU is old
    image = facts.symptoms("no-kernel-image")
    compiled = build.compute_capabilities.compiled if build and build.compute_capabilities else ()
    highest = max((minor(c) for c in compiled), default=None)
    unknown = facts.symptoms("container-gpu-newer")
    if unknown and not (jit or invalid or image):
        yield found(
            "gpu-arch-too-new",
            f"This image is older than {unknown[0].get('gpu')}, says its start script: it has no code for it, or was never tried "
            "with it.",
            [*unknown[:2], *picture.gpus[:1]],
            severity="warning" if registered(picture) else "error",
            confidence="likely",
            steps=[
                manual("Take a newer tag of the image: NVIDIA's release notes of each name the GPUs that it serves"),
                *steps,
            ],
            verify=verify,
        )
        return
    jit_old = [s for s in jit if minor(s.get("cc")) <= (5, 3)]
    if jit and not jit_old:
        yield found(
            "gpu-arch-too-new",
            f"This build has no machine code for compute capability {jit[0].get('cc')}; its kernels are compiled from PTX when "
            "they are first used, which can take half an hour, and not every step survives it.",
            [*jit[:2], *invalid[:2]],
            severity="error" if invalid else "warning",
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    if invalid:
        yield found(
            "gpu-arch-too-new",
            "The PTX in this build, or the tool that makes it, does not serve this GPU.",
            [*invalid[:3], *picture.gpus[:1]],
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    if image and picture.capabilities:
        newest = max(minor(c) for c in picture.capabilities)
        if newest >= (7, 5) and (highest is None or newest > highest):
            yield found(
                "gpu-arch-too-new",
                f"No kernel in this build fits a GPU of compute capability {newest[0]}.{newest[1]}.",
                [*image[:2], *picture.gpus[:1]],
                tables=[build] if build else [],
                confidence="certain" if highest else "likely",
                steps=steps,
                verify=verify,
            )
        return
    if facts.kind == "machine" and highest is not None:
        for gpu in picture.gpus:
            answer = code_answer(picture, gpu.compute_capability) if gpu.compute_capability else None
            if (
                answer is None
                or answer.verdict not in ("no", "slow")
                or minor(gpu.compute_capability or "0.0") <= highest
            ):
                continue
            yield found(
                "gpu-arch-too-new",
                f"{answer.reason[0].upper()}{answer.reason[1:]}.",
                [gpu, picture.tensorflow],
                severity="error" if answer.verdict == "no" else "warning",
                tables=answer.rows,
                steps=steps,
                verify=verify,
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
        "slow-first-run",
        "gpu-not-used",
        "segfault",
        "crash-status",
    )
    cuda = wanted_cuda_major(picture)
    crashed = [s for s in facts.symptoms("blas-launch-failed") if s.get("status") == "CUBLAS_STATUS_EXECUTION_FAILED"]
    if crashed and picture.build is None and any(minor(c) >= (8, 0) for c in picture.capabilities):
        yield found(
            "gpu-arch-too-new",
            "cuBLAS has a handle and its routine fails on a GPU of Ampere or later: a TensorFlow built for CUDA 10 or earlier, "
            "whose cuBLAS has no code for it, fails in just this way.",
            [*crashed[:2], *picture.gpus[:1]],
            confidence="likely",
            steps=steps,
            verify=verify,
        )
        return
    if cuda is not None and picture.capabilities and (picture.tensorflow is not None or failing):
        newest = max(minor(c) for c in picture.capabilities)
        limit = (5, 3) if cuda < 8 else (7, 0) if cuda < 10 else (7, 5) if cuda < 11 else None
        if limit is not None and newest > limit and (failing or newest >= (8, 0)):
            named = [g for g in picture.gpus if g.compute_capability and minor(g.compute_capability) == newest]
            yield found(
                "gpu-arch-too-new",
                f"{named[0].name or 'The GPU'} has compute capability {newest[0]}.{newest[1]}; this TensorFlow works with CUDA {cuda}, "
                f"whose libraries have no code for GPUs newer than {limit[0]}.{limit[1]}. Failing BLAS and cuDNN calls, NaN, hangs and crashes "
                "follow from that; memory settings do not cure them.",
                [*named[:1], *failing[:2], picture.tensorflow, picture.cuda],
                severity="error" if failing or not registered(picture) else "warning",
                confidence="likely" if failing else "possible",
                tables=picture.builds[-1:],
                steps=steps,
                verify=verify,
            )
            return
    told = facts.symptoms("gpu-needs-newer")
    works = registered(picture) or facts.has("work-done") or picture.not_loaded
    launches = [s for s in failing if s.kind in ("blas-launch-failed", "no-algorithm", "cudnn-launch-failed")]
    lines = {s.source.line for s in told}
    if picture.cuda is not None and not picture.wanted_cuda and picture.cuda.source.line in lines:
        cuda = None  # the one that the card needs
    if told and not works and (cuda is None or cuda < int(told[0].get("cuda"))):
        yield found(
            "gpu-arch-too-new",
            f"The card is said to be newer than this TensorFlow. CUDA before {told[0].get('cuda')}, and each TensorFlow that was built with it, "
            "has no code for such GPUs.",
            [*told[:2], *launches[:1], picture.tensorflow, picture.cuda],
            confidence="likely" if launches else "possible",
            tables=picture.builds[-1:],
            steps=steps,
            verify=verify,
        )
        return
    newest = max((minor(c) for c in picture.capabilities), default=(0, 0))
    if facts.has("gpu-list-empty"):
        return  # a GPU that is newer than the code is registered all the same, and its code is compiled from PTX
    if facts.kind == "report" and highest is not None and newest >= BLACKWELL and newest[0] > highest[0] and not works:
        yield found(
            "gpu-arch-too-new",
            f"The newest code in this build is for compute capability {highest[0]}.{highest[1]}, and the card that is named has "
            f"{newest[0]}.{newest[1]}; nothing else here shows a fault.",
            [*(g for g in picture.gpus if g.compute_capability and minor(g.compute_capability) == newest), picture.tensorflow],
            confidence="possible",
            tables=[build],
            steps=steps,
            verify=verify,
        )
