"""Converts the rows about libraries, the wheels that contain them, cuDNN and the traps to values, and chooses
the row for a given name or version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.backports import removeprefix
from doctor.tables.rows import Cudnn, Framework, Library, NvidiaWheel, PipLibrary, Row, Trap, made
from doctor.tables.store import Store, remembered
from doctor.tables.versions import dotted


def cudnns(store: Store) -> tuple[Cudnn, ...]:
    """Every cuDNN release, oldest first, with one row for each wheel that was read."""
    return store.made("cudnn", _cudnn)


@remembered
def cudnn(store: Store, version: str, cuda_major: str | None = None) -> Cudnn | None:
    """The row of a cuDNN release. For a shorter version ("9", "8.9"), the newest release that starts with
    it."""
    try:
        wanted = tuple(int(p) for p in removeprefix(version.strip(), "v").split("."))
    except ValueError:
        return None
    rows = [
        row
        for row in cudnns(store)
        if tuple(int(p) for p in row.version.split("."))[: len(wanted)] == wanted
        and (cuda_major is None or cuda_major in row.cuda)
    ]
    return max(rows, key=lambda row: (dotted(row.version), [int(c) for c in row.cuda]), default=None)


def _cudnn(raw: Mapping[str, Any]) -> Cudnn:
    kernels = ", ".join(raw.get("capabilities") or ()) or "capabilities not read"
    return made(
        Cudnn, raw, f"cuDNN {raw['version']} for CUDA {', '.join(raw['cuda'])}: kernels for {kernels}"
    )


def compiled_cudnn(store: Store) -> tuple[Row, ...]:
    """The rows of cudnn_compiled.json."""
    return store.made("cudnn_compiled", _compiled_cudnn)


def _compiled_cudnn(raw: Mapping[str, Any]) -> Row:
    return made(Row, raw, f"TensorFlow {raw['versions']}: compiled with cuDNN {raw['cudnn']}")


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


def libraries(store: Store) -> tuple[Library, ...]:
    """The catalogue of library names."""
    return store.made("libraries", _library)


def _library(raw: Mapping[str, Any]) -> Library:
    first, product = raw.get("first"), raw.get("product", "CUDA")
    releases = f", {product} {span(first, raw.get('last'))}" if first else ""
    return made(Library, raw, f"{raw['soname']}: {raw['component']}{releases}")


def span(first: str | None, last: str | None) -> str:
    """Return a range of releases as text: "11.0", "10.1 to 10.2", or "12.0 to now" if it is still open."""
    return str(first) if first == last else f"{first} to {last or 'now'}"


def traps(store: Store) -> tuple[Trap, ...]:
    """The known traps."""
    return store.made("traps", lambda raw: made(Trap, raw, f"{raw['name']}: {raw['title']}"))
