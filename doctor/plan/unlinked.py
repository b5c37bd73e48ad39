"""Finds builds that do not search the folders into which pip installs their CUDA libraries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.compat import Situation, runs_with_cuda, traps_of
from doctor.compat.software import cuda_major
from doctor.compat.workarounds import Link, for_pip_libraries
from doctor.findings import Finding, Step, manual
from doctor.plan.bases import OF_CUDA, libraries_of
from doctor.plan.context import PlanContext
from doctor.plan.edits import followed, parted, replaced, still_needed
from doctor.plan.requested import FileContents, Requested
from doctor.remedies.installation import Installation, link_steps, with_libraries
from doctor.tables import TensorFlowRelease
from doctor.tables.ordering import is_final, order
from doctor.tables.versions import minor
from doctor.values import replace


def unlinked(
    line: Requested,
    releases: Sequence[TensorFlowRelease],
    asked: Sequence[Requested],
    wanted: FileContents,
    context: PlanContext,
    name: str,
) -> list[Finding]:
    """Return the finding that the release that pip installs for a line does not find the libraries from pip.
    It is empty if the file makes links or sets LD_LIBRARY_PATH for them, or if the image or the machine has
    its own libraries.

    releases: the releases that all lines allow, oldest first.
    """
    fit = [r for r in releases if not context.python or not r.pythons or context.python in r.pythons]
    if not fit or context.platform != "linux-x86_64":
        return []
    build = fit[-1]
    links = still_needed(_links(line, build, asked, context), wanted)
    if not links or _elsewhere(line, build, wanted, context, name):
        return []
    folders = ", ".join(dict.fromkeys(link.folder for link in links))
    names = ", ".join(link.library for link in links if not link.library.startswith("libcudnn_"))
    ways = link_steps(Installation(build, links=links), ("python3",), "linux")
    severity = "warning" if wanted.image is None else "error"  # nothing but its Dockerfile changes an image
    traps = traps_of(build, _situation(context), context.tables, "libraries")
    return [
        Finding(
            "library-path",
            severity,
            f"{build.requirement} does not find the libraries that pip installs",
            f"pip installs {build.requirement} for this line and puts {names} into {folders} (under"
            " site-packages). The RUNPATH of the build does not contain"
            f" {'these folders' if ',' in folders else 'this folder'}: TensorFlow registers no GPU unless"
            f" LD_LIBRARY_PATH contains {'them' if ',' in folders else 'it'} or the environment has links to"
            " the libraries.",
            (line.source(name),),
            (*(trap.ref for trap in traps if trap.verdict == "no"), build.ref),
            (
                *_edits(line, fit, ways, asked, wanted, context, name),
                manual(
                    f"Put {folders} (under site-packages) on LD_LIBRARY_PATH",
                    "or make links in the environment; the plan for this release shows the command",
                ),
                *ways,
            ),
        )
    ]


def _situation(context: PlanContext) -> Situation:
    return Situation(
        context.platform, context.python, capabilities=context.capabilities, route="pip-and-cuda"
    )


def _links(
    line: Requested, build: TensorFlowRelease, asked: Sequence[Requested], context: PlanContext
) -> tuple[Link, ...]:
    """Return the links that a build needs to libraries from pip: those that its extra and-cuda installs, or
    those in NVIDIA's packages that other lines request."""
    links = for_pip_libraries(build, _situation(context), context.tables).links if build.gpu else ()
    if "and-cuda" in line.extras and build.extras.get("and-cuda"):
        return links
    named = {a.name for a in asked if a.manager == "pip" and OF_CUDA.match(a.name)}
    major = cuda_major(build, context.tables)
    rows = [context.tables.pip_library(link.library, major) for link in links]
    folders = {row.folder for row in rows if row is not None and row.package in named}
    return tuple(link for link in links if link.folder in folders)


def _elsewhere(
    line: Requested, build: TensorFlowRelease, wanted: FileContents, context: PlanContext, name: str
) -> bool:
    """Whether the image or the machine has its own copy of the libraries."""
    if wanted.image is None and context.cuda is not None:
        return runs_with_cuda(build, context.cuda, context.tables).verdict != "no"
    return not libraries_of(replace(line, extras=()), build, [], wanted, context, name)


def _edits(
    line: Requested,
    fit: Sequence[TensorFlowRelease],
    ways: Sequence[Step],
    asked: Sequence[Requested],
    wanted: FileContents,
    context: PlanContext,
    name: str,
) -> Iterator[Step]:
    """Yield the change to the file: in a Dockerfile, a RUN that makes the links; in other files, a release
    that needs no links, if TensorFlow's extra and-cuda installs the libraries."""
    if wanted.image is not None and line.end[0]:
        yield followed(line, ways, name)
        return
    if "and-cuda" not in line.extras:
        return
    build = fit[-1]
    worse = [r for r in fit if _links(line, r, asked, context)]
    free = next((r for r in reversed(fit) if r not in worse and r.extras.get("and-cuda")), None)
    if free is not None:
        less = [f"!={r.version}" for r in worse if order(r.version) > order(free.version)]
        specifier = ",".join((*([line.specifier] if line.specifier else []), *less))
        extras = ",".join(line.extras)
        why = f"in place of: {line.text}; {free.version} finds pip's libraries by itself"
        yield replaced(line, f"{line.name}[{extras}]{specifier}", name, why)
        return
    for other in sorted(
        (r for r in context.releases if r.package == line.name and is_final(r.version) and not r.yanked),
        key=lambda r: (minor(r.version) == minor(build.version), order(r.version)),
        reverse=True,
    ):
        if order(other.version) > order(build.version) and minor(other.version) != minor(build.version):
            continue
        found = with_libraries(other, _situation(context), context.tables)
        if found is None or found.links or not found.extra:
            continue
        if context.python and other.pythons and context.python not in other.pythons:
            continue
        why = f"in place of: {line.text}; {other.version} finds pip's libraries by itself"
        own, others = parted(line, found.requirements, asked, name)
        yield replaced(line, own, name, why)
        yield from others
        return
