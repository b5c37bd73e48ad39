"""Finds out how and where builds can be installed in a case, and which newer ones fit it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.remedies import commands
from doctor.remedies.fitness import situation
from doctor.tables import dotted
from doctor.tables.store import remembered

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.remedies.installation import Installation
    from doctor.tables import TensorFlowRelease


def installs_here(case: Case, release: TensorFlowRelease, python: str | None) -> bool:
    """Whether pip can install a release into the case's Python, without a new environment. python: the one
    for which the release was chosen. If the case's Python is unknown, it is one of those for which the
    TensorFlow in use has wheels: the release needs a wheel for each of them."""
    here = commands.python_minor(case)
    if here is not None:
        return here == python
    possible = {version for build in case.builds for version in build.pythons}
    return possible <= set(release.pythons)


def on_driver(case: Case, build: TensorFlowRelease) -> bool:
    """Whether this build runs on the case's driver; True if the driver is unknown."""
    from doctor import compat

    here = situation(case)
    return (
        here.driver is None
        or compat.runs_on_driver(build, here.driver, case.tables, here.side).verdict != "no"
    )


def installation(
    case: Case, build: TensorFlowRelease, *, python: str = "", bare: bool = False
) -> Installation:
    """How to install a build in the case: with CUDA and cuDNN if pip can install them, otherwise TensorFlow
    alone.

    python: the Python version of a new environment ("3.11"). bare: install TensorFlow alone in any case.
    """
    from doctor.remedies.installation import without_libraries

    found = None if bare else from_pip(case, build, python)
    return found or without_libraries(build, case.tables)


def from_pip(case: Case, build: TensorFlowRelease, python: str = "") -> Installation | None:
    """How to install a build with CUDA and cuDNN from pip; None if pip cannot install them.

    python: the Python version ("3.11"). By default, the version of the case; if the build has no wheel for
    it, the newest version for which the build has a wheel.
    """
    from doctor.remedies.installation import with_libraries

    of_case = commands.python_minor(case)
    newest = build.pythons[-1] if build.pythons else None
    asked = python or (of_case if of_case in build.pythons else newest)
    return with_libraries(
        build, situation(case, python=asked, driver=None, route="pip-and-cuda"), case.tables
    )


@remembered
def fitting(case: Case, *, python: bool = True, driver: bool = True) -> TensorFlowRelease | None:
    """The newest GPU release for the case's platform and GPUs; None if there is none. It also fits the case's
    Python version and driver as far as they are known, unless `python` or `driver` is False."""
    from doctor import compat

    change = {name: None for name, kept in (("python", python), ("driver", driver)) if not kept}
    try:
        judgement = compat.newest(case.tables, situation(case, **change))
    except (ValueError, KeyError):
        return None
    return judgement.build if judgement is not None else None


def newer(case: Case) -> str:
    """Words for the release in which a defect of the build in use may be mended: the newest patch release of
    its minor version, or the next minor version if the build in use is the newest."""
    build = case.build
    words = "the newest patch release of this TensorFlow minor version, or the next minor version"
    if build is None:
        return words
    there = dotted(build.version)
    later = [
        r
        for r in case.tables.releases(build.platform, build.package)
        if not r.yanked and dotted(r.version) > there
    ]
    if not later:
        return "an earlier release: this one is the newest"
    of_minor = [r for r in later if dotted(r.version)[:2] == there[:2]]
    if of_minor:
        return f"TensorFlow {of_minor[-1].version}, the newest patch release of this minor version"
    following = [r for r in later if dotted(r.version)[:2] == dotted(later[0].version)[:2]]
    cuda = f" with CUDA {following[-1].cuda}" if following[-1].cuda else ""
    return f"TensorFlow {following[-1].version}{cuda} ({build.version} has no later patch release)"
