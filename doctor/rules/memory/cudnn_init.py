"""cudnn-init-oom: TensorFlow's own pool leaves cuDNN or cuBLAS no memory to start."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import CudaCallFailed, CudnnMismatch, DriverVersion, Symptom
from doctor.findings import Finding, Step, manual, python, shell
from doctor.picture import Picture
from doctor.remedies import code, commands
from doctor.rules.memory.signs import (
    HANDLE_FAILURES,
    HANDLE_MIB,
    failed_routines,
    free_mib,
    handle_signs,
    roomy_handle,
)
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import likely_build, version_of
from doctor.shell import run


@rule(
    "cudnn-init-oom",
    "cuDNN or cuBLAS cannot start because TensorFlow took nearly all GPU memory first",
    explains=("ptx-jit-or-kernel-crash", "known-release-bug"),
    needs=(*HANDLE_FAILURES, "cudnn-status-said", "growth-cure-told"),
)
def cudnn_init_oom(picture: Picture) -> Iterator[Finding]:
    """cuDNN or cuBLAS cannot create its handle, because TensorFlow took nearly all GPU memory first.

    ## What it means
    By default TensorFlow takes nearly all of a GPU's memory when it starts. cuDNN and cuBLAS need some outside of that pool for their
    handles and kernels, and find none.

    ## How it shows
    `Failed to get convolution algorithm. This is probably because cuDNN failed to initialize`, `Could not create cudnn handle:
    CUDNN_STATUS_INTERNAL_ERROR` (or NOT_INITIALIZED, ALLOC_FAILED), `failed to create cublas handle`, `DNN library is not found`, `No
    algorithm worked!`, in TensorFlow 1 `Blas GEMM launch failed`.

    ## What to do
    Turn memory growth on, before anything uses the GPU; or leave room with a memory limit. If that does not help, compare the cuDNN that is
    loaded with the one the build was compiled with, and look who else uses the GPU.
    """
    facts = picture.facts
    signs = handle_signs(picture)
    bare = not signs and not picture.not_loaded and not facts.has("illegal-address", "launch-failed", "tensor-oom", "cudnn-said-missing")
    if bare:
        signs = facts.symptoms("cudnn-status-said") or _cured(picture)
    if not signs or facts.of(CudnnMismatch) or roomy_handle(picture) is not None or failed_routines(picture):
        return
    statuses = {s.get("status").rsplit("CUDNN_STATUS_", 1)[-1] for s in signs if s.get("status")}
    if statuses & {"ARCH_MISMATCH", "NOT_SUPPORTED"}:
        return
    growth = facts.symptoms("growth-set")
    weak = all(s.kind in ("blas-launch-failed", "cudnn-launch-failed", "cufft-failed") for s in signs)
    crash = facts.has("illegal-address", "launch-failed")
    if all(s.kind == "cudnn-launch-failed" for s in signs) or (weak and crash):
        return
    version = version_of(picture)
    grow = [
        python(
            code.memory_growth(version),
            "memory growth: TensorFlow takes memory as it needs it and leaves room for cuDNN",
        ),
        *commands.growth_variable(picture, version, "the same without touching the code (TensorFlow 1.12 and later)"),
    ]
    others = shell(run("nvidia-smi"), "shows whether another process holds the memory")
    build = likely_build(picture)
    if picture.build is not None and picture.build.cudnn and picture.build.cuda:
        needs = f"TensorFlow {picture.build.version} wants cuDNN {picture.build.cudnn} and CUDA {picture.build.cuda}"
    else:
        needs = "TensorFlow wants the cuDNN that its build was made for (tfgpu-doctor tables tensorflow VERSION)"
    free = free_mib(picture)
    enough = free is not None and free >= HANDLE_MIB
    versions = manual(
        f"{'If that does not help: c' if not growth and not enough else 'C'}ompare versions; {needs}. The log line `Loaded runtime CuDNN "
        "library` or `Loaded cuDNN version` names the one that is loaded",
        "a cuDNN of another version fails in the same words",
    )
    steps: list[Step] = [*grow, others, versions]
    if enough:
        steps = [versions, *grow, others]
    elif growth:  # what was done already is not prescribed first again
        steps = [others, versions, grow[0]]
    text = "cuDNN or cuBLAS could not start, and nothing here shows a wrong version, another process or a model that is too large: TensorFlow's own pool leaves them no memory."
    if enough:
        text = (
            f"cuDNN or cuBLAS could not start while {free} MiB of the GPU's memory were free, which is more than a handle takes: want of memory "
            "is one possibility, and a cuDNN that does not go with the build, the driver or the GPU fails in the same words."
        )
    if growth:
        text += " Memory growth is mentioned already: make sure that it is set before the first op, and for every GPU."
    if any("insufficient driver" in s.source.text.lower() for s in signs) or any(
        "possibly insufficient driver" in d.source.text.lower() for d in facts.of(DriverVersion)
    ):
        text += ' "Possibly insufficient driver version" is printed with every such failure and says little.'
    yield found(
        "cudnn-init-oom",
        text,
        [*signs[:4], *growth[:1], *facts.symptoms("handle-memory")[:1]],
        title="cuDNN or cuBLAS did not start, though much of the GPU's memory was free" if enough else "",
        confidence="possible" if bare or enough or (weak and growth) else "likely",
        tables=[build] if build else [],
        steps=steps,
        verify=commands.convolution(picture),
    )


def _cured(picture: Picture) -> list[Symptom]:
    """Memory growth is said to have helped, and nothing was printed that it would cure or not."""
    facts = picture.facts
    if facts.of(CudaCallFailed) or picture.not_loaded or facts.has("oom-said", "other-process", "memory-grows", "config-conflict", "resource-exhausted"):
        return []
    return facts.symptoms("growth-cure-told")
