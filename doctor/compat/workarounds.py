"""Workarounds that make a build work: pins, and links to libraries that the build does not find.

All workarounds follow from rows of the tables: the pins of the extra and cuDNN's kernels, the build's RUNPATH
and the folders of pip's packages, and the traps. A trap's "no" stays if no workaround resolves it.
"""

from __future__ import annotations

import re

from doctor.compat.answer import Answer
from doctor.compat.companion_packages import Pin, cudnn_bound
from doctor.compat.install import pip_cudnn
from doctor.compat.nvidia_packages import BESIDE, FOLDER, Packages, packages_for
from doctor.compat.situation import Situation, concerns, trap_answers, traps_of
from doctor.compat.software import cuda_major, row_serves_gpu
from doctor.tables import Tables, TensorFlowRelease
from doctor.values import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a library whose folder is not in the build's RUNPATH. folder: contains the library (under
    site-packages); into: a folder in the RUNPATH, where a symbolic link lets the loader find the library (see
    `links`)."""

    library: str
    folder: str
    into: str


@dataclass(frozen=True, slots=True)
class Workarounds:
    """What a build needs besides its extra and-cuda. pins: further requirements; links: to libraries; blocks:
    the answers "no" that no workaround resolves; reasons: the answers that explain the workarounds; packages:
    NVIDIA's packages, each requested by name, in place of the extra."""

    pins: tuple[Pin, ...] = ()
    links: tuple[Link, ...] = ()
    blocks: tuple[Answer, ...] = ()
    reasons: tuple[Answer, ...] = ()
    packages: Packages | None = None


def for_pip_libraries(build: TensorFlowRelease, situation: Situation, tables: Tables) -> Workarounds:
    """Return what a build needs in a situation to use CUDA and cuDNN from pip (route pip-and-cuda)."""
    packages = packages_for(build, situation, tables)
    if packages is not None:
        return _by_name(build, packages, situation, tables)
    linked = links(build, tables)
    pins: list[Pin] = []
    reasons: list[Answer] = []
    blocks: list[Answer] = []
    newest = pip_cudnn(build, tables)
    if newest is not None and situation.capabilities:
        fits = row_serves_gpu(newest, situation.capabilities)
        if fits.verdict == "no":
            pin = cudnn_bound(build, tables, situation.capabilities)
            if pin is None:
                blocks.append(
                    Answer(
                        "no",
                        f"no cuDNN release that {build.requirement} accepts supports the GPU: {fits.reason}",
                        (build, *fits.rows),
                    )
                )
            else:
                pins.append(pin)
    missed = {link.library for link in linked}
    for aspect in ("extra", "libraries"):
        for trap in traps_of(build, situation, tables, aspect):
            derived = trap.data.get("derived") or {}
            cure = ""
            if "missed" in derived and set(derived["missed"]) <= missed:
                cure = "; the link fixes this" if len(linked) == 1 else "; the links fix this"
            elif "pip_cudnn_lacks" in derived and pins:
                cure = "; the bound on cuDNN fixes this"
            answer = Answer(trap.verdict, trap.reason + cure, (trap, build), trap.cure)
            (reasons if cure or trap.verdict == "yes" else blocks).append(answer)
    return Workarounds(tuple(pins), linked, tuple(blocks), tuple(reasons))


def _by_name(
    build: TensorFlowRelease, packages: Packages, situation: Situation, tables: Tables
) -> Workarounds:
    """Return the workaround that requests NVIDIA's packages by name, without the extra, whose pins may
    conflict with them."""
    named = packages.pinned_by
    whose = (
        "its own extra"
        if named is build
        else f"the extra of {named.requirement}, the last release for this major version of CUDA,"
    )
    why = (
        f"{build.requirement} loads the libraries of CUDA {packages.cuda} and cuDNN {packages.cudnn}:"
        f" NVIDIA's packages contain all of them, in the versions that {whose} pins"
    )
    reasons = [Answer("yes", why, (build, named))]
    blocks = []
    cudnn = next(text for text in packages.requirements if "cudnn" in text).partition("==")[2]
    row = tables.cudnn(cudnn, cuda_major(build, tables))
    if row is not None and (fits := row_serves_gpu(row, situation.capabilities)).verdict == "no":
        blocks.append(Answer("no", fits.reason, (build, *fits.rows)))
    linked: tuple[Link, ...] = ()
    if not build.extras.get("and-cuda") and BESIDE in build.runpath:
        linked = tuple(Link(library, folder, FOLDER) for library, folder in packages.folders)
        reasons.append(
            Answer(
                "yes",
                f"{build.requirement} searches only its own folder for these libraries (RUNPATH {BESIDE}):"
                " with links in that folder it finds them from every shell and notebook",
                (build,),
            )
        )
    blocks += [
        answer for answer in trap_answers(build, situation, tables, "libraries") if answer.verdict != "yes"
    ]
    pins = tuple(Pin(text, f"a part of CUDA {packages.cuda}") for text in packages.requirements)
    return Workarounds(pins, linked, tuple(blocks), tuple(reasons), packages)


def links(build: TensorFlowRelease, tables: Tables) -> tuple[Link, ...]:
    """Return the links that let a build find pip's libraries, one for each library that it needs but does not
    find, or () if it needs none.

    The loader searches the RUNPATH of libtensorflow_framework for a library that TensorFlow loads. It finds a
    link in a folder of that RUNPATH from every shell, notebook and service. The library's own RUNPATH
    ($ORIGIN/../..) still leads to its dependencies, because all of these folders are equally deep (ld.so(8),
    "Rpath token expansion").
    """
    missed = build.pip_libraries_missed
    if missed is None:
        missed = tuple(
            name
            for trap in tables.traps()
            if concerns(trap, build) and "missed" in (trap.data.get("derived") or {})
            for name in trap.data["derived"]["missed"]
        )
    if not missed:
        return ()
    into = _runpath_folder(build, tables)
    if into is None:
        return ()
    major = cuda_major(build, tables)
    found: list[Link] = []
    for name in missed:
        row = tables.pip_library(name, major)
        if row is None:
            return ()
        found.append(Link(name, row.folder, into))
        if name.startswith("libcudnn."):  # cuDNN loads its own parts from the folder where it was found
            found += [
                Link(part, row.folder, into) for part in row.data["libraries"] if part.startswith("libcudnn_")
            ]
    return tuple(found)


def _runpath_folder(build: TensorFlowRelease, tables: Tables) -> str | None:
    """Return a folder of pip's NVIDIA packages that is in the build's RUNPATH and exists as soon as the extra
    is installed, or None if there is none."""
    named = [m[1] for entry in build.runpath if (m := re.search(r"(nvidia/[\w-]+/lib)/?$", entry))]
    # cuda_runtime is in the RUNPATH of every release that has any of these folders, including 2.16.1
    for folder in ("nvidia/cuda_runtime/lib", "nvidia/cublas/lib"):
        if folder in named or (not named and build.extras.get("and-cuda")):
            return folder
    return named[0] if named else None
