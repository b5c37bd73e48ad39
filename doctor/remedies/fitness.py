"""What is known of a case, as the tables are asked, and whether a build can serve its GPUs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from doctor.remedies import commands
from doctor.tables.store import remembered

if TYPE_CHECKING:
    from doctor import compat
    from doctor.picture import Picture
    from doctor.tables import Tables, TensorFlowRelease


@remembered
def situation(picture: Picture, /, **change: object) -> compat.Situation:
    """What is known of the case, as the tables are asked; `change` sets fields anew."""
    from doctor import compat

    base = compat.Situation(
        platform=picture.table_platform,
        python=commands.minor(picture.python.version) if picture.python else None,
        capabilities=picture.capabilities,
        driver=picture.driver.version if picture.driver else None,
        driver_platform=picture.platform if picture.platform in ("windows", "wsl") else "linux",
    )
    return replace(base, **change)  # type: ignore[arg-type]


def usable(picture: Picture, build: TensorFlowRelease) -> bool:
    """Whether nothing that is known forbids this build on the GPUs of the case and their newest driver."""
    if not build.gpu:
        return False
    here = situation(picture, python=None, driver=None)
    return _usable(picture.tables, build.version, build.package, build.platform, here)


@remembered
def _usable(tables: Tables, version: str, package: str, platform: str, here: compat.Situation) -> bool:
    from doctor import compat

    build = tables.tensorflow(version, package, platform)
    if build is None or (here.capabilities and compat.runs_on_gpu(build, here, tables).verdict == "no"):
        return False
    return not any(trap.verdict == "no" and not trap.cure and trap.data["aspect"] in ("gpu", "cuda", "cudnn")
                   for trap in compat.traps_of(build, here, tables))  # fmt: skip


def on_driver(picture: Picture, build: TensorFlowRelease) -> bool:
    """Whether the driver of the case runs this build, as far as it is known."""
    from doctor import compat

    here = situation(picture)
    return here.driver is None or compat.runs_on_driver(build, here.driver, picture.tables, here.side).verdict != "no"


def extra_installs(picture: Picture, build: TensorFlowRelease, python: str = "") -> bool:
    """Whether pip can resolve the extra and-cuda for a Python: the one named ("3.11"), that of the case, the newest with a wheel."""
    of_case = commands.minor(picture.python.version) if picture.python else None
    asked = python or (of_case if of_case in build.pythons else build.pythons[-1])
    return _extra_installs(picture.tables, build.version, build.package, build.platform, asked or "")


@remembered
def _extra_installs(tables: Tables, version: str, package: str, platform: str, python: str) -> bool:
    from doctor import compat

    build = tables.tensorflow(version, package, platform)
    pip = compat.Situation(platform=platform, python=python, route="pip-and-cuda")
    return build is not None and not any(trap.verdict == "no" for trap in compat.traps_of(build, pip, tables, "extra"))
