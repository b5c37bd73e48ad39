"""library-path: the libraries are installed where the loader does not look."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import FORM, PROSE, CudaCallFailed, CudaVersion, CudnnVersion, Fact
from doctor.findings import Finding
from doctor.remedies import commands, libraries, starts
from doctor.rules.driver.first_call import cuinit
from doctor.rules.libraries.cudnn import cudnn_major
from doctor.rules.libraries.stated import blamed_path, mismatched_pair
from doctor.rules.libraries.toolkit import contains
from doctor.rules.libraries.wanted import NO_GPU_SINCE, gone, other_files, table_rows, works
from doctor.rules.registry import found, rule
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.rules.libraries import loader_steps, unnamed_library
else:  # imported if a folder is found that the loader does not search
    loader_steps = lazy.module("doctor.rules.libraries.loader_steps")
    unnamed_library = lazy.module("doctor.rules.libraries.unnamed_library")


@rule(
    "library-path",
    "The libraries are installed, but the loader does not search their folder",
    explains=("cuda-missing", "cudnn-missing", *NO_GPU_SINCE),
    needs=(
        "gpu-library-not-loaded",
        "toolkit-part-missing",
        "path-suggested",
        "gpu-skipped",
        "cudart-stub",
        "gpu-list-empty",
        "gpu-not-used",
        CudaCallFailed,
        "cuda-stub-on-path",
        "start-would-serve",
    ),
)
def library_path(case: Case) -> Iterator[Finding]:
    """The right libraries are installed, but the loader does not search their folder.

    ## What it means
    The loader searches LD_LIBRARY_PATH, ld.so.cache and the folders that TensorFlow's own library lists
    (RUNPATH); Windows searches PATH. The loader does not find the libraries of a toolkit that is in another
    folder, or of a conda environment that is not activated. An IDE or service may start the program with
    other values of these variables. The RUNPATH of TensorFlow 2.16.1 and 2.21.0 leaves out pip's
    `nvidia/*/lib`.

    ## What you see
    The file exists on disk under exactly the name that cannot be loaded; the program works in a terminal but
    not in the IDE; TensorFlow 2.16.1 installed with `[and-cuda]` prints `Cannot dlopen some GPU libraries`.

    ## What to do
    Add the folder to the loader's search path: with LD_LIBRARY_PATH or `ldconfig` on Linux, with PATH on
    Windows; activate a conda environment. Or install a release that finds pip's libraries by itself.
    """
    facts = case.facts
    if facts.has("toolkit-part-missing"):
        from doctor.rules.libraries.building import building

        yield from building(case, "library-path")
    if works(case):
        return
    missing = gone(case) or case.missing("cudnn")
    names = [lib.name for lib in missing]
    same, _ = other_files(case, names)
    build = case.build
    finding = partial(found, "library-path", verify=lambda: commands.list_gpus(case))
    served = facts.symptoms("start-would-serve")
    if served and missing:
        start = served[0]
        yield finding(
            f"The libraries are on this machine, but {start.get('of')} does not search their folders. "
            f"In {start.get('name')}, the loader finds them: {start.get('file')} sets the search path there.",
            [*missing[:3], start],
            tables=table_rows(case, names),
            steps=starts.enter(start),
        )
        return
    missed = build.pip_libraries_missed if build is not None else None
    asked = facts.has("gpu-list-empty", "gpu-not-used")
    asked = asked and not (facts.of(CudaCallFailed) or facts.has("built-without-cuda"))
    if (
        missed
        and build is not None
        and (facts.has("gpu-skipped") or asked or any(n in missed for n in names))
        and (not case.container or facts.has("and-cuda-installed"))
        # on a machine it is known whether pip's libraries are installed, and whether anything else fails
        and (facts.kind == "report" or ({f.name for f in same} >= set(names) and set(names) <= set(missed)))
    ):
        listed = case.extra_listed(build)
        # on a machine the files themselves were found
        stated = facts.kind == "machine" or facts.has("and-cuda-installed") or listed is True
        # every library that RUNPATH leaves out fails; if only some of them fail, something else is the reason
        exactly = not names or {
            lib.name for lib in case.not_loaded if case.component(lib.name) != "driver"
        } >= set(missed)
        # TensorFlow prints "Could not find cuda drivers" if libcudart did not load; RUNPATH lists its folder
        unsaid = facts.kind == "report" and dotted(build.version) < (2, 21) and not facts.has("cudart-stub")
        if listed is False and facts.kind == "report" and not facts.has("and-cuda-installed"):
            unsaid = False  # the list of packages shows that pip's libraries are not installed
        plain = [s for s in facts.symptoms("stated-package") if not s.get("extra")]
        if plain and not facts.has("and-cuda-installed"):
            unsaid = False  # pip installed TensorFlow without the libraries
        if case.cudnn is not None and build.cudnn and dotted(case.cudnn.version)[0] != dotted(build.cudnn)[0]:
            unsaid = False  # the other major version of cuDNN is enough to explain the failure
        if exactly and (stated or unsaid):
            yield finding(
                f"TensorFlow {build.version} does not search the folders into which pip installs"
                f" {', '.join(missed[:4])}, so `[and-cuda]` alone is not enough.",
                [
                    *facts.symptoms("gpu-skipped", "gpu-list-empty", "gpu-not-used")[:2],
                    *missing[:3],
                    case.tensorflow,
                ],
                confidence="likely" if not stated else "certain",
                tables=[build],
                steps=unnamed_library.found_by_pip(case, libraries.links(case, build)),
            )
            return
    stubs: list[Fact] = []
    if facts.absent("libcuda") is None:  # if the stub is the only libcuda, the driver is missing
        stubs += facts.symptoms("cuda-stub-on-path")
    answered = cuinit(case, "CUDA_ERROR_STUB_LIBRARY")
    if answered is not None and not case.container and facts.absent("libcuda") is None:
        stubs += [answered, *facts.symptoms("stub-library")[:1]]
    if stubs:
        why = (
            "removes the stubs folder from the loader's search path, so that the loader finds the driver's"
            " libcuda"
        )
        yield finding(
            "The loader finds the toolkit's libcuda stub first. The stub is only for linking; every call into"
            " it fails.",
            stubs[:3],
            confidence="certain" if facts.kind == "machine" or facts.has("stub-library") else "likely",
            steps=commands.off_the_path(case, "stubs", why, whole=False),
        )
        return
    blamed = blamed_path(case)
    if blamed and not missing and not mismatched_pair(case):
        yield finding(
            "A DLL did not load. The report says that the folder with the DLLs of CUDA or cuDNN was missing"
            " from PATH, or must be added to PATH.",
            [*facts.symptoms("dll-load-failed")[:1], *blamed[:2]],
            confidence="likely",
            steps=loader_steps.search_steps(case),
        )
        return
    errors = missing or facts.symptoms("gpu-skipped")
    if not errors:
        yield from unnamed_library.suggested(case)
        return
    if same:
        folders = _folders(case, [lib.name for lib in (*missing, *case.missing("cudnn"))])
        yield finding(
            f"{same[0].name} is in {folders[0]}, but the loader of this process does not search that folder.",
            [*missing[:3], *same[:3]],
            tables=table_rows(case, names),
            steps=loader_steps.named_to_the_loader(case, folders),
        )
        return
    if facts.kind == "machine" and not facts.has("works-in-terminal"):
        return  # the disk was searched, so a library that was not found does not exist
    hints = facts.symptoms("works-in-terminal", "environment-pycharm")
    versions = [v for v in facts.of(CudaVersion) if v.rank <= FORM] or [
        v for v in facts.of(CudaVersion) if v.rank <= PROSE
    ]
    fits: list[CudaVersion | CudnnVersion] = [
        v
        for v in versions
        if all(contains(case, v.version, n) is not False for n in names)
        and any(contains(case, v.version, n) for n in names)
        and not re.search(r"\blibcudart\d", v.source.text)  # a distribution's package of the runtime alone
    ]
    against = [v for v in versions if any(contains(case, v.version, n) is False for n in names)]
    terminal = facts.symptoms("works-in-terminal")
    conda = "conda" in case.environments and any(
        (v.rank == 2 and "conda" in v.source.text.lower()) or "cudatoolkit" in v.source.text.lower()
        for v in fits
    )
    suggested = [
        s for s in facts.symptoms("path-suggested") if any(_soon_after(s, error) for error in errors)
    ]
    if suggested and not against:
        yield finding(
            "The library is probably installed, but the loader does not search its folder: right after the"
            " error, the report advises adding that folder to the loader's path.",
            [*errors[:3], *suggested[:1], *fits[:1]],
            confidence="likely",
            tables=table_rows(case, names),
            steps=loader_steps.search_steps(case),
        )
        return
    if not missing:
        yield from unnamed_library.there_unnamed(case, errors)
        return
    if not gone(case):  # only cuDNN is missing
        right = [
            c
            for c in facts.of(CudnnVersion)
            if c.rank <= 2 and cudnn_major(names[0]) == c.version.split(".")[0]
        ]
        fits = [c for c in right if terminal or conda or (c.rank <= 1 and c.location)]
        against = []
    if terminal or (
        fits and not against and (conda or hints or (versions and min(v.rank for v in fits) <= PROSE))
    ):
        yield finding(
            "The report says that the library is installed in the version that this build loads"
            + (", and that the program works in a terminal" if terminal else "")
            + ". The loader of the failing process does not search the library's folder.",
            [*missing[:3], *fits[:2], *terminal[:1], *(hints[:1] if not terminal else [])],
            confidence="likely",
            tables=table_rows(case, names),
            steps=loader_steps.search_steps(case),
        )


def _folders(case: Case, names: Sequence[str]) -> list[str]:
    """A short list of folders that together contain every library that is on disk but did not load."""
    chosen: list[str] = []
    for name in dict.fromkeys(names):
        holding = [re.split(r"[/\\][^/\\]+$", file.path)[0] for file in other_files(case, [name])[0]]
        if holding and not set(holding) & set(chosen):
            chosen.append(holding[0])
    return chosen


def _soon_after(suggested: Fact, error: Fact) -> bool:
    """Whether a suggestion follows an error within six lines, where reports usually give the solution."""
    first, then = error.source.line, suggested.source.line
    return first is not None and then is not None and 0 <= then - first <= 6
