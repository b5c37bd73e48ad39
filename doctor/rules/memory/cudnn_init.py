"""cudnn-init-oom: TensorFlow's own pool leaves cuDNN or cuBLAS no memory to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import CudnnMismatch, DriverVersion
from doctor.findings import Finding, Step, manual, python, shell
from doctor.remedies import code, commands
from doctor.rules.memory.handles import (
    HANDLE_FAILURES,
    HANDLE_MIB,
    free_mib,
    handle_signs,
    no_cudnn_at_all,
    roomy_handle,
)
from doctor.rules.memory.signs import failed_routines
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import likely_build, version_of
from doctor.shell import run

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "cudnn-init-oom",
    "cuDNN or cuBLAS cannot start because TensorFlow took nearly all GPU memory first",
    explains=("ptx-jit-or-kernel-crash", "known-release-bug"),
    needs=(*HANDLE_FAILURES, "cudnn-status-said"),
)
def cudnn_init_oom(case: Case) -> Iterator[Finding]:
    """cuDNN or cuBLAS cannot create its handle, because TensorFlow took nearly all GPU memory first.

    ## What it means
    By default, TensorFlow allocates nearly all of a GPU's memory as its own pool when it starts. cuDNN and
    cuBLAS need some memory outside that pool for their handles and kernels, and find none.

    ## What you see
    `Failed to get convolution algorithm. This is probably because cuDNN failed to initialize`, `Could not
    create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR` (or NOT_INITIALIZED, ALLOC_FAILED), `failed to create
    cublas handle`, `DNN library is not found`, `No algorithm worked!`, and in older releases `Blas GEMM
    launch failed`.

    ## What to do
    Turn memory growth on before anything uses the GPU, or leave memory free with a memory limit. If that does
    not help, compare the loaded cuDNN with the cuDNN that the build was compiled with, and check which other
    processes use the GPU.
    """
    facts = case.facts
    signs = handle_signs(case)
    bare = not (signs or case.not_loaded or facts.has("illegal-address", "launch-failed", "tensor-oom"))
    if bare:
        signs = facts.symptoms("cudnn-status-said")
    if not signs or facts.of(CudnnMismatch) or roomy_handle(case) is not None or failed_routines(case):
        return
    if no_cudnn_at_all(case):
        return
    statuses = {s.get("status").rsplit("CUDNN_STATUS_", 1)[-1] for s in signs if s.get("status")}
    if statuses & {"ARCH_MISMATCH", "NOT_SUPPORTED"}:
        return
    growth = facts.symptoms("growth-set")
    weak = all(s.kind in ("blas-launch-failed", "cudnn-launch-failed", "cufft-failed") for s in signs)
    crash = facts.has("illegal-address", "launch-failed")
    if all(s.kind == "cudnn-launch-failed" for s in signs) or (weak and crash):
        return
    version = version_of(case)
    setting = python(
        code.memory_growth(version),
        "memory growth: TensorFlow allocates memory only as needed and leaves some for cuDNN and cuBLAS",
    )
    grow = [
        setting,
        *commands.growth_variable(
            case, version, "sets memory growth without a change to the code (TensorFlow 1.12 and later)"
        ),
    ]
    if case.tensorflow is None and code.has_sessions(version):
        grow.reverse()  # the variable needs no code, and works whatever the release is
    others = shell(run("nvidia-smi"), "shows whether another process holds the memory")
    build = likely_build(case)
    if case.build is not None and case.build.cudnn and case.build.cuda:
        needs = f"TensorFlow {case.build.version} needs cuDNN {case.build.cudnn} and CUDA {case.build.cuda}"
    else:
        needs = "TensorFlow needs the cuDNN for which it was built (tfgpu-doctor tables tensorflow VERSION)"
    free = free_mib(case)
    enough = free is not None and free >= HANDLE_MIB
    versions = manual(
        f"{'If that does not help, c' if not growth and not enough else 'C'}ompare versions: {needs}. The log"
        " line `Loaded runtime CuDNN library` or `Loaded cuDNN version` shows the loaded version. If the"
        " program worked until another package was installed, look for a second or another TensorFlow, Keras"
        f" or cuDNN in the output of {'conda list' if 'conda' in case.environments else 'pip list'}",
        "a wrong cuDNN version causes the same message",
    )
    steps: list[Step] = [*grow, others, versions]
    if enough:
        steps = [versions, *grow, others]
    elif growth:  # a step that was already taken does not come first again
        steps = [others, versions, setting]
    text = (
        "cuDNN or cuBLAS could not start because TensorFlow's own pool leaves them no memory. Nothing here"
        " shows a wrong version, another process or a model that is too large."
    )
    if enough:
        text = (
            f"cuDNN or cuBLAS could not start although {free} MiB of the GPU's memory were free, which is"
            f" more than a handle needs. A lack of memory is one possible cause; a cuDNN that does not fit"
            f" the build, the driver or the GPU fails with the same message."
        )
    if growth:
        text += (
            " The report already mentions memory growth: make sure that it is set before the first op, and"
            " for every GPU."
        )
    if any("insufficient driver" in s.source.text.lower() for s in signs) or any(
        "possibly insufficient driver" in d.source.text.lower() for d in facts.of(DriverVersion)
    ):
        text += ' "Possibly insufficient driver version" appears with every such failure; do not rely on it.'
    of_cublas = all(s.kind in ("cublas-handle-failed", "blas-launch-failed") for s in signs)
    yield found(
        "cudnn-init-oom",
        text,
        [*signs[:4], *growth[:1], *facts.symptoms("handle-memory")[:1]],
        title="cuDNN or cuBLAS did not start, although much of the GPU's memory was free" if enough else "",
        confidence="possible" if bare or enough or (weak and growth) else "likely",
        tables=[build],
        steps=steps,
        verify=commands.product(case) if of_cublas else commands.convolution(case),
    )
