"""cudnn-version-mismatch: the installed cuDNN has a version that the build or the GPU cannot use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from doctor.facts import (
    MEASURED,
    CudaCallFailed,
    CudnnMismatch,
    CudnnVersion,
    LibraryLoaded,
    LibraryNotLoaded,
)
from doctor.findings import Finding, Step, manual, shell
from doctor.remedies import commands
from doctor.remedies.cure import Later
from doctor.rules.libraries.cudnn import bring_cudnn, cudnn_major, dropped_gpu, never_opened, wanted_major
from doctor.rules.libraries.wanted import NO_GPU_SINCE, gone, other_files, table_rows, xla_gpu_note
from doctor.rules.memory.handles import HANDLE_FAILURES, no_cudnn_at_all, roomy_handle
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import likely_build
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "cudnn-version-mismatch",
    "The installed cuDNN has a version that this TensorFlow cannot use",
    explains=(
        "cudnn-init-oom",
        "cudnn-missing",
        "library-broken",
        "library-path",
        "cuda-missing",
        "model-oom",
        "ptx-jit-or-kernel-crash",
        *NO_GPU_SINCE,
    ),
    needs=(
        CudaCallFailed,
        CudnnMismatch,
        "gpu-library-not-loaded",
        CudnnVersion,
        "cudnn-symbol-missing",
        "handle-memory",
        "autotuning-failed",
        *HANDLE_FAILURES,
    ),
)
def cudnn_version_mismatch(case: Case) -> Iterator[Finding]:
    """The installed cuDNN has a version that this TensorFlow build, or this CUDA release, cannot use.

    ## What it means
    A build needs the major version of cuDNN that it was compiled with, and the same or a higher minor
    version. Each cuDNN is built for one CUDA major version: a cuDNN for CUDA 12 loads CUDA 12's libraries.
    Each cuDNN has kernels for only some GPUs: from 9.11 on, for Turing and later.

    ## What you see
    `Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.6.0`; `libcudnn.so.7` requested but
    cuDNN 8 installed; cuDNN's own `Could not load library libcublasLt.so.12`; `Could not create cudnn handle`
    with most of the memory free (`Memory usage: … bytes free`). Failing convolution algorithms and `DNN
    library is not found` are consequences.

    ## What to do
    Install the cuDNN that the build needs, and look for a second, older copy that the loader finds first.
    """
    facts = case.facts
    stated = facts.of(CudnnMismatch)
    build = likely_build(case)
    steps = Later(bring_cudnn, case)
    finding = partial(found, "cudnn-version-mismatch", tables=[build], steps=steps, verify=steps.convolves)
    if stated:
        first = stated[0]
        yield finding(
            f"TensorFlow loaded cuDNN {first.loaded} but was compiled with {first.compiled}. It needs the"
            f" same major version and an equal or higher minor version. Later cuDNN failures are"
            f" consequences.",
            [*stated[:2], *facts.symptoms("dnn-not-found", "conv-algorithm-failed")[:1]],
        )
        return
    older = older_than_compiled(case)
    if older is not None:
        yield finding(
            f"This build was compiled with cuDNN {compiled_cudnn(case)}, but the loader finds {older.version}"
            " first. The build needs the same major version and an equal or higher minor version.",
            [older, case.tensorflow],
            confidence="likely",
        )
        return
    unserved = _cudnn_without_kernels(case)
    if unserved is not None:
        yield unserved
        return
    unopened = never_opened(case)
    lacking = [s for s in facts.symptoms("cudnn-symbol-missing") if s not in unopened]
    if lacking:
        yield finding(
            f"The loaded cuDNN has no function {lacking[0].get('symbol') or lacking[0].get('s2')}, which this"
            " TensorFlow calls: this cuDNN is not the version for which the build was made.",
            lacking[:2],
        )
        return
    foreign = [
        lib
        for lib in facts.of(LibraryNotLoaded)
        if re.match(r"libcublas(?:lt)?\.so\.\d+|libnvrtc\.so\.\d+", lib.name.lower())
        and re.search("(?:could not|unable to) load library", lib.source.text.lower())
    ]
    if foreign and (case.cuda or case.wanted_cuda):
        major = re.search(r"\.so\.(\d+)", foreign[0].name)
        have = (case.cuda.version if case.cuda else case.wanted_cuda[0]).split(".")[0]
        if major and major[1] != have:
            yield finding(
                f"cuDNN itself loads {foreign[0].name}: this cuDNN was built for CUDA {major[1]}, but CUDA"
                f" {have} is installed.",
                [foreign[0], case.cuda, case.tensorflow],
                confidence="likely",
            )
            return
    roomy = roomy_handle(case)
    if roomy is not None:
        free, total = (int(roomy.get(key) or 0) / 2**30 for key in ("free", "total"))
        yield finding(
            f"cuDNN could not start although {free:.1f} of the GPU's {total:.1f} GiB were free, so memory"
            f" is not the reason. The remaining reasons are a cuDNN that does not fit the build, the"
            f" installed CUDA or the driver, and other cuDNN files that the loader finds first.",
            [*facts.symptoms("cudnn-handle-failed")[:2], roomy],
            title="cuDNN cannot start, although memory is free",
            confidence="likely",
        )
        return
    if no_cudnn_at_all(case) and not _held_before(case):  # others may have left cuDNN no memory
        yield finding(
            "TensorFlow has no cuDNN for this operation. Look for one of these lines earlier in the log:"
            " `Loaded runtime CuDNN library` (wrong version; the most common cause), `Could not load"
            " library`, or `Could not create cudnn handle` (not enough GPU memory).",
            facts.symptoms("dnn-not-found")[:2],
            title="TensorFlow could not start cuDNN, usually because of a cuDNN version mismatch",
            confidence="likely",
        )
        return
    missing = case.missing("cudnn")
    if not missing or gone(case):
        return
    wanted = cudnn_major(missing[0].name)
    same, others = other_files(case, [missing[0].name])
    known = [c for c in facts.of(CudnnVersion) if wanted and c.rank <= 2]
    have_version = [c for c in known if c.version.split(".")[0] != wanted]
    right = [c for c in known if c.version.split(".")[0] == wanted]
    if same or right or not (others or have_version):
        return
    yield finding(
        f"This build loads {missing[0].name}, which is cuDNN {wanted}, but "
        + (f"cuDNN {have_version[0].version}" if have_version else others[0].name)
        + " is installed."
        + xla_gpu_note(case),
        [missing[0], *have_version[:1], *others[:2]],
        confidence="certain" if others or have_version[0].rank == 0 else "likely",
        tables=table_rows(case, [missing[0].name]),
    )


def _held_before(case: Case) -> bool:
    """Whether the GPU's memory was nearly full before this process allocated any."""
    from doctor.rules.memory.signs import held_before

    return bool(held_before(case))


