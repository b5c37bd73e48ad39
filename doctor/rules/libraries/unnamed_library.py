"""Findings and steps of library-path for cases in which no message names the library that did not load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import PROSE, CudaCallFailed, Fact, LibraryLoaded, Package
from doctor.findings import Finding, Step, shell
from doctor.remedies import commands
from doctor.rules.libraries.stated import mismatched_pair
from doctor.rules.registry import found
from doctor.tables import dotted
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.rules.libraries import loader_steps
else:  # imported if there is such a finding
    loader_steps = lazy.module("doctor.rules.libraries.loader_steps")


def there_unnamed(case: Case, errors: Sequence[Fact]) -> Iterator[Finding]:
    """The finding if TensorFlow (since 2.12) skipped the GPU without naming the library that did not load,
    although pip installed NVIDIA's libraries."""
    build = case.build
    if case.facts.kind != "report" or (build is not None and not build.extras.get("and-cuda")):
        return
    brought: list[Fact] = [*case.facts.symptoms("and-cuda-installed")]
    if build is None or case.extra_listed(build) is not False:
        brought += [
            p for p in case.facts.of(Package) if p.name.startswith(("nvidia-cuda-runtime", "nvidia-cudnn"))
        ]
    start = errors[0].source.line or 0
    # a package installed after the error is its solution
    brought = [fact for fact in brought if (fact.source.line or 0) <= start]
    whose = "pip installed NVIDIA's libraries"
    cuda = case.cuda
    if not brought and build is not None and cuda is not None and cuda.rank < PROSE:
        from doctor.compat import runs_with_cuda

        if runs_with_cuda(build, cuda.version, case.tables).verdict == "yes":
            brought, whose = [cuda], f"CUDA {cuda.version}, which fits this build, is installed"
    if not brought:
        return
    yield found(
        "library-path",
        f"{whose}, but TensorFlow could not load one of the libraries; the message does not say which. Either"
        " the loader searches another folder first, or the program runs in an environment without these"
        f" libraries{'' if case.cudnn or brought[0] is not cuda else ', or cuDNN is missing'}.",
        [*errors[:1], *brought[:2]],
        confidence="likely",
        tables=[build],
        steps=[
            shell(commands.loading(case), "prints the name of the library that does not load"),
            *(loader_steps.search_steps(case) if brought[0] is cuda else loader_steps.pip_folders(case)),
        ],
        verify=commands.list_gpus(case),
    )


def suggested(case: Case) -> Iterator[Finding]:
    """The finding for a report that contains no log, but says that pip installed the libraries."""
    facts = case.facts
    suggested = []
    if case.tensorflow is None and facts.has("gpu-not-used", "gpu-list-empty"):
        suggested = facts.symptoms("and-cuda-installed")  # two releases do not find pip's libraries
    # CUDA libraries that load show that the report was written after the solution
    opened = any(case.component(lib.name) == "cuda" for lib in facts.of(LibraryLoaded))
    failed = case.not_loaded or facts.of(CudaCallFailed) or mismatched_pair(case)
    if facts.kind != "report" or not suggested or opened or failed or facts.has("own-build"):
        return
    yield found(
        "library-path",
        "The report says that the libraries are on the machine. Perhaps the loader does not search their"
        " folder.",
        suggested[:2],
        confidence="possible",
        steps=loader_steps.search_steps(case),
        verify=commands.list_gpus(case),
    )


def found_by_pip(case: Case, links: Sequence[Step]) -> list[Step]:
    """Return the steps that let TensorFlow find pip's libraries: install a later patch release or create
    links."""
    newer = _next_patch(case)
    if newer and links:
        links = [replace(links[0], why=f"or keep this release: {links[0].why}"), *links[1:]]
    return [*newer, *links]


def _next_patch(case: Case) -> list[Step]:
    """Return the step that installs the newest patch release that finds pip's libraries; [] if there is
    none."""
    build = case.build
    if build is None:
        return []
    minor = build.version.rsplit(".", 1)[0]
    better = [
        r
        for r in case.tables.releases(case.table_platform, "tensorflow")
        if r.gpu
        and r.version.startswith(minor + ".")
        and r.pip_libraries_missed == ()
        and dotted(r.version) > dotted(build.version)
    ]
    if not better:
        return []
    return [
        shell(
            commands.pip(case, "install", f"tensorflow[and-cuda]=={better[-1].version}"),
            "installs the patch release that finds pip's libraries by itself",
        )
    ]
