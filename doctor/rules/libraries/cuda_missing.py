"""cuda-missing: the CUDA libraries that the build loads are not on the machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import FORM, CudaCallFailed, Fact, LibraryLoaded, Noise
from doctor.findings import Finding, manual, shell
from doctor.remedies import commands, cures
from doctor.rules.driver.first_call import cuinit
from doctor.rules.libraries.wanted import (
    NO_GPU_SINCE,
    gone,
    only_cudnn_absent,
    table_rows,
    works,
    xla_gpu_note,
)
from doctor.rules.registry import found, rule
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case


def asked_for(case: Case) -> bool:
    """Whether anything shows that the user wants a GPU, such as a search for a device or a GPU's name."""
    facts = case.facts
    return bool(
        facts.kind == "machine"
        or any(g.rank <= FORM for g in case.gpus)
        or (case.cuda is not None and case.cuda.rank <= FORM)
        or (gone(case) and not facts.has("cudart-ignore"))
        or len(gone(case)) > 1
        or facts.has(
            "gpu-skipped",
            "gpu-list-empty",
            "gpu-not-used",
            "gpu-not-found",
            "device-unknown",
            "invalid-ordinal",
            "cuda-libraries-error",
        )
        or any(s.get("call") for s in facts.symptoms("cudart-stub"))
    )


