"""Converts a case to a situation, with which the tables are queried, says whether a build can use the case's
GPUs, and finds the builds that can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor import lazy
from doctor.remedies import commands
from doctor.tables.store import remembered
from doctor.values import replace

if TYPE_CHECKING:
    from doctor import compat
    from doctor.case import Case
    from doctor.plan.candidate import Candidate
    from doctor.remedies.installable import (
        fitting as fitting,
        from_pip as from_pip,
        installation as installation,
        installs_here as installs_here,
        newer as newer,
        on_driver as on_driver,
    )
    from doctor.tables import Tables, TensorFlowRelease


@remembered
def situation(case: Case, /, **change: object) -> compat.Situation:
    """Return the case as a Situation, with which the tables are queried. `change` replaces some of its
    fields."""
    from doctor import compat

    base = compat.Situation(
        platform=case.table_platform,
        python=commands.python_minor(case),
        capabilities=case.capabilities,
        driver=case.driver.version if case.driver else None,
        driver_platform=case.platform if case.platform in ("windows", "wsl") else "linux",
    )
    return replace(base, **change)  # type: ignore[arg-type]


def usable(case: Case, build: TensorFlowRelease) -> bool:
    """Whether this build can run on the case's GPUs with their newest driver, as far as is known."""
    if not build.gpu:
        return False
    here = situation(case, python=None, driver=None)
    if not build.of_wheel:
        from doctor import compat

        return not here.capabilities or compat.runs_on_gpu(build, here, case.tables).verdict != "no"
    return _usable(case.tables, build.version, build.package, build.platform, here)


@remembered
def _usable(tables: Tables, version: str, package: str, platform: str, here: compat.Situation) -> bool:
    from doctor import compat

    build = tables.tensorflow(version, package, platform)
    if build is None or (here.capabilities and compat.runs_on_gpu(build, here, tables).verdict == "no"):
        return False
    return not any(trap.verdict == "no" and not trap.cure and trap.data["aspect"] in ("gpu", "cuda", "cudnn")
                   for trap in compat.traps_of(build, here, tables))  # fmt: skip


def no_gpu_meant(case: Case) -> bool:
    """Whether the machine was examined and has no GPU, and is not a cluster's login node."""
    absent = not case.gpus and case.facts.absent("nvidia gpu") is not None
    return absent and "slurm" not in case.environments


def recommendation(case: Case) -> Candidate | None:
    """The recommendation of `tfgpu-doctor plan` for the case, so that prescriptions use the same release."""
    from doctor.plan.recommended import recommended

    return recommended(case)


__getattr__ = lazy.names(__name__, ".installable")
