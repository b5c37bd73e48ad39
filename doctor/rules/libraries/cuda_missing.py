"""cuda-missing: the CUDA libraries that the build opens are not on the machine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import FORM, CudnnVersion, LibraryNotLoaded, Noise
from doctor.findings import Finding, manual, shell
from doctor.picture import Picture
from doctor.remedies import commands, cures
from doctor.rules.driver.signs import cuinit
from doctor.rules.libraries.wanted import NO_GPU_SINCE, gone, table_rows, works, xla_gpu_note
from doctor.rules.registry import found, rule
from doctor.tables import dotted


def asked_for(picture: Picture) -> bool:
    """Whether anything shows that a GPU is meant to be used: a device was looked for, a card or a wish is named."""
    facts = picture.facts
    return bool(
        facts.kind == "machine"
        or any(g.rank <= FORM for g in picture.gpus)
        or (picture.cuda is not None and picture.cuda.rank <= FORM)
        or (gone(picture) and not facts.has("cudart-ignore"))
        or len(gone(picture)) > 1
        or facts.has(
            "gpu-skipped",
            "gpu-list-empty",
            "gpu-not-used",
            "gpu-not-found",
            "device-unknown",
            "invalid-ordinal",
            "cuda-libraries-error",
        )
    )


@rule(
    "cuda-missing",
    "The CUDA libraries that this TensorFlow opens are not on this machine",
    explains=("cudnn-missing", *NO_GPU_SINCE),
    needs=(LibraryNotLoaded, "gpu-skipped", "cudart-stub", "cuda-libraries-error"),
)
def cuda_missing(picture: Picture) -> Iterator[Finding]:
    """A CUDA library that this TensorFlow build opens is not on the machine, in any version.

    ## What it means
    The driver is one half; the other half, the CUDA runtime and cuBLAS, cuFFT, cuSOLVER, cuSPARSE, is opened by TensorFlow at its start.
    Without them it skips the GPU.

    ## How it shows
    `Could not load dynamic library 'libcudart.so.…'`; since TensorFlow 2.12 `Could not find cuda drivers on your machine`, which is printed
    when libcudart does not open and says nothing about the driver; `Cannot dlopen some GPU libraries`, which names none.

    ## What to do
    On Linux and WSL2 `pip install 'tensorflow[and-cuda]'` brings them; older releases need the CUDA they were built for. On a machine
    without an NVIDIA GPU the messages are harmless.
    """
    facts = picture.facts
    if works(picture) or facts.absent("nvidia gpu") or facts.has("plugin-device"):
        return
    if facts.has("tensorboard-serving") and not facts.has("gpu-skipped", "gpu-not-used", "gpu-list-empty"):
        return
    missing = gone(picture)
    skipped = facts.symptoms("gpu-skipped")
    stub = facts.symptoms("cudart-stub", "cuda-libraries-error")
    opens = any("cudart" in name for name in picture.loaded)  # from a folder that no toolkit is looked for in
    absent = [a for a in [facts.absent("cuda")] if a and not opens]
    if not (missing or skipped or stub or absent):
        return
    if not missing and (picture.missing("cudnn") or not (skipped or stub or absent)):
        return
    if not missing and [lib for lib in picture.not_loaded if lib.cause == "broken"]:
        return
    names = [lib.name for lib in missing]
    driver_works = cuinit(picture) is None and (
        facts.of(CudnnVersion)
        or picture.driver
        or picture.gpus
        or "libcuda.so.1" in picture.loaded
        or any(n.kind == "numa-node" for n in facts.of(Noise))
    )
    if missing:
        text = (
            f"{', '.join(names[:5])}{' …' if len(names) > 5 else ''} could not be opened, and nothing here shows another CUDA."
            + xla_gpu_note(picture)
        )
    elif skipped:
        which = "the lines above that one say which, and are not shown" if _names_them(picture) else "since 2.12 it does not say which"
        text = (
            f"TensorFlow skipped the GPU because a library did not open; {which}. The driver answers, so it is one of the CUDA libraries or cuDNN."
            if driver_works
            else f"TensorFlow skipped the GPU because a library did not open; {which}. Most often none of NVIDIA's libraries is installed; only cuDNN missing, or a folder that is not searched, look the same."
        )
    else:
        text = (
            '"Could not find cuda drivers" is printed when libcudart does not open; despite its words it says nothing about the driver. Either CUDA\'s libraries are not installed for '
            "this TensorFlow, or there is no driver and no GPU at all, and then the line is harmless. nvidia-smi tells the two apart."
        )
    stranger = _stranger(picture, names)
    cure = cures.libraries_for_build(picture)
    if stranger:  # what follows serves whoever asks; the stated TensorFlow has no use for it
        cure = cure.after(
            manual(
                "First see who asks: the traceback's last file. Where that is not TensorFlow's own, build or reinstall its package for the "
                "TensorFlow that is here; where it is, another release than the stated one is imported (pip list). The next steps are for keeping what asks as it is"
            )
        )
    if not missing:
        cure = cure.after(shell(commands.loading(picture), "names the library that does not open"))
    yield found(
        "cuda-missing",
        text + stranger,
        title="CUDA libraries that are asked for are not on this machine" if stranger else "",
        evidence=[*missing[:5], *skipped[:1], *stub[:1], *absent, *facts.symptoms("xla-gpu-listed")[:1]],
        severity="error" if asked_for(picture) else "warning",
        confidence="certain"
        if missing and skipped
        else "likely"
        if missing or skipped or facts.has("device-unknown", "invalid-ordinal", "gpu-list-empty")
        else "possible",
        tables=table_rows(picture, names),
        steps=cure.steps,
        verify=cure.lists_gpus(picture),
    )


def _stranger(picture: Picture, names: list[str]) -> str:
    """A sentence where the CUDA runtime that is asked for is not the one that the stated release opens."""
    known = picture.tensorflow
    row = picture.tables.tensorflow(known.version.split("+")[0], None, picture.table_platform) if known else None
    own = [name for name in row.libraries if "cudart" in name] if row else []
    asked = [name for name in names if "cudart" in name]
    if known is None or not own or not asked or set(own) & set(asked):
        return ""
    return (
        f" TensorFlow {known.version} opens {own[0]}: what asks for {asked[0]} is another release, or another package in the same "
        "process that was made for one (Horovod, a compiled op)."
    )


def _names_them(picture: Picture) -> bool:
    """Whether the text is of a TensorFlow before 2.12, which names each library that does not open.

    By its version, or by the words in which it speaks of the processor's instructions: 2.12 took the maker's name of oneDNN
    out of them (tensorflow/core/platform/cpu_feature_guard.cc).
    """
    if picture.tensorflow is not None:
        return dotted(picture.tensorflow.version) < (2, 12)
    return any(
        n.kind == "cpu-features" and re.search(r"oneAPI Deep Neural Network|Your CPU supports", n.source.text)
        for n in picture.facts.of(Noise)
    )