@rule(
    "cuda-missing",
    "The CUDA libraries that this TensorFlow loads are not on this machine",
    explains=("cudnn-missing", *NO_GPU_SINCE),
    needs=(
        "gpu-library-not-loaded",
        "toolkit-part-missing",
        "gpu-skipped",
        "cudart-stub",
        "cuda-libraries-error",
        "xla-gpu-listed",
    ),
)
def cuda_missing(case: Case) -> Iterator[Finding]:
    """A CUDA library that this TensorFlow build loads is not on the machine, in any version.

    ## What it means
    The driver alone is not enough: when TensorFlow starts, it also loads the CUDA runtime, cuBLAS, cuFFT,
    cuSOLVER and cuSPARSE. Without these libraries, it skips the GPU.

    ## What you see
    `Could not load dynamic library 'libcudart.so.…'`; since TensorFlow 2.12, `Could not find cuda drivers on
    your machine`, which TensorFlow prints if it cannot load libcudart and which says nothing about the
    driver; `Cannot dlopen some GPU libraries`, which does not say which library is missing;
    `cudaGetErrorString symbol not found`, if libcudart did not load.

    ## What to do
    On Linux and WSL2, `pip install 'tensorflow[and-cuda]'` installs the libraries; older releases need the
    CUDA version that they were built for. On a machine without an NVIDIA GPU, the messages are harmless.
    """
    facts = case.facts
    if facts.has("toolkit-part-missing"):
        from doctor.rules.libraries.building import building

        yield from building(case, "cuda-missing")
    if works(case) or facts.absent("nvidia gpu") or facts.has("plugin-device"):
        return
    if facts.has("tensorboard-serving") and not facts.has("gpu-skipped", "gpu-not-used", "gpu-list-empty"):
        return
    if case.stated_absent("gpu") and not asked_for(case):
        return  # the reporter has no GPU, and the message says that it can then be ignored
    missing = gone(case)
    skipped = facts.symptoms("gpu-skipped")
    stub = facts.symptoms("cudart-stub", "cuda-libraries-error")
    # a CUDA runtime that loads is installed, even if no search for a toolkit covers its folder
    opens = any("cudart" in name for name in case.loaded)
    absent = None if opens else facts.absent("cuda")
    # if the code requests a device that does not exist, device-not-found reports this as well
    named = facts.has("device-unknown", "device-unmet", "colocation-failed", "no-gpu-kernel")
    elsewhere = named or case.loaded or facts.of(CudaCallFailed)
    only_xla = [] if elsewhere else facts.symptoms("xla-gpu-listed")
    if not (missing or skipped or stub or absent or only_xla):
        return
    broken = any(lib.cause == "broken" for lib in case.not_loaded)
    if not missing and (broken or case.missing("cudnn") or only_cudnn_absent(case)):
        return
    names = [lib.name for lib in missing]
    # TensorFlow writes the line about NUMA nodes for a device that the driver lists
    answers: list[Fact] = [
        *(n for n in facts.of(Noise) if n.kind == "numa-node"),
        *(lib for lib in facts.of(LibraryLoaded) if lib.name == "libcuda.so.1"),
        *facts.symptoms("smi-works"),
    ]
    driver_works = answers[:1] if cuinit(case) is None else []
    if missing:
        text = (
            f"{', '.join(names[:5])}{' …' if len(names) > 5 else ''} could not be loaded"
            + (", and nothing here shows another CUDA version." if case.cuda is None else ".")
            + xla_gpu_note(case)
        )
    elif skipped:
        which = (
            "the lines before the message, which the report does not contain, name the library"
            if _names_them(case)
            else "since TensorFlow 2.12, the message does not name the library"
        )
        text = f"TensorFlow skipped the GPU because a library did not load; {which}. " + (
            "The driver answers, so the library belongs to CUDA or is cuDNN."
            if driver_works
            else "Most often, none of NVIDIA's libraries is installed; a missing cuDNN, or a folder that the"
            " loader does not search, causes the same message."
        )
    elif only_xla and not (stub or absent):
        text = (
            "The device XLA_GPU is listed, but GPU is not: the driver finds the GPU, but TensorFlow (1.14 to"
            " 2.3) skipped it, usually because a CUDA library that TensorFlow loads is missing or has another"
            " version."
        )
    elif (call := next((s.get("call") for s in stub if s.get("call")), "")) and not absent:
        text = (
            f"{call}() failed because libcudart, the CUDA runtime, did not open: TensorFlow then answers each"
            " of its calls with this message. The CUDA version that this TensorFlow loads is not installed,"
            " or not in a folder that the loader searches."
        )
    else:
        text = (
            "TensorFlow prints 'Could not find cuda drivers' if libcudart does not load; although the line"
            " mentions drivers, it says nothing about the driver. Either the CUDA libraries that this"
            " TensorFlow needs are not installed, or there is no driver and no GPU, and the line is harmless."
            " nvidia-smi shows which of the two is true."
        )
    stranger = _other_runtime(case, names)
    cure = cures.libraries_for_build(case)
    if stranger:  # another package loads the library, not the stated TensorFlow: first find that package
        cure = cure.after(
            manual(
                "First find the file that loads the library: it is the last file in the traceback. If it does"
                " not belong to TensorFlow, rebuild or reinstall its package for this TensorFlow release."
                " If it does, the program imports a release other than the stated one (see pip list). Run the"
                " next steps only if you keep the package as it is"
            )
        )
    if not missing:
        cure = cure.after(shell(commands.loading(case), "prints the name of the library that does not load"))
    yield found(
        "cuda-missing",
        text + stranger,
        title="The requested CUDA libraries are not on this machine" if stranger else "",
        evidence=[
            *missing[:5],
            *skipped[:1],
            *(driver_works if skipped and not missing else []),
            *stub[:1],
            absent,
            *facts.symptoms("xla-gpu-listed")[:1],
        ],
        severity="error" if asked_for(case) else "warning",
        confidence=(
            "certain"
            if missing and skipped
            else "likely"
            if missing
            or skipped
            or any(s.get("call") for s in stub)
            or facts.has("device-unknown", "invalid-ordinal", "gpu-list-empty", "gpu-op-without-gpu")
            else "possible"
        ),
        tables=table_rows(case, names),
        steps=cure.steps,
        verify=cure.lists_gpus(case),
    )


def _other_runtime(case: Case, names: list[str]) -> str:
    """A sentence about a requested CUDA runtime that the stated TensorFlow release does not load; "" if there
    is none."""
    known = case.tensorflow
    row = case.tables.tensorflow(known.version.split("+")[0], None, case.table_platform) if known else None
    own = [name for name in row.libraries if "cudart" in name] if row else []
    asked = [name for name in names if "cudart" in name]
    if known is None or not own or not asked or set(own) & set(asked):
        return ""
    return (
        f" TensorFlow {known.version} loads {own[0]}. So {asked[0]} is requested by another TensorFlow"
        " release, or by a package in the same process that was built for another release (Horovod, a"
        " compiled op)."
    )


def _names_them(case: Case) -> bool:
    """Whether the log comes from a TensorFlow release before 2.12, which prints the name of each library that
    does not load. This is known from the version, or from the message about the processor's instructions:
    2.12 removed oneDNN's full name from it (tensorflow/core/platform/cpu_feature_guard.cc)."""
    if case.tensorflow is not None:
        return dotted(case.tensorflow.version) < (2, 12)
    return any(
        n.kind == "cpu-features" and re.search(r"oneAPI Deep Neural Network|Your CPU supports", n.source.text)
        for n in case.facts.of(Noise)
    )
