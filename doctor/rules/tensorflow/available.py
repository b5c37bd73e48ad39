"""Chooses a TensorFlow release that pip can find, and makes an environment with a Python version for which
that release has a wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.remedies import cures, environments, tf1
from doctor.remedies.cure import Cure
from doctor.remedies.fitness import fitting, installation, no_gpu_meant, usable
from doctor.remedies.installation import link_steps
from doctor.rules.tensorflow.unavailable import asked_for, with_wheels

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.tables import TensorFlowRelease


def target(case: Case) -> TensorFlowRelease | None:
    """The requested release if it has wheels for this platform and runs on the GPUs, else the release that
    fits best; None if no release has a wheel for the platform."""
    asked = asked_for(case)
    row = case.tables.tensorflow(asked, None, case.table_platform) if asked else None
    if row is not None and row.pythons and (not row.gpu or usable(case, row)):
        return row
    if case.platform != "macos":  # builds with CUDA for macOS ended with TensorFlow 1.1
        fits = fitting(case, python=False) or fitting(case, python=False, driver=False)
        if fits is not None:
            return fits
    return next(reversed(with_wheels(case, case.table_platform)), None)


def environment(case: Case, release: TensorFlowRelease | None, platform: str = "") -> Cure:
    """Return the cure that makes an environment with a Python version for which the release has a wheel: the
    newest of these versions if the user requested the release, else the second newest, for which more
    packages have wheels.
    """
    keras = tf1.old_keras(case)
    if keras is not None and asked_for(case) is None:
        words = f"Keras {keras} needs TensorFlow 1: "
        return tf1.environment(case, f"keras=={keras}", "h5py<3", words=words)
    if release is None or not release.pythons:
        return Cure(())
    python = (
        release.pythons[-1]
        if release.version == asked_for(case)
        else release.pythons[max(0, len(release.pythons) - 2)]
    )
    why = f"TensorFlow {release.version} has a wheel for Python {python}"
    found = installation(case, release, python=python, bare=no_gpu_meant(case))
    made, start = environments.with_python(
        environments.ENV, python, case.platform or platform or "linux", found.requirements, why
    )
    return Cure((*made, *link_steps(found, start), *cures.driver_for(case, release)), release.version, start)
