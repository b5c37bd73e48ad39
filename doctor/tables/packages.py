"""Looks up the Python packages that contain NVIDIA's libraries, and those of other frameworks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.tables.rows import Framework, NvidiaWheel, PipLibrary, made
from doctor.tables.store import Store, remembered
from doctor.tables.versions import dotted


def wheels(store: Store, package: str | None = None) -> tuple[NvidiaWheel, ...]:
    """Return the nvidia-* wheels that were read, in the order of the file."""
    rows = store.made("nvidia_wheels", _wheel)
    return rows if package is None else tuple(row for row in rows if row.package == package)


def _wheel(raw: Mapping[str, Any]) -> NvidiaWheel:
    return made(NvidiaWheel, raw, f"{raw['package']} {raw['version']}: {', '.join(raw['libraries'])}")


@remembered
def frameworks(store: Store, package: str | None = None) -> tuple[Framework, ...]:
    """The releases of GPU frameworks other than TensorFlow, oldest first; only those of `package` if it is
    given."""
    rows = store.made("frameworks", _framework)
    return rows if package is None else tuple(row for row in rows if row.package == package)


def _framework(raw: Mapping[str, Any]) -> Framework:
    extras = {name: tuple(lines) for name, lines in raw["extras"].items()}
    return made(Framework, raw, f"{raw['package']} {raw['version']}: its requirements", extras=extras)


@remembered
def pip_library(store: Store, soname: str, cuda_major: str | None = None) -> PipLibrary | None:
    """See Tables.pip_library."""
    wanted = ("-cu12", "-cu11", "") if cuda_major is None else (f"-cu{cuda_major}", "")
    return min(pip_libraries(store, soname), key=lambda row: _rank(row.package, wanted), default=None)


@remembered
def pip_libraries(store: Store, soname: str) -> tuple[PipLibrary, ...]:
    """See Tables.pip_libraries."""
    rows = [row for row in wheels(store) if soname in row.libraries and row.folder]
    packages = sorted({row.package for row in rows})
    return tuple(_pip_library(soname, [row for row in rows if row.package == name]) for name in packages)


def _pip_library(soname: str, rows: list[NvidiaWheel]) -> PipLibrary:
    own = sorted(rows, key=lambda row: dotted(row.version))
    package, folder = own[-1].package, own[-1].folder or ""
    return made(
        PipLibrary,
        own[-1].data,
        f"{soname}: in {package} {own[0].version} to {own[-1].version}, folder {folder}",
        soname=soname,
        folder=folder,
        first=own[0].version,
        last=own[-1].version,
    )


def _rank(package: str, endings: tuple[str, ...]) -> tuple[int, str]:
    fitting = (
        n
        for n, ending in enumerate(endings)
        if package.endswith(ending) and (ending or "-cu1" not in package)
    )
    return (next(fitting, len(endings)), package)
