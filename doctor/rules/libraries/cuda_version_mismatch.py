"""cuda-version-mismatch: the installed CUDA release is not the one whose libraries the build loads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import (
    MEASURED,
    PROSE,
    CudaVersion,
    Fact,
    LibraryFile,
    LibraryLoaded,
    LibraryNotLoaded,
    Symptom,
)
from doctor.findings import Finding, manual, shell
from doctor.remedies import commands, cures, installable
from doctor.remedies.cure import Cure
from doctor.remedies.fitness import usable
from doctor.rules.libraries.stated import UNUSED, mismatched_pair, unopened_runtime
from doctor.rules.libraries.toolkit import contains, window
from doctor.rules.libraries.wanted import NO_GPU_SINCE, gone, other_files, table_rows, works, xla_gpu_note
from doctor.rules.registry import found, rule
from doctor.shell import run
from doctor.tables.versions import minor
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.tables import TensorFlowRelease


@rule(
    "cuda-version-mismatch",
    "CUDA is installed, but not the version that this TensorFlow loads",
    explains=("cuda-missing", "cudnn-missing", "library-path", *NO_GPU_SINCE),
    needs=(
        "gpu-library-not-loaded",
        "toolkit-refuses",
        *UNUSED,
        "dll-load-failed",
        "native-runtime-failed",
        "cudart-stub",
    ),
)
def cuda_version_mismatch(case: Case) -> Iterator[Finding]:
    """CUDA is installed, but not in the version that this TensorFlow build loads.

    ## What it means
    A TensorFlow build loads the libraries of one CUDA release by name (`libcudart.so.10.0`). In every other
    release, even a newer one, the libraries have other names, so the build does not find them. The "CUDA
    Version" that nvidia-smi shows is the highest version that the driver supports, not the installed version.

    ## What you see
    `Could not load dynamic library 'libcudart.so.10.0'`, although LD_LIBRARY_PATH, nvcc or the reporter names
    CUDA 10.1, or although some libraries of another release load.

    ## What to do
    Install the CUDA version that the build loads beside the other one (they do not interfere with each
    other), or the TensorFlow release that was built for the installed CUDA.
    """
    refused = case.facts.symptoms("toolkit-refuses")
    if refused:
        yield _compiling(refused)
        return
    missing = [lib for lib in gone(case) if not _asked_by_another(case, lib)]
    if works(case):
        return
    if not missing:
        yield from _stated_pair(case)
        yield from _unopened(case)
        return
    names = [lib.name for lib in missing]
    same, others = other_files(case, names)
    if [f for f in same if f.searched is not False and case.facts.kind == "report"]:
        return
    # all of these libraries are installed, in folders that the loader does not search
    if case.facts.kind == "machine" and {f.name for f in same} >= set(names):
        return
    loaded = [lib for lib in case.facts.of(LibraryLoaded) if case.component(lib.name) == "cuda"]
    reasons: list[Fact] = []
    said = ""
    # the report or the machine shows another version
    for version in sorted(case.facts.of(CudaVersion), key=lambda known: known.rank):
        fits = [contains(case, version.version, n) for n in names]
        if fits and all(f is False for f in fits if f is not None) and any(f is False for f in fits):
            reasons.append(version)
            said = f"CUDA {version.version} is installed"
            break
        if any(f is True for f in fits) and version.rank <= 1:
            break
    # libraries of another release load
    opened = window(case, [lib.name for lib in loaded])
    if opened is not None and not reasons:
        asked = window(case, names)
        if asked is not None and (max(opened[0], asked[0]) > min(opened[1], asked[1])):
            low, high = _printed(opened[0]), _printed(opened[1])
            reasons += loaded[:3]
            said = f"the libraries that load belong to CUDA {low} " + (
                "or later" if opened[1] >= (99,) else f"to {high}"
            )
        elif asked is not None and opened[1] > asked[1] and len(missing) < len(loaded):
            reasons += loaded[:3]
            said = (
                f"most libraries load, but this library does not: CUDA {_printed(asked[1])} is the last"
                " release that contains it, and a later release is installed"
            )
        elif (
            asked is not None
            and opened[1] > asked[1]
            and not any("cudart" in lib.name for lib in loaded)
            and any("cudart" in n for n in names)
            and len(loaded) >= 2
        ):
            reasons += loaded[:3]
            said = (
                "some libraries load, but the CUDA runtime of the same release does not. This happens if a"
                " later release is installed in which some libraries have the same file names"
            )
    if not reasons and others:
        reasons += others[:3]
        said = f"{others[0].name} is on the disk"
    if not reasons:
        return
    wanted = case.wanted_cuda
    first = missing[0]
    strange = case.build is not None and first.name not in case.build.libraries
    if strange:  # use the CUDA releases that contain the file instead of the build's release
        row = case.tables.library(first.name)
        wanted = tuple(dict.fromkeys(v for v in (row.first, row.last) if v)) if row is not None else ()
    need = f" of CUDA {' or '.join(wanted)}" if 0 < len(wanted) <= 3 else " of another CUDA release"
    cure = matching(case)
    if strange and "ImportError" in first.source.text:
        look = shell(
            commands.pip(case, "list"),
            "shows which TensorFlow is installed: the release that the report states loads other libraries",
        )
        cure = cure.after(look)
    yield found(
        "cuda-version-mismatch",
        f"{'The imported TensorFlow' if strange else 'This build'} loads"
        f" {', '.join(names[:4])}{' …' if len(names) > 4 else ''}{need}; {said}." + xla_gpu_note(case),
        [
            *missing[:4],
            *reasons,
            *case.facts.symptoms("gpu-skipped")[:1],
            *case.facts.symptoms("xla-gpu-listed")[:1],
        ],
        confidence="certain" if min(map(_rank, reasons)) < PROSE else "likely",
        tables=table_rows(case, names),
        steps=cure.steps,
        verify=cure.lists_gpus(case),
    )


def _printed(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _compiling(refused: list[Symptom]) -> Finding:
    """The finding for a toolkit that does not support the host's compiler, or the GPU or the program for
    which it compiles code."""
    compiler, old, wanted = (refused[0].get(key) for key in ("compiler", "old", "wanted"))
    if compiler:
        text = "The installed CUDA toolkit does not support the host's compiler, which is too new for it."
        cure = "Compile with an older compiler (nvcc -ccbin, CUDAHOSTCXX), or with a newer toolkit"
    elif old:
        text = f"The installed CUDA toolkit no longer compiles for {old}, an architecture of older GPUs."
        cure = (
            "Remove that architecture from the build's list; if your GPU has this architecture, use an older"
            " toolkit instead"
        )
    else:
        text = (
            f"The build compiles code with CUDA {refused[0].get('have')} for a program that was built with"
            f" CUDA {wanted}."
        )
        cure = (
            f"Compile the code with the toolkit of CUDA {wanted}: install it beside the other toolkit, and"
            " set CUDA_HOME"
        )
    return found(
        "cuda-version-mismatch",
        text,
        refused[:2],
        title="The CUDA toolkit does not fit the compiler, the GPU or the program",
        confidence="likely",
        steps=[manual(cure)],
        verify=run("nvcc", "--version"),
    )


def _rank(reason: Fact) -> int:
    """Return the rank of a reason (lower is more reliable). A file name without a folder ranks only as
    prose."""
    if isinstance(reason, LibraryFile):
        return PROSE if "/" not in reason.path and "\\" not in reason.path else MEASURED
    return getattr(reason, "rank", MEASURED)


def _asked_by_another(case: Case, lib: LibraryNotLoaded) -> bool:
    """Whether something other than the build, such as cuDNN, requests the library, because the library
    belongs to a CUDA major version other than the build's. False if the import itself fails without the
    library, because then the imported build is not the one that the report mentions."""
    if "ImportError" in lib.source.text:
        return False
    row, build = case.tables.library(lib.name), case.build
    if build is None or not build.cuda or row is None or lib.name in build.libraries or not row.first:
        return False
    first, last = (int(version.split(".")[0]) for version in (row.first, row.last or row.first))
    return not first <= int(build.cuda.split(".")[0]) <= last


def _stated_pair(case: Case) -> Iterator[Finding]:
    """The finding for a report that contains no log, but mentions versions of TensorFlow and CUDA that do not
    match."""
    signs = mismatched_pair(case)
    builds, cuda = case.builds, case.cuda
    if not signs or cuda is None:
        return
    cure = matching(case)
    yield found(
        "cuda-version-mismatch",
        f"TensorFlow {builds[-1].version} loads the libraries of CUDA {' or '.join(case.wanted_cuda[:3])},"
        f" but the report names CUDA {cuda.version}. The report has no log that shows what happened.",
        [case.tensorflow, cuda, signs[0]],
        confidence="likely",
        tables=builds[-1:],
        steps=cure.steps,
        verify=cure.lists_gpus(case),
    )


def _unopened(case: Case) -> Iterator[Finding]:
    """The finding for a CUDA runtime that did not open, beside a stated CUDA of another release."""
    signs, builds = unopened_runtime(case)
    cuda = case.cuda
    if not signs or cuda is None or mismatched_pair(case):
        return
    cure = matching(case)
    known = case.build is not None
    which = f"TensorFlow {builds[-1].version}"
    if not known:
        which = f"This TensorFlow (perhaps {builds[0].version}, or {builds[-1].version})"
    wanted = " or ".join(dict.fromkeys(b.cuda for b in builds if b.cuda))
    yield found(
        "cuda-version-mismatch",
        f"The CUDA runtime did not open. {which} loads that of CUDA {wanted}, but the report names CUDA"
        f" {cuda.version}, whose runtime has another file name.",
        [*signs[:2], case.tensorflow, cuda],
        confidence="likely",
        tables=builds[-1:],
        steps=cure.steps,
        verify=cure.lists_gpus(case),
    )


def matching(case: Case) -> Cure:
    """Return the steps that install the CUDA version that the build loads, and the steps that install a
    TensorFlow release for the installed CUDA version; the easier ones come first."""
    cure = cures.libraries_for_build(case)
    fitting = _for_cuda_there(case)
    if fitting is None or cure.version == fitting.version:
        return cure
    wanted = installable.installation(case, fitting, bare=True).requirements
    step = shell(
        commands.pip(case, "install", *wanted),
        f"installs the newest TensorFlow release that was built for the installed CUDA"
        f" {case.cuda.version if case.cuda else ''}".rstrip(),
    )
    if case.environments & {"colab", "kaggle", "slurm"}:  # there, the user cannot choose the CUDA
        return Cure((step, *(replace(s, why=f"or: {s.why}") for s in cure.steps)), fitting.version)
    return cure.then(replace(step, why=f"or {step.why}"))


def _for_cuda_there(case: Case) -> TensorFlowRelease | None:
    """Return the newest TensorFlow release for the installed CUDA version that works with the case's GPUs,
    Python version and driver; None if there is none."""
    if case.cuda is None or "." not in case.cuda.version:
        return None
    there = minor(case.cuda.version)
    major = case.tensorflow.version.split(".")[0] if case.tensorflow else ""
    for build in reversed(case.tables.releases(case.table_platform)):
        if not build.cuda or build.yanked or minor(build.cuda) != there:
            continue
        if build.version.split(".")[0] < major or not usable(case, build):
            continue
        if not installable.on_driver(case, build):
            continue
        if case.python is None or commands.minor(case.python.version) in build.pythons:
            return build
    return None
