"""cudnn-missing: CUDA loads, and cuDNN is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import LibraryLoaded, LibraryNotLoaded
from doctor.findings import Finding
from doctor.picture import Picture
from doctor.rules.libraries.cudnn import bring_cudnn
from doctor.rules.libraries.wanted import NO_GPU_SINCE, gone, table_rows, works, xla_gpu_note
from doctor.rules.registry import found, rule


@rule(
    "cudnn-missing",
    "CUDA loads; cuDNN is not on this machine",
    explains=NO_GPU_SINCE,
    needs=(LibraryNotLoaded, "cudnn-not-opened", "cudnn-said-missing"),
)
def cudnn_missing(picture: Picture) -> Iterator[Finding]:
    """CUDA loads, and cuDNN is not on the machine.

    ## What it means
    cuDNN is a package of its own: the CUDA toolkit does not contain it. TensorFlow skips the GPU without it.

    ## How it shows
    Every CUDA library opens, `libcudnn.so.8` (`cudnn64_8.dll`) alone does not.

    ## What to do
    Install the cuDNN of the major version that the build opens, for the CUDA that is there.
    """
    facts = picture.facts
    missing = picture.missing("cudnn")
    old = facts.symptoms("cudnn-not-opened")
    if works(picture) or gone(picture):
        return
    told = facts.symptoms("cudnn-said-missing") if not picture.not_loaded and not picture.loaded else []
    if not missing and not old and not told:
        return
    main = [lib for lib in missing if not re.search(r"cudnn_", lib.name)] or missing
    cure = bring_cudnn(picture)
    yield found(
        "cudnn-missing",
        (
            f"{main[0].name if main else 'cuDNN'} cannot be opened while the CUDA libraries can; the CUDA toolkit does not bring cuDNN."
            if missing or old
            else "cuDNN is said not to be there; neither the CUDA toolkit nor an nvidia/cuda image without `cudnn` in its tag brings it."
        )
        + xla_gpu_note(picture),
        [*main[:2], *old[:1], *(told[:2] if not missing else []), *facts.of(LibraryLoaded)[:1], *facts.symptoms("gpu-skipped")[:1]],
        confidence="possible" if not (missing or old) else "certain" if picture.loaded or facts.has("gpu-skipped") else "likely",
        tables=table_rows(picture, [m.name for m in main]),
        steps=cure.steps,
        verify=cure.lists_gpus(picture),
    )
