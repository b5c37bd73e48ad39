"""ptx-jit-or-kernel-crash: a program on the GPU crashes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Symptom
from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands, fitness
from doctor.rules.gpu.xid import of_programs
from doctor.rules.linux import as_root
from doctor.rules.memory.handles import handle_signs
from doctor.rules.memory.signs import failed_routines
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import version_of
from doctor.shell import Export, piped, run

if TYPE_CHECKING:
    from doctor.case import Case

TOOLS = ("ptxas-missing", "ptxas-failed", "libdevice-missing", "jit-failed")
"""Symptoms of an XLA compiler that fails or lacks its tools; another finding covers them."""

_LIBRARIES = {
    "CUBLAS": "cuBLAS",
    "CUDNN": "cuDNN",
    "CUSOLVER": "cuSOLVER",
    "CUSPARSE": "cuSPARSE",
    "CUFFT": "cuFFT",
}
"""The names of CUDA's libraries, by the first word of their status codes."""


def _compiler_crash(case: Case, signs: list[Symptom]) -> Finding:
    return found(
        "ptx-jit-or-kernel-crash",
        "XLA's compiler aborted the process while it compiled a GPU program: one of its own checks failed,"
        " which is a defect in this release's XLA. Nothing here shows a wrong version or a lack of memory.",
        signs[:3],
        title="XLA's compiler crashes on this program",
        confidence="likely",
        steps=[
            manual(
                "Turn XLA off for this model: jit_compile=False in model.compile() or tf.function(), and "
                "TF_XLA_FLAGS without --tf_xla_auto_jit"
            ),
            manual(f"Try {fitness.newer(case)}"),
            manual(
                "If the model uses mixed precision, try it in float32: many of these checks concern operands "
                "of different types"
            ),
        ],
        verify=commands.program(case),
    )


def _no_candidate(case: Case, signs: list[Symptom]) -> Finding:
    return found(
        "ptx-jit-or-kernel-crash",
        "XLA compiled several programs for one operation and ran each of them to find the fastest; all of "
        "them failed. Each run allocates the operation's whole input and output, so too little free memory "
        "is one possible reason. The other possible reasons are cuDNN and this release's XLA.",
        signs[:3],
        title="All programs that XLA compiled for one operation fail",
        confidence="possible",
        steps=[
            manual(
                "Try a smaller batch with nothing else on the GPU (nvidia-smi): if that works, memory was the"
                " reason"
            ),
            manual(
                "Turn XLA off for this model: jit_compile=False in model.compile() (Keras 3 turns it on by "
                "itself) or tf.function(), and TF_XLA_FLAGS without --tf_xla_auto_jit"
            ),
            manual(
                "Compare the line `Loaded cuDNN version` with the version that the release needs"
                " (tfgpu-doctor tables tensorflow VERSION)"
            ),
        ],
        verify=commands.convolution(case),
    )


