"""cudnn-missing: CUDA loads, but cuDNN is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import LibraryLoaded
from doctor.findings import Finding
from doctor.rules.libraries.cudnn import bring_cudnn, never_opened
from doctor.rules.libraries.wanted import (
    NO_GPU_SINCE,
    gone,
    only_cudnn_absent,
    table_rows,
    works,
    xla_gpu_note,
)
from doctor.rules.registry import found, rule

if TYPE_CHECKING:
    from doctor.case import Case


@rule(
    "cudnn-missing",
    "CUDA loads, but cuDNN is not on this machine",
    explains=NO_GPU_SINCE,
    needs=(
        "gpu-library-not-loaded",
        "toolkit-part-missing",
        "cudnn-not-opened",
        "cudnn-symbol-missing",
        "stated-absent",
    ),
)
def cudnn_missing(case: Case) -> Iterator[Finding]:
    """CUDA loads, but cuDNN is not on the machine.

    ## What it means
    cuDNN is a separate package: the CUDA toolkit does not contain it. Without cuDNN, TensorFlow skips the
    GPU.

    ## What you see
    Every CUDA library loads; only `libcudnn.so.8` (`cudnn64_8.dll`) does not.

    ## What to do
    Install a cuDNN for the installed CUDA, with the major version that the build loads.
    """
    facts = case.facts
    if facts.has("toolkit-part-missing"):
        from doctor.rules.libraries.building import building

        yield from building(case, "cudnn-missing")
    missing = case.missing("cudnn")
    unopened = never_opened(case)
    old = [*facts.symptoms("cudnn-not-opened"), *unopened]
    if (works(case) and not unopened) or gone(case):
        return
    if not (missing or old) and only_cudnn_absent(case):
        cure = bring_cudnn(case)
        yield found(
            "cudnn-missing",
            "TensorFlow skipped the GPU because a library did not load. The report mentions CUDA but says"
            " that cuDNN is not installed, and the CUDA toolkit does not contain it.",
            [*case.stated_absent("cudnn")[:1], *facts.symptoms("gpu-skipped")[:1]],
            title="cuDNN is not installed",
            confidence="likely",
            tables=table_rows(case, []),
            steps=cure.steps,
            verify=cure.lists_gpus(case),
        )
    if not missing and not old:
        return
    main = [lib for lib in missing if "cudnn_" not in lib.name] or missing
    cure = bring_cudnn(case)
    cuda = any(case.component(name) == "cuda" for name in case.loaded)
    name = main[0].name if main else "cuDNN"
    yield found(
        "cudnn-missing",
        f"{name} cannot be loaded{' although the CUDA libraries can' if cuda else ''}; the CUDA toolkit does"
        f" not contain cuDNN.{xla_gpu_note(case)}",
        [*main[:2], *old[:1], *facts.of(LibraryLoaded)[:1], *facts.symptoms("gpu-skipped")[:1]],
        title="" if cuda else "cuDNN is missing, or the loader does not find it",
        confidence="certain" if case.loaded or facts.has("gpu-skipped") else "likely",
        tables=table_rows(case, [m.name for m in main]),
        steps=cure.steps,
        verify=cure.lists_gpus(case),
    )
