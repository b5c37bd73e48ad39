"""A TensorFlow that pip does find: which release, and an environment with a Python for which it has a wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.remedies import cures, environments
from doctor.remedies.fitness import installation, no_gpu_meant, usable
from doctor.remedies.installation import link_steps
from doctor.rules.tensorflow.unavailable import asked_for

if TYPE_CHECKING:
    from doctor.picture import Picture
    from doctor.tables import TensorFlowRelease

ENV = "tf-env"


def target(picture: Picture) -> TensorFlowRelease | None:
    """The release that was asked for, where it has wheels here and runs on the GPUs; else the one that fits best."""
    asked = asked_for(picture)
    row = picture.tables.tensorflow(asked, None, picture.table_platform) if asked else None
    if row is not None and row.pythons and (not row.gpu or usable(picture, row)):
        return row
    if picture.platform != "macos":  # whose builds with CUDA ended with TensorFlow 1.1
        fits = cures.fitting(picture, python=False) or cures.fitting(picture, python=False, driver=False)
        if fits is not None:
            return fits
    return next((r for r in reversed(picture.tables.releases(picture.table_platform, "tensorflow")) if r.pythons and not r.yanked), None)


def environment(picture: Picture, release: TensorFlowRelease | None, platform: str = "") -> cures.Cure:
    """An environment with a Python for which the release has a wheel: its newest where the release was asked for, else
    the one before, for which more of other packages have wheels."""
    if release is None or not release.pythons:
        return cures.Cure(())
    python = release.pythons[-1] if release.version == asked_for(picture) else release.pythons[max(0, len(release.pythons) - 2)]
    why = f"Python {python} has a wheel of TensorFlow {release.version}"
    found = installation(picture, release, python=python, bare=no_gpu_meant(picture))
    made, start = environments.with_python(ENV, python, picture.platform or platform or "linux", found.requirements, why)
    return cures.Cure((*made, *link_steps(found, start), *cures.driver_for(picture, release)), release.version, start)
