"""The libraries that did not load, the files on disk that have their names, and sentences about them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor.facts import LibraryFile, LibraryNotLoaded
from doctor.rules.gpu.registered import registered

if TYPE_CHECKING:
    from doctor.case import Case

NO_GPU_SINCE = ("device-not-found", "tf-cpu-only", "benign-messages", "xla-toolchain-missing")
"""Codes whose findings are consequences if TensorFlow skips the GPU because a library is missing."""


def xla_gpu_note(case: Case) -> str:
    """A sentence about XLA_GPU devices, if the report lists any."""
    if case.facts.has("xla-gpu-listed") and not registered(case):
        return (
            " The listed XLA_GPU devices do not mean that TensorFlow uses the GPUs: TensorFlow did not"
            " register GPU:0, so ordinary ops run on the CPU."
        )
    return ""


def gone(case: Case) -> list[LibraryNotLoaded]:
    """The CUDA libraries that a GPU device needs and that did not load. Optional libraries, such as CUPTI and
    NCCL, count only if the import itself failed without them, because some builds are linked against them
    (NVIDIA's builds for Jetson boards, for example, against NVTX)."""
    linked = ("cupti", "nvrtc", "npp", "nvtoolsext")
    optional = ("nccl", "nvshmem", *linked)

    def counts(lib: LibraryNotLoaded) -> bool:
        name = lib.name.lower()
        ended = "ImportError" in lib.source.text and any(word in name for word in ("nccl", *linked))
        return ended or not any(word in name for word in optional)

    return [lib for lib in case.missing("cuda") if counts(lib)]


def other_files(case: Case, names: list[str]) -> tuple[list[LibraryFile], list[LibraryFile]]:
    """Return the files on disk that can be loaded, as two lists: files with the requested names, and the same
    libraries in other versions."""
    wanted = {n.lower() for n in names}
    files = [f for f in case.facts.of(LibraryFile) if not f.problem]
    stems = {re.split(r"\.so|64_|\.dll", n.lower())[0] for n in names}
    same = [f for f in files if _soname(f, wanted)]
    others = [
        f
        for f in files
        if f not in same
        and re.split(r"\.so|64_|\.dll", f.name.lower())[0] in stems
        and re.search(r"\.so\.\d|64_\d", f.name)
    ]
    return same, others


def unusable_files(case: Case, names: list[str]) -> list[LibraryFile]:
    """The files with the requested names that cannot be loaded, except for names that an intact file also
    provides."""
    sound, _ = other_files(case, names)
    lacking = {n.lower() for n in names if not any(_soname(f, {n.lower()}) for f in sound)}
    return [f for f in case.facts.of(LibraryFile) if f.problem and _soname(f, lacking)]


def _soname(file: LibraryFile, wanted: set[str]) -> bool:
    """Whether a file provides one of these names: libcudnn.so.7.6.5 also provides libcudnn.so.7."""
    name = file.name.lower()
    return name in wanted or any(name.startswith(w + ".") for w in wanted)


def works(case: Case) -> bool:
    """Whether a GPU is registered and no import failed because of a missing library. If one failed, the
    report shows two runs."""
    return registered(case) and not any(
        re.search(r"ImportError|TensorFlow requires that this DLL", lib.source.text)
        for lib in case.not_loaded
    )


def only_cudnn_absent(case: Case) -> bool:
    """Whether TensorFlow skipped the GPU, and the report mentions CUDA but says that cuDNN is missing."""
    return bool(case.facts.has("gpu-skipped") and case.cuda and case.stated_absent("cudnn"))


def table_rows(case: Case, names: list[str]) -> list[object]:
    """The table rows that a finding about these libraries cites: the rows of the first two names and of the
    build."""
    rows: list[object] = [case.tables.library(n) for n in names[:2]]
    rows += list(case.builds[-1:])
    return [r for r in rows if r is not None]