def compiled_cudnn(case: Case) -> str | None:
    """Return the cuDNN version with which the build in use was compiled; None if the tables do not contain
    it."""
    from doctor import compat

    found = compat.compiled_cudnn(case.build, case.tables) if case.build is not None else None
    return found[0] if found else None


def older_than_compiled(case: Case) -> CudnnVersion | None:
    """Return the cuDNN library that the machine's loader finds, if it is older than the cuDNN version that
    the build was compiled with; else None. Always None for a report. TensorFlow refuses to use an older cuDNN
    (cuda_dnn.cc, "needs to have matching major version and equal or higher minor version")."""
    compiled = compiled_cudnn(case) if case.facts.kind == "machine" else None
    if compiled is None:
        return None
    opened = {lib.path for lib in case.facts.of(LibraryLoaded) if lib.path and "cudnn" in lib.name.lower()}
    for version in case.facts.of(CudnnVersion):
        here = dotted(version.version)
        same = here[:1] == dotted(compiled)[:1] and "." in version.version
        if version.location in opened and same and here[:2] < dotted(compiled)[:2]:
            return version
    return None


def _cudnn_without_kernels(case: Case) -> Finding | None:
    """The finding for a cuDNN that no longer supports the GPU (cuDNN 9.11 dropped Maxwell, Pascal and Volta).
    For a report, None unless the report shows that cuDNN fails."""
    cudnn = case.facts.first(CudnnVersion) if case.facts.kind == "machine" else case.cudnn
    failing = case.facts.symptoms("autotuning-failed", "known-defect", "arch-mismatch", *HANDLE_FAILURES)
    if cudnn is None or (case.facts.kind != "machine" and not failing):
        return None
    dropped = dropped_gpu(case, cudnn)
    if dropped is None:
        return None
    gpu, capability, answer = dropped
    from doctor import compat

    major, cuda = cudnn.version.split(".")[0], wanted_major(case)
    serving = [
        row
        for row in case.tables.cudnns()
        if row.version.split(".")[0] == major
        and (cuda is None or cuda in row.cuda)
        and row.package is not None
        and compat.cudnn_serves_gpu(row.version, (capability,), case.tables, cuda).verdict == "yes"
    ]
    steps: list[Step] = []
    if case.platform == "windows":  # builds for Windows load no library from pip
        steps = list(bring_cudnn(case).steps)
    elif serving:
        newest = max(serving, key=lambda row: (dotted(row.version), max(int(c) for c in row.cuda)))
        pin = f"{newest.package}=={newest.version}"
        steps.append(
            shell(
                commands.pip(case, "install", pin),
                "installs the newest cuDNN in the tables that has kernels for this GPU",
            )
        )
    served = case.facts.kind == "machine" and any(
        compat.cudnn_serves_gpu(cudnn.version, (other,), case.tables, cuda).verdict == "yes"
        for other in case.capabilities
    )
    where = "this machine has" if case.facts.kind == "machine" else "this is"
    return found(
        "cudnn-version-mismatch",
        f"{answer.reason}; {where} a {gpu.name or 'GPU'} of compute capability {capability}, so every"
        f" cuDNN operation will fail on it.",
        [cudnn, gpu, *failing[:2]],
        title="cuDNN has no kernels for this GPU",
        severity="warning" if served else "",
        confidence="certain" if cudnn.rank == MEASURED else "likely",
        tables=answer.rows,
        steps=steps or [manual(f"Install an older cuDNN {major} that still has kernels for this GPU")],
        verify=commands.convolution(case),
    )
