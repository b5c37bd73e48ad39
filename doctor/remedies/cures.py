"""Finds a TensorFlow build that works in this case: the build in use with the libraries that it loads, or
another build.

In: a `Case`. Out: a `Cure`. Its steps lead only to a build that has code for the case's GPUs, has a wheel for
its Python version and runs on its driver, as far as each of these is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor import lazy
from doctor.findings import Step, manual
from doctor.remedies import commands, cudnn, installable, libraries
from doctor.remedies.cure import Cure
from doctor.remedies.fitness import recommendation, usable
from doctor.tables.store import remembered

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.remedies.other_builds import (
        another_build as another_build,
        beside_windows as beside_windows,
        better_code as better_code,
        build_for_mac as build_for_mac,
        inside_wsl as inside_wsl,
        nvidia_container as nvidia_container,
    )
    from doctor.tables import TensorFlowRelease


@remembered
def libraries_for_build(case: Case) -> Cure:
    """The cure that installs CUDA and cuDNN for the TensorFlow release in use, or that installs another
    release if the one in use cannot use the case's GPUs."""
    newest = _newest_usable(case)
    if newest is None:
        return _another_build(case)
    build = case.build or newest
    version = _version(case, newest)
    if build.extras.get("and-cuda") and commands.python_minor(case) not in (None, *build.pythons):
        return _another_build(case)  # the release is a guess that this Python contradicts
    steps = libraries.steps(case, build)
    if not build.extras.get("and-cuda") and case.build is not None:
        steps += _move(case, build)
    return Cure((*steps, *driver_for(case, build)), version)


def _newest_usable(case: Case) -> TensorFlowRelease | None:
    """The newest possible build for the case's platform that has code for its GPUs."""
    builds = (b for b in reversed(case.builds) if b.platform == case.table_platform)
    return next((build for build in builds if usable(case, build)), None)


def _version(case: Case, newest: TensorFlowRelease) -> str | None:
    """The release in use; if it is unknown, the newest usable release if that is TensorFlow 1, else None."""
    if case.build is not None:
        return case.build.version
    return newest.version if newest.version.startswith("1.") else None


@remembered
def cudnn_for_build(case: Case) -> Cure:
    """The cure that installs the cuDNN version for which the TensorFlow release in use was built, or that
    installs another release if the one in use cannot use the case's GPUs."""
    newest = _newest_usable(case)
    if newest is None:
        return _another_build(case)
    build = case.build or newest
    return Cure((*cudnn.alone(case, build), *driver_for(case, build)), _version(case, newest))


def _move(case: Case, build: TensorFlowRelease) -> list[Step]:
    """Steps that avoid the installation of an old CUDA version: they install a TensorFlow release whose
    libraries come from pip. Only for a program that already uses TensorFlow 2."""
    best = recommendation(case)
    release = best.build if best is not None else None
    if (
        best is None
        or release is None
        or not best.extra
        or best.route == "wsl2"  # another system, not another release
        or build.version.startswith("1.")
        or driver_for(case, release)
    ):
        return []
    if installable.installs_here(case, release, best.python):
        words = f"or, if the program can move to TensorFlow {release.version}: "
        return commands.introduced(words, libraries.with_pip(case, release))
    if commands.python_minor(case) is not None:
        return []
    pythons = f"{release.pythons[0]} to {release.pythons[-1]}"
    move = (
        f"Or move the program to TensorFlow {release.version}, whose CUDA libraries pip installs. It needs"
        f" Python {pythons}, so use a new environment; tfgpu-doctor plan prints the commands"
    )
    return [manual(move, f"the Python of TensorFlow {build.version}, which is not known here, may be older")]


def driver_for(case: Case, release: TensorFlowRelease) -> list[Step]:
    """Steps that install a newer driver; [] unless the case's driver is known to be too old for the
    release."""
    if case.driver is None or installable.on_driver(case, release):
        return []
    words = f"driver {case.driver.version} is too old for TensorFlow {release.version}: "
    return commands.introduced(words, commands.driver_install(case, release))


def _another_build(case: Case) -> Cure:
    from doctor.remedies.other_builds import another_build  # few cases need it

    return another_build(case)


__getattr__ = lazy.names(__name__, ".other_builds")
