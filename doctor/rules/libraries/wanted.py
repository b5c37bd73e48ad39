"""The libraries that did not open, the files of their names on disk, and what is said of them."""

from __future__ import annotations

import re

from doctor.facts import LibraryFile, LibraryNotLoaded
from doctor.picture import Picture
from doctor.rules.gpu.registered import registered

NO_GPU_SINCE = ("device-not-found", "tf-cpu-only", "benign-messages", "xla-toolchain-missing")
"""Codes whose findings follow where TensorFlow skips the GPU for want of a library."""


def xla_gpu_note(picture: Picture) -> str:
    """What XLA_GPU devices in the text mean, where there are any."""
    if picture.facts.has("xla-gpu-listed") and not registered(picture):
        return (
            " The XLA_GPU devices that are listed do not mean that the GPUs are used: TensorFlow skipped registering "
            "GPU:0, and ordinary ops run on the CPU."
        )
    return ""


def gone(picture: Picture) -> list[LibraryNotLoaded]:
    """CUDA libraries that a GPU device needs and that did not open; not CUPTI, NCCL and the like.

    Those of the toolkit count where the import itself ended for want of them: the build is linked to them, as NVIDIA's
    builds for its Jetson boards are to NVTX.
    """
    linked = ("cupti", "nvrtc", "npp", "nvtoolsext")
    optional = ("nccl", "nvshmem", *linked)

    def counts(lib: LibraryNotLoaded) -> bool:
        name = lib.name.lower()
        ended = "ImportError" in lib.source.text and any(word in name for word in linked)
        return ended or not any(word in name for word in optional)

    return [lib for lib in picture.missing("cuda") if counts(lib)]


def other_files(picture: Picture, names: list[str]) -> tuple[list[LibraryFile], list[LibraryFile]]:
    """Files on disk that can be loaded: those of the wanted names, and of the same libraries in other
    versions."""
    wanted = {n.lower() for n in names}
    files = [f for f in picture.facts.of(LibraryFile) if not f.problem]
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


def unusable_files(picture: Picture, names: list[str]) -> list[LibraryFile]:
    """Files of the wanted names that would not load, of those names that no sound file on disk has."""
    sound, _ = other_files(picture, names)
    lacking = {n.lower() for n in names if not any(_soname(f, {n.lower()}) for f in sound)}
    return [f for f in picture.facts.of(LibraryFile) if f.problem and _soname(f, lacking)]


def _soname(file: LibraryFile, wanted: set[str]) -> bool:
    """libcudnn.so.7.6.5 stands for libcudnn.so.7 as well."""
    name = file.name.lower()
    return name in wanted or any(name.startswith(w + ".") for w in wanted)


def works(picture: Picture) -> bool:
    """Whether a GPU is registered, and no import ended for want of a library: such a text shows two runs, and one fault."""
    return registered(picture) and not any(
        re.search(r"ImportError|TensorFlow requires that this DLL", lib.source.text) for lib in picture.not_loaded
    )


def table_rows(picture: Picture, names: list[str]) -> list[object]:
    """The table rows that a finding about these libraries rests on: of the first two names, and of the build."""
    rows: list[object] = [picture.tables.library(n) for n in names[:2]]
    rows += list(picture.builds[-1:])
    return [r for r in rows if r is not None]
