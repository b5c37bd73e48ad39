"""cuda-version-mismatch: CUDA is there in another release than the build opens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from doctor.facts import (
    MEASURED,
    PROSE,
    CudaCallFailed,
    CudaVersion,
    DriverMismatch,
    Fact,
    LibraryFile,
    LibraryLoaded,
    LibraryNotLoaded,
)
from doctor.findings import Finding, shell
from doctor.picture import Picture
from doctor.remedies import commands, cures
from doctor.remedies.cures import Cure
from doctor.remedies.fitness import installation, on_driver, usable
from doctor.rules.libraries.stated import UNUSED, mismatched_pair
from doctor.rules.libraries.toolkit import serves, window
from doctor.rules.libraries.wanted import NO_GPU_SINCE, gone, other_files, table_rows, works, xla_gpu_note
from doctor.rules.registry import found, rule

if TYPE_CHECKING:
    from doctor.tables import TensorFlowRelease


def installed_releases(picture: Picture) -> list[CudaVersion]:
    """Every fact that states which CUDA is installed, the best told first."""
    return sorted(picture.facts.of(CudaVersion), key=lambda c: c.rank)


@rule(
    "cuda-version-mismatch",
    "CUDA is installed, but not the version that this TensorFlow opens",
    explains=("cuda-missing", "cudnn-missing", "library-path", *NO_GPU_SINCE),
    needs=(LibraryNotLoaded, "cuda-version-told", "cuda-version-blamed", *UNUSED, "dll-load-failed", "native-runtime-failed"),
)
def cuda_version_mismatch(picture: Picture) -> Iterator[Finding]:
    """CUDA is installed in another version than the one that this TensorFlow build opens.

    ## What it means
    A TensorFlow build opens libraries of one CUDA release by name (`libcudart.so.10.0`). Another release, newer ones included,
    has other names and does not serve. What nvidia-smi shows as "CUDA Version" is what the driver could run, not what is installed.

    ## How it shows
    `Could not load dynamic library 'libcudart.so.10.0'` while LD_LIBRARY_PATH, nvcc or the reporter name CUDA 10.1, or while some
    libraries of another release open.

    ## What to do
    Install the CUDA that the build opens beside the other one (they do not disturb each other), or the TensorFlow release that was
    built for the CUDA that is there.
    """
    missing = [lib for lib in gone(picture) if not _asked_by_another(picture, lib)]
    if works(picture):
        return
    if not missing:
        findings = [*_stated_pair(picture)]
        yield from findings or _told(picture)
        return
    names = [lib.name for lib in missing]
    same, others = other_files(picture, names)
    if [f for f in same if f.searched is not False and picture.facts.kind == "report"]:
        return
    if picture.facts.kind == "machine" and {f.name for f in same} >= set(names):  # all there, out of sight
        return
    loaded = [lib for lib in picture.facts.of(LibraryLoaded) if picture.component(lib.name) == "cuda"]
    reasons: list[Fact] = []
    said = ""
    # another version is stated or shown
    for version in installed_releases(picture):
        fits = [serves(picture, version.version, n) for n in names]
        if fits and all(f is False for f in fits if f is not None) and any(f is False for f in fits):
            reasons.append(version)
            said = f"CUDA {version.version} is there"
            break
        if any(f is True for f in fits) and version.rank <= 1:
            break
    # libraries of another release open
    opened = window(picture, [lib.name for lib in loaded])
    if opened is not None and not reasons:
        asked = window(picture, names)
        if asked is not None and (max(opened[0], asked[0]) > min(opened[1], asked[1])):
            low = ".".join(str(n) for n in opened[0])
            reasons += loaded[:3]
            said = (
                f"the libraries that do open are those of CUDA {low} or later"
                if opened[1] >= (99,)
                else f"the libraries that do open belong to CUDA {low} to {'.'.join(str(n) for n in opened[1])}"
            )
        elif asked is not None and opened[1] > asked[1] and len(missing) < len(loaded):
            reasons += loaded[:3]
            said = (
                "most libraries open and this one does not: it ended with CUDA "
                + ".".join(str(n) for n in asked[1])
                + ", and a later release is installed"
            )
        elif (
            asked is not None
            and opened[1] > asked[1]
            and not any("cudart" in lib.name for lib in loaded)
            and any("cudart" in n for n in names)
            and len(loaded) >= 2
        ):
            reasons += loaded[:3]
            said = "some libraries open and the CUDA runtime of the same release does not, as when a later release with partly equal file names is installed"
    if not reasons and others:
        reasons += others[:3]
        said = f"{others[0].name} is there"
    blamed = picture.facts.symptoms("cuda-version-blamed", "cuda-version-told")
    if not reasons and blamed:
        reasons += blamed[:1]
        said = "the CUDA that is there is said to be of another version"
    if not reasons:
        return
    wanted = picture.wanted_cuda
    first = missing[0]
    strange = picture.build is not None and first.name not in picture.build.libraries
    if strange:  # the table's words for the file instead of the build's
        row = picture.tables.library(first.name)
        wanted = tuple(dict.fromkeys(v for v in (row.first, row.last) if v)) if row is not None else ()
    need = f"CUDA {' or '.join(wanted)}" if 0 < len(wanted) <= 3 else f"the release that holds {first.name}"
    cure = matching(picture)
    if strange and "ImportError" in first.source.text:
        look = shell(
            commands.pip(picture, "list"),
            "which TensorFlow is there: the one that is named here opens other libraries",
        )
        cure = cure.after(look)
    yield found(
        "cuda-version-mismatch",
        f"{'What is imported' if strange else 'This build'} opens {', '.join(names[:4])}{' …' if len(names) > 4 else ''}, which is {need}; {said}."
        + xla_gpu_note(picture),
        [
            *missing[:4],
            *reasons,
            *picture.facts.symptoms("gpu-skipped")[:1],
            *picture.facts.symptoms("xla-gpu-listed")[:1],
        ],
        confidence="certain"
        if reasons != blamed[:1] and min((_rank(r) for r in reasons), default=0) < PROSE
        else "likely",
        tables=table_rows(picture, names),
        steps=cure.steps,
        verify=cure.lists_gpus(picture),
    )


def _rank(reason: Fact) -> int:
    """How well a reason is told; a file without a folder is one that somebody says to have."""
    if isinstance(reason, LibraryFile):
        return PROSE if "/" not in reason.path and "\\" not in reason.path else MEASURED
    return getattr(reason, "rank", MEASURED)


def _asked_by_another(picture: Picture, lib: LibraryNotLoaded) -> bool:
    """Whether a library is of another CUDA major than the build, so that not the build but cuDNN, say, asks for it.

    An import that ends for want of it is another matter: then what is imported is not the build that is named.
    """
    if "ImportError" in lib.source.text:
        return False
    row, build = picture.tables.library(lib.name), picture.build
    if build is None or not build.cuda or row is None or lib.name in build.libraries or not row.first:
        return False
    first, last = (int(version.split(".")[0]) for version in (row.first, row.last or row.first))
    return not first <= int(build.cuda.split(".")[0]) <= last


def _stated_pair(picture: Picture) -> Iterator[Finding]:
    """No log, but a TensorFlow and a CUDA that are named side by side and do not go together."""
    signs = mismatched_pair(picture)
    builds, cuda = picture.builds, picture.cuda
    if not signs or cuda is None:
        return
    cure = matching(picture)
    yield found(
        "cuda-version-mismatch",
        f"TensorFlow {builds[-1].version} opens the libraries of CUDA {' or '.join(picture.wanted_cuda[:3])}, and CUDA {cuda.version} is what is "
        "named here; no log shows what happened.",
        [picture.tensorflow, cuda, signs[0]],
        confidence="likely",
        tables=builds[-1:],
        steps=cure.steps,
        verify=cure.lists_gpus(picture),
    )


def _told(picture: Picture) -> Iterator[Finding]:
    """No log, and somebody says that TensorFlow and the CUDA that is there do not go together, or that another CUDA helped."""
    facts = picture.facts
    outright = facts.symptoms("cuda-version-told")
    told = outright or ([] if facts.of(DriverMismatch) or facts.has("compat-not-supported", "cuda-compat-path") else facts.symptoms("cuda-version-blamed"))
    if facts.kind != "report" or not told or picture.not_loaded or facts.of(CudaCallFailed) or facts.has("own-build"):
        return
    cure = matching(picture)
    yield found(
        "cuda-version-mismatch",
        "The CUDA that was first on the machine is said not to go with this TensorFlow, or another one to have helped.",
        [*told[:2], *facts.symptoms(*UNUSED)[:1]],
        confidence="likely" if outright or facts.has(*UNUSED) else "possible",
        steps=cure.steps,
        verify=cure.lists_gpus(picture),
    )


def matching(picture: Picture) -> Cure:
    """The CUDA that the build opens, or the TensorFlow that fits the CUDA that is there; first what is easier here."""
    cure = cures.libraries_for_build(picture)
    fitting = _for_cuda_there(picture)
    if fitting is None or cure.version == fitting.version:
        return cure
    wanted = installation(picture, fitting, bare=True).requirements
    step = shell(
        commands.pip(picture, "install", *wanted),
        f"the newest TensorFlow that was built for the CUDA {picture.cuda.version if picture.cuda else ''} that is there",
    )
    if picture.environments & {"colab", "kaggle", "slurm"}:  # the CUDA is another's there
        return Cure((step, *(replace(s, why=f"or: {s.why}") for s in cure.steps)), fitting.version)
    return cure.then(replace(step, why=f"or {step.why}"))


def _for_cuda_there(picture: Picture) -> TensorFlowRelease | None:
    """The newest release for the CUDA that is installed, which the GPUs, the Python and the driver of the case can use."""
    if picture.cuda is None or "." not in picture.cuda.version:
        return None
    there = ".".join(picture.cuda.version.split(".")[:2])
    major = picture.tensorflow.version.split(".")[0] if picture.tensorflow else ""
    for build in reversed(picture.tables.releases(picture.table_platform)):
        if not build.gpu or not build.cuda or build.yanked or ".".join(build.cuda.split(".")[:2]) != there:
            continue
        if build.version.split(".")[0] < major or not usable(picture, build) or not on_driver(picture, build):
            continue
        if picture.python is None or commands.minor(picture.python.version) in build.pythons:
            return build
    return None
