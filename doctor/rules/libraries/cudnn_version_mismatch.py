"""cudnn-version-mismatch: cuDNN is there in a version that the build or the GPU cannot use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import MEASURED, CudaCallFailed, CudnnMismatch, CudnnVersion, LibraryLoaded, LibraryNotLoaded
from doctor.findings import Finding, Step, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands, cures
from doctor.rules.libraries.cudnn import bring_cudnn, cudnn_major, dropped_gpu, wanted_major
from doctor.rules.libraries.wanted import NO_GPU_SINCE, gone, other_files, table_rows, xla_gpu_note
from doctor.rules.memory.signs import HANDLE_FAILURES, handle_signs, roomy_handle
from doctor.rules.registry import found, rule
from doctor.rules.tensorflow.release import likely_build
from doctor.tables import dotted

if TYPE_CHECKING:
    pass


@rule(
    "cudnn-version-mismatch",
    "cuDNN is there in a version that this TensorFlow cannot use",
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
    needs=(CudaCallFailed, CudnnMismatch, LibraryNotLoaded, CudnnVersion, "cudnn-version-blamed", "cudnn-version-told", "cudnn-symbol-missing", "handle-memory", "autotuning-failed", *HANDLE_FAILURES),
)
def cudnn_version_mismatch(picture: Picture) -> Iterator[Finding]:
    """cuDNN is there in a version that this TensorFlow build, or this CUDA, cannot use.

    ## What it means
    A build needs the major version of cuDNN that it was compiled with, in the same or a higher minor version. cuDNN in turn is made for
    one CUDA major: a cuDNN for CUDA 12 looks for CUDA 12's libraries; and each has kernels for some GPUs only: from 9.11 on for Turing and later.

    ## How it shows
    `Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.6.0`; `libcudnn.so.7` wanted and cuDNN 8 installed; cuDNN's own
    `Could not load library libcublasLt.so.12`; `Could not create cudnn handle` with most of the memory free (`Memory usage: … bytes free`). Failing
    convolution algorithms and `DNN library is not found` follow from it.

    ## What to do
    Install the cuDNN that the build asks for, and look for a second, older one that is found first.
    """
    facts = picture.facts
    stated = facts.of(CudnnMismatch)
    build = likely_build(picture)
    steps = cures.Later(bring_cudnn, picture)
    verify = steps.convolves
    if stated:
        first = stated[0]
        yield found(
            "cudnn-version-mismatch",
            f"TensorFlow itself says that it loaded cuDNN {first.loaded} and was compiled with {first.compiled}. It needs the same major and an equal "
            "or higher minor version; everything that fails afterwards in cuDNN follows from that.",
            [*stated[:2], *facts.symptoms("dnn-not-found", "conv-algorithm-failed")[:1]],
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    older = older_than_compiled(picture)
    if older is not None:
        yield found(
            "cudnn-version-mismatch",
            f"This build was compiled with cuDNN {compiled_cudnn(picture)} and the one that is found first is {older.version}; it needs the "
            "same major and an equal or higher minor version.",
            [older, picture.tensorflow],
            confidence="likely",
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    unserved = _cudnn_without_kernels(picture)
    if unserved is not None:
        yield unserved
        return
    lacking = facts.symptoms("cudnn-symbol-missing")
    if lacking:
        yield found(
            "cudnn-version-mismatch",
            f"The cuDNN that was loaded has no function {lacking[0].get('symbol') or lacking[0].get('s2')}, which this TensorFlow calls: it is of "
            "another version than the one the build was made for.",
            lacking[:2],
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    foreign = [
        lib
        for lib in facts.of(LibraryNotLoaded)
        if re.match(r"libcublas(?:lt)?\.so\.\d+|libnvrtc\.so\.\d+", lib.name.lower())
        and ("could not load library" in lib.source.text.lower() or "unable to load library" in lib.source.text.lower())
    ]
    if foreign and (picture.cuda or picture.wanted_cuda):
        major = re.search(r"\.so\.(\d+)", foreign[0].name)
        have = (picture.cuda.version if picture.cuda else picture.wanted_cuda[0]).split(".")[0]
        if major and major[1] != have:
            yield found(
                "cudnn-version-mismatch",
                f"cuDNN itself looks for {foreign[0].name}: it was made for CUDA {major[1]}, and here is CUDA {have}.",
                [foreign[0], picture.cuda, picture.tensorflow],
                confidence="likely",
                tables=[build] if build else [],
                steps=steps,
                verify=verify,
            )
            return
    roomy = roomy_handle(picture)
    if roomy is not None:
        free, total = (int(roomy.get(key) or 0) / 2**30 for key in ("free", "total"))
        yield found(
            "cudnn-version-mismatch",
            f"cuDNN could not start although {free:.1f} of the GPU's {total:.1f} GiB were free, so memory is not the reason. What is left is a cuDNN"
            " that does not fit: the build, the CUDA beside it, the driver, or other files of cuDNN that are found first.",
            [*facts.symptoms("cudnn-handle-failed")[:2], roomy],
            title="cuDNN cannot start, and not for want of memory",
            confidence="likely",
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    missing = picture.missing("cudnn")
    outright = facts.symptoms("cudnn-version-told")
    blamed = [*outright, *facts.symptoms("cudnn-version-blamed")]
    failing = [*handle_signs(picture), *missing[:1]]
    if blamed and not gone(picture) and not stated and (failing or outright or blamed[0].get("one") or facts.kind == "report"):
        yield found(
            "cudnn-version-mismatch",
            "The cuDNN that was first on the machine is said not to suit, or another one is said to have helped.",
            [*blamed[:2], *failing[:1]],
            confidence="likely" if failing or outright else "possible",
            tables=[build] if build else [],
            steps=steps,
            verify=verify,
        )
        return
    if not missing or gone(picture):
        return
    wanted = cudnn_major(missing[0].name)
    same, others = other_files(picture, [missing[0].name])
    have_version = [c for c in facts.of(CudnnVersion) if wanted and c.version.split(".")[0] != wanted and c.rank <= 2]
    right = [c for c in facts.of(CudnnVersion) if wanted and c.version.split(".")[0] == wanted and c.rank <= 2]
    if same or right or not (others or have_version):
        return
    yield found(
        "cudnn-version-mismatch",
        f"This build opens {missing[0].name}, which is cuDNN {wanted}; here is "
        + (f"cuDNN {have_version[0].version}" if have_version else others[0].name)
        + "."
        + xla_gpu_note(picture),
        [missing[0], *have_version[:1], *others[:2]],
        confidence="certain" if others or have_version[0].rank == 0 else "likely",
        tables=table_rows(picture, [missing[0].name]),
        steps=steps,
        verify=verify,
    )


def compiled_cudnn(picture: Picture) -> str | None:
    """The cuDNN that the build in use was compiled with, as far as the tables say."""
    from doctor import compat

    found = compat.compiled_cudnn(picture.build, picture.tables) if picture.build is not None else None
    return found[0] if found else None


def older_than_compiled(picture: Picture) -> CudnnVersion | None:
    """On a machine: the cuDNN that would be opened, where it is older than the compiled one (TensorFlow then
    refuses
    to use it: cuda_dnn.cc, "needs to have matching major version and equal or higher minor version")."""
    compiled = compiled_cudnn(picture)
    if picture.facts.kind != "machine" or compiled is None:
        return None
    opened = {lib.path for lib in picture.facts.of(LibraryLoaded) if lib.path and "cudnn" in lib.name.lower()}
    for version in picture.facts.of(CudnnVersion):
        here = dotted(version.version)
        same = here[:1] == dotted(compiled)[:1] and "." in version.version
        if version.location in opened and same and here[:2] < dotted(compiled)[:2]:
            return version
    return None


def _cudnn_without_kernels(picture: Picture) -> Finding | None:
    """A cuDNN that has dropped the GPU, as 9.11 dropped Maxwell, Pascal and Volta: on a machine, or where a report shows it failing."""
    cudnn = picture.facts.first(CudnnVersion) if picture.facts.kind == "machine" else picture.cudnn
    failing = picture.facts.symptoms("autotuning-failed", "known-defect", "arch-mismatch", *HANDLE_FAILURES)
    if cudnn is None or (picture.facts.kind != "machine" and not failing):
        return None
    dropped = dropped_gpu(picture, cudnn)
    if dropped is None:
        return None
    gpu, capability, answer = dropped
    from doctor import compat

    major, cuda = cudnn.version.split(".")[0], wanted_major(picture)
    serving = [
        row
        for row in picture.tables.cudnns()
        if row.version.split(".")[0] == major
        and (cuda is None or cuda in row.cuda)
        and row.package is not None
        and compat.cudnn_serves_gpu(row.version, (capability,), picture.tables, cuda).verdict == "yes"
    ]
    steps: list[Step] = []
    if picture.platform == "windows":  # its builds open no library of pip's
        steps = list(bring_cudnn(picture).steps)
    elif serving:
        newest = max(serving, key=lambda row: (dotted(row.version), max(int(c) for c in row.cuda)))
        pin = f"{newest.package}=={newest.version}"
        steps.append(
            shell(
                commands.pip(picture, "install", pin),
                "the newest cuDNN in the tables with kernels for this GPU",
            )
        )
    where = "this machine has" if picture.facts.kind == "machine" else "this is"
    return found(
        "cudnn-version-mismatch",
        f"{answer.reason}; {where} a {gpu.name or 'GPU'} of compute capability {capability}, and every operation of cuDNN will fail on it.",
        [cudnn, gpu, *failing[:2]],
        title="cuDNN has no kernels for this GPU",
        confidence="certain" if cudnn.rank == MEASURED else "likely",
        tables=answer.rows,
        steps=steps or [manual(f"Install an older cuDNN {major} that still has kernels for this GPU")],
        verify=commands.convolution(picture),
    )