@rule(
    "ptx-jit-or-kernel-crash",
    "A program on the GPU crashes at run time",
    needs=(
        "illegal-address",
        "launch-failed",
        "cudnn-launch-failed",
        "xid",
        "blas-launch-failed",
        "routine-failed",
        "xla-compile-crash",
        "autotuning-failed",
        "deep-crashed",
        "deep-operation-failed",
        "deep-operation-wrong",
    ),
)
def kernel_crash(case: Case) -> Iterator[Finding]:
    """A program on the GPU crashes at run time.

    ## What it means
    A kernel accessed memory that is not its own, a watchdog ended a kernel, or XLA's compiler aborted while
    it compiled one. If the versions match and memory is free, the cause is a defect in an op, in this
    release, in the driver or in the card (heat, overclocking, faulty memory).

    ## What you see
    CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, `unspecified launch failure`,
    CUDNN_STATUS_EXECUTION_FAILED; a line of level F from a file of XLA's GPU compiler.

    ## What to do
    Find the op with CUDA_LAUNCH_BLOCKING=1; try another patch release and the current driver; check the
    indices that the GPU uses (embedding lookups, gather); check the card itself (look for Xid in `dmesg`).
    """
    facts = case.facts
    signs = facts.symptoms("illegal-address", "launch-failed", "cudnn-launch-failed")
    if facts.kind == "report":  # on a machine, an Xid in the log belongs to a program that has ended
        signs = [*signs, *of_programs(facts.symptoms("xid"))]
    compiler = facts.symptoms("xla-compile-crash")
    own = [  # from the deep check: TensorFlow was imported, and what it ran on the GPU failed
        *(s for s in facts.symptoms("deep-crashed") if s.get("stage") not in ("started", "nothing")),
        *facts.symptoms("deep-operation-failed", "deep-operation-wrong"),
    ]
    if own and not signs:
        wrong = facts.has("deep-operation-wrong")
        yield found(
            "ptx-jit-or-kernel-crash",
            "TensorFlow was started and used the GPU, but "
            + (
                "the result of a known computation is wrong."
                if wrong
                else f"it failed on the GPU: {own[0].source.text}."
            ),
            own[:4],
            confidence="certain" if wrong else "possible",
            steps=[
                _newer(case),
                manual(
                    "Restart the machine and run the check again; if the failure returns, check the card"
                    " itself (look for Xid in dmesg)"
                ),
            ],
            verify=run("tfgpu-doctor", "check", "--deep"),
        )
        return
    tried = facts.symptoms("autotuning-failed")
    if (compiler or tried) and not signs:
        if not handle_signs(case) and not facts.has(
            *TOOLS, "cuda-out-of-memory", "tensor-oom", "device-alloc-failed", "resource-exhausted"
        ):
            yield _compiler_crash(case, compiler) if compiler else _no_candidate(case, tried)
        return
    if not signs and (routines := failed_routines(case)):
        yield _routine(case, routines)
        return
    if not signs or (
        all(s.kind == "cudnn-launch-failed" for s in signs)
        and facts.has("cudnn-handle-failed", "cuda-out-of-memory", "conv-algorithm-failed")
    ):
        return
    strong = [s for s in signs if s.kind != "cudnn-launch-failed"]
    yield found(
        "ptx-jit-or-kernel-crash",
        "A program on the GPU crashed while it ran; nothing here shows a wrong version or a lack of memory.",
        [*strong[:3], *signs[:2]],
        confidence="certain" if strong else "likely",
        steps=[
            shell(Export("CUDA_LAUNCH_BLOCKING", "1"), "makes the failing op appear in the traceback"),
            _newer(case),
            *(
                []
                if case.platform == "windows" or "jetson" in case.environments
                else [
                    as_root(
                        piped(run("sudo", "dmesg"), run("grep", "-i", "xid")),
                        "shows whether the kernel logged an Xid at that time, which points to the card or "
                        "the driver",
                    )
                ]
            ),
        ],
        verify=commands.program(case),
    )


def _newer(case: Case) -> Step:
    """The step to a newer TensorFlow and driver. On a Jetson, both belong to a JetPack release."""
    if "jetson" in case.environments:
        return manual(
            "Try the newest JetPack release for this board, with NVIDIA's TensorFlow for it: JetPack contains"
            " the driver"
        )
    return manual(f"Try {fitness.newer(case)}, and the current driver")


def _routine(case: Case, routines: list[Symptom]) -> Finding:
    """The finding for a routine that failed on the GPU although its CUDA library had created its handle."""
    library = _LIBRARIES.get(routines[0].get("status").partition("_")[0], "A CUDA library")
    known = [
        row for c in case.capabilities if (row := case.tables.architecture(c)) is not None and row.first_cuda
    ]
    needs = (
        "; ".join(f"{row.name} needs CUDA {row.first_cuda}" for row in known)
        or "tfgpu-doctor tables gpu NAME prints the CUDA version that a GPU needs"
    )
    return found(
        "ptx-jit-or-kernel-crash",
        f"{library} started, and one of its routines failed on the GPU; nothing here shows a"
        " wrong version or a lack of memory.",
        routines[:3],
        confidence="likely" if case.facts.has("blas-launch-failed") else "possible",
        tables=known,
        steps=[
            manual(
                f"Check that the CUDA version for which this TensorFlow was built supports the GPU: a library"
                f" older than the GPU fails in exactly this way ({needs})"
            ),
            *commands.growth_variable(
                case,
                version_of(case),
                "tests whether a lack of memory is the reason after all: TensorFlow then leaves some memory"
                " for the library",
            ),
            shell(Export("CUDA_LAUNCH_BLOCKING", "1"), "makes the traceback show the op that failed first"),
        ],
        verify=commands.program(case),
    )
