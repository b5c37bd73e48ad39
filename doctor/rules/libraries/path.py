"""library-path: the libraries are installed where the loader does not look."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.facts import (
    FORM,
    PROSE,
    CudaCallFailed,
    CudaVersion,
    CudnnVersion,
    Fact,
    LibraryLoaded,
    LibraryNotLoaded,
    Package,
)
from doctor.findings import Finding, Step, shell
from doctor.picture import Picture
from doctor.remedies import commands, libraries, starts
from doctor.rules.driver.signs import cuinit
from doctor.rules.libraries.cudnn import cudnn_major
from doctor.rules.libraries.loader_steps import named_to_the_loader, search_steps
from doctor.rules.libraries.stated import blamed_path, mismatched_pair
from doctor.rules.libraries.toolkit import serves
from doctor.rules.libraries.wanted import NO_GPU_SINCE, gone, other_files, table_rows, works
from doctor.rules.registry import found, rule
from doctor.tables import dotted


def mentions_path(picture: Picture) -> list[Fact]:
    """Signs that the libraries are installed and only not searched: another tool than the shell, a working terminal."""
    facts = picture.facts
    return [*facts.symptoms("works-in-terminal"), *facts.symptoms("environment-pycharm")]


@rule(
    "library-path",
    "The libraries are installed, but the loader does not look where they are",
    explains=("cuda-missing", "cudnn-missing", *NO_GPU_SINCE),
    needs=(LibraryNotLoaded, "path-cure-told", "gpu-skipped", "cudart-stub", "gpu-list-empty", "gpu-not-used", "cuda-stub-on-path", "start-would-serve"),
)
def library_path(picture: Picture) -> Iterator[Finding]:
    """The right libraries are installed, and the loader does not search their folder.

    ## What it means
    The loader looks into LD_LIBRARY_PATH, ld.so.cache and the folders that TensorFlow's own library names (RUNPATH); Windows into PATH.
    A toolkit elsewhere, a conda environment that is not activated, an IDE or service with another environment, or a release whose RUNPATH
    leaves out pip's `nvidia/*/lib` (TensorFlow 2.16.1, 2.21.0) are not seen.

    ## How it shows
    The file is on disk under the very name that cannot be opened; it works in a terminal and not in the IDE; TensorFlow 2.16.1 installed
    with `[and-cuda]` says `Cannot dlopen some GPU libraries`.

    ## What to do
    Name the folder: LD_LIBRARY_PATH or `ldconfig` on Linux, PATH on Windows, activation for conda; or take a release that finds pip's
    libraries by itself.
    """
    facts = picture.facts
    if works(picture):
        return
    missing = gone(picture) or picture.missing("cudnn")
    names = [lib.name for lib in missing]
    same, _ = other_files(picture, names)
    build = picture.build
    verify = commands.list_gpus(picture)
    served = facts.symptoms("start-would-serve")
    if served and missing:
        start = served[0]
        yield found(
            "library-path",
            f"The libraries are on this machine, and {start.get('of')} does not search their folders. "
            f"In {start.get('name')} they are found: {start.get('file')} sets the loader's path there.",
            [*missing[:3], start],
            tables=table_rows(picture, names),
            steps=starts.enter(start),
            verify=verify,
        )
        return
    missed = build.pip_libraries_missed if build is not None else None
    asked = facts.has("gpu-list-empty", "gpu-not-used") and not facts.of(CudaCallFailed) and not facts.has("built-without-cuda")
    if (
        missed
        and build is not None
        and (facts.has("gpu-skipped") or asked or any(n in missed for n in names))
        and (not picture.container or facts.has("and-cuda-installed"))
        # on a machine it is known whether pip's libraries are there, and whether anything else fails
        and (facts.kind == "report" or ({f.name for f in same} >= set(names) and set(names) <= set(missed)))
    ):
        pip_cuda = any(p.name.startswith("nvidia-") for p in facts.of(Package))
        stated = facts.has("and-cuda-installed") or pip_cuda
        # what fails is what RUNPATH leaves out, all of it and nothing else; a single library is missing for itself
        exactly = not names or {
            lib.name for lib in picture.not_loaded if picture.component(lib.name) != "driver"
        } >= set(missed)
        # "Could not find cuda drivers" is printed where libcudart did not open, and pip's folder of it is searched
        unsaid = facts.kind == "report" and dotted(build.version) < (2, 21) and not facts.has("cudart-stub")
        if exactly and (stated or unsaid):
            yield found(
                "library-path",
                f"TensorFlow {build.version} does not look into pip's folders of {', '.join(missed[:4])}, so `[and-cuda]` alone does not serve it.",
                [
                    *facts.symptoms("gpu-skipped", "gpu-list-empty", "gpu-not-used")[:2],
                    *missing[:3],
                    picture.tensorflow,
                ],
                confidence="likely" if not stated else "certain",
                tables=[build],
                steps=[*_next_patch(picture), *libraries.links(picture, build)],
                verify=verify,
            )
            return
    stubs: list[Fact] = []
    if facts.absent("libcuda") is None:  # with no other libcuda than the stub it is the driver that lacks
        stubs += facts.symptoms("cuda-stub-on-path")
    answered = cuinit(picture, "CUDA_ERROR_STUB_LIBRARY")
    if answered is not None and not picture.container and facts.absent("libcuda") is None:
        stubs += [answered, *facts.symptoms("stub-library")[:1]]
    if stubs:
        yield found(
            "library-path",
            "The libcuda that is found first is the toolkit's stub, which serves for linking only and fails every call.",
            stubs[:3],
            steps=[
                shell(
                    commands.loader_path_without("stubs"),
                    "takes the stubs folder off the loader's path, so that the driver's libcuda is found",
                    platform="linux",
                )
            ],
            verify=verify,
        )
        return
    blamed = blamed_path(picture)
    if blamed and not missing and not mismatched_pair(picture):
        yield found(
            "library-path",
            "A DLL did not load, and what is said to be wrong, or to have helped, is the folder of CUDA's or cuDNN's DLLs on PATH.",
            [*facts.symptoms("dll-load-failed")[:1], *blamed[:2]],
            confidence="likely",
            steps=search_steps(picture),
            verify=verify,
        )
        return
    errors = missing or facts.symptoms("gpu-skipped")
    if not errors:
        yield from _told(picture)
        return
    if same:
        folders = _folders(picture, [lib.name for lib in (*missing, *picture.missing("cudnn"))])
        yield found(
            "library-path",
            f"{same[0].name} is on disk in {folders[0]}, and the loader of this process does not look there.",
            [*missing[:3], *same[:3]],
            tables=table_rows(picture, names),
            steps=named_to_the_loader(picture, folders),
            verify=verify,
        )
        return
    if facts.kind == "machine" and not facts.has("works-in-terminal"):
        return  # the disk was searched: what was not found is not there
    hints = mentions_path(picture)
    versions = [v for v in facts.of(CudaVersion) if v.rank <= FORM] or [v for v in facts.of(CudaVersion) if v.rank <= PROSE]
    fits: list[CudaVersion | CudnnVersion] = [
        v
        for v in versions
        if all(serves(picture, v.version, n) is not False for n in names)
        and any(serves(picture, v.version, n) for n in names)
    ]
    against = [v for v in versions if any(serves(picture, v.version, n) is False for n in names)]
    terminal = facts.symptoms("works-in-terminal")
    conda = "conda" in picture.environments and any(
        (v.rank == 2 and "conda" in v.source.text.lower()) or "cudatoolkit" in v.source.text.lower() for v in fits
    )
    told = [s for s in facts.symptoms("path-cure-told") if s.get("helped") or any(_soon_after(s, error) for error in errors)]
    if told and not against and not facts.has("cuda-version-blamed", "cuda-version-told", "cudnn-version-blamed"):
        yield found(
            "library-path",
            "What helped, or is advised right after the error, is to name the folder of the libraries to the loader.",
            [*errors[:3], *told[:1], *fits[:1]],
            confidence="likely",
            tables=table_rows(picture, names),
            steps=search_steps(picture),
            verify=verify,
        )
        return
    if not missing:
        return
    only_cudnn = not gone(picture)
    if only_cudnn:
        right = [c for c in facts.of(CudnnVersion) if c.rank <= 2 and cudnn_major(names[0]) == c.version.split(".")[0]]
        fits = [c for c in right if terminal or conda or (c.rank <= 1 and c.location)]
        against = []
    if terminal or (fits and not against and (conda or hints or (versions and min(v.rank for v in fits) <= 1))):
        yield found(
            "library-path",
            "The version that this build opens is said to be installed"
            + (", and it works in a terminal" if terminal else "")
            + "; the process that fails does not search its folder.",
            [*missing[:3], *fits[:2], *terminal[:1], *(hints[:1] if not terminal else [])],
            confidence="likely",
            tables=table_rows(picture, names),
            steps=search_steps(picture),
            verify=verify,
        )


def _folders(picture: Picture, names: Sequence[str]) -> list[str]:
    """The folders to name to the loader: one for each library that did not open, as few as serve them all."""
    chosen: list[str] = []
    for name in dict.fromkeys(names):
        holding = [re.split(r"[/\\][^/\\]+$", file.path)[0] for file in other_files(picture, [name])[0]]
        if holding and not set(holding) & set(chosen):
            chosen.append(holding[0])
    return chosen


def _told(picture: Picture) -> Iterator[Finding]:
    """No log, and somebody says that a folder had to be named to the loader, or that the files are in one that is named."""
    facts = picture.facts
    told = [s for s in facts.symptoms("path-cure-told") if s.get("helped")]
    if picture.tensorflow is None and facts.has("gpu-not-used", "gpu-list-empty"):  # two releases do not find what pip brings
        told += facts.symptoms("and-cuda-installed")
    versions = facts.has("cuda-version-told", "cuda-version-blamed", "cudnn-version-told", "cudnn-version-blamed")
    opened = any(picture.component(lib.name) == "cuda" for lib in facts.of(LibraryLoaded))  # what is shown is the time after the cure
    otherwise = opened or picture.not_loaded or facts.of(CudaCallFailed) or facts.has("cudnn-said-missing", "own-build") or mismatched_pair(picture)
    if facts.kind != "report" or not told or versions or otherwise:
        return
    yield found(
        "library-path",
        "The libraries are said to be on the machine, and what helped, or is in doubt, is the list of folders that the loader searches.",
        told[:2],
        confidence="possible",
        steps=search_steps(picture),
        verify=commands.list_gpus(picture),
    )


def _soon_after(told: Fact, error: Fact) -> bool:
    """Whether a line stands in the few lines after an error, as its cure does."""
    first, then = error.source.line, told.source.line
    return first is not None and then is not None and 0 <= then - first <= 6


def _next_patch(picture: Picture) -> list[Step]:
    build = picture.build
    if build is None:
        return []
    minor = build.version.rsplit(".", 1)[0]
    better = [
        r
        for r in picture.tables.releases(picture.table_platform, "tensorflow")
        if r.gpu
        and r.version.startswith(minor + ".")
        and r.pip_libraries_missed == ()
        and dotted(r.version) > dotted(build.version)
    ]
    if not better:
        return []
    return [
        shell(
            commands.pip(picture, "install", f'tensorflow[and-cuda]=={better[-1].version}'),
            "this patch release finds pip's libraries by itself",
        )
    ]
