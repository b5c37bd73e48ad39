"""NVIDIA's side of the tables: raw rows to values, and the few rules that pick one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.tables.rows import (
    Architecture,
    Cudnn,
    DriverBranch,
    DriverFloor,
    ForwardCompatibility,
    Library,
    NvidiaWheel,
    PipLibrary,
    PtxIsa,
    Row,
    Toolkit,
    Trap,
)
from doctor.tables.store import Store
from doctor.tables.versions import dotted, minor


def family(platform: str) -> str:
    """The driver's platform: "linux" or "windows". WSL2 runs on the Windows driver."""
    return "windows" if platform.startswith(("win", "wsl")) else "linux"


def toolkits(store: Store) -> tuple[Toolkit, ...]:
    """Every CUDA toolkit release, oldest first."""
    return store.made("cuda", _toolkit)


def _toolkit(raw: Mapping[str, Any]) -> Toolkit:
    return Toolkit(
        ref=f"CUDA {raw['version']}: made with driver "
        + " / ".join(f"{raw[side]} ({side.capitalize()})" for side in ("linux", "windows") if raw.get(side)),
        source=raw["source"],
        data=raw,
        cuda=raw["cuda"],
        update=raw.get("update", 0),
        linux=raw.get("linux"),
        windows=raw.get("windows"),
    )


def toolkit(store: Store, cuda: str) -> Toolkit | None:
    """The row of a toolkit ("12.5", "12.5.1", "12.5 Update 1"); the first release of the minor where no
    update is named or known."""
    text = cuda.strip().removeprefix("cuda-").removeprefix("CUDA ")
    update = None
    if "u" in text.lower():
        text, _, number = text.lower().partition("u")
        update = int("".join(c for c in number if c.isdigit()) or 0)
    try:
        parts = dotted(text)
    except ValueError:
        return None
    wanted = ".".join(str(n) for n in (*parts, 0)[:2])
    if update is None:
        update = parts[2] if len(parts) > 2 else 0
    rows = [row for row in toolkits(store) if row.cuda == wanted]
    named = next((row for row in rows if row.data["version"] == cuda.strip()), None)
    return named or next((row for row in rows if row.update == update), rows[0] if rows else None)


def driver_floor(store: Store, cuda: str, platform: str) -> DriverFloor | None:
    """See Tables.driver_floor."""
    side = family(platform)
    try:
        number = dotted(cuda)
    except ValueError:
        return None
    for raw in store.all("driver_floors"):
        if dotted(raw["cuda_major"])[0] == number[0] and raw["platform"] == side:
            return DriverFloor(
                ref=f"CUDA {raw['cuda_major']}.x runs from driver {raw['driver']} ({side.capitalize()})"
                f" by minor-version compatibility, from {raw['source']}",
                source=raw["source"],
                data=raw,
                cuda=f"{raw['cuda_major']}.x",
                platform=side,
                driver=raw["driver"],
                rule="minor-version",
            )
    found = toolkit(store, cuda)
    if number[0] >= 11 or found is None:
        return None
    row = [release for release in toolkits(store) if release.cuda == found.cuda][-1]  # its last update
    driver = row.windows if side == "windows" else row.linux
    if driver is None:
        return None
    return DriverFloor(
        ref=f"CUDA {row.cuda} needs its own driver {driver} ({side.capitalize()}), from {row.source}",
        source=row.source,
        data=row.data,
        cuda=row.cuda,
        platform=side,
        driver=driver,
        rule="toolkit",
    )


def branches(store: Store) -> tuple[DriverBranch, ...]:
    """Every driver branch, oldest first."""
    return store.made("drivers", _branch)


def _branch(raw: Mapping[str, Any]) -> DriverBranch:
    return DriverBranch(
        ref=f"driver branch R{raw['branch']}: up to CUDA {raw['cuda']}, from {raw['source']}",
        source=raw["source"],
        data=raw,
        branch=raw["branch"],
        cuda=raw["cuda"],
        first_linux=raw.get("linux"),
        first_windows=raw.get("windows"),
    )


def branch(store: Store, driver: str, platform: str) -> DriverBranch | None:
    """The branch that a driver belongs to by its first number; None where it is older or newer than all rows."""
    try:
        number = dotted(driver)[0]
    except ValueError:
        return None
    side = family(platform)
    found: DriverBranch | None = None
    rows = branches(store)
    for row in rows:
        first = row.first_windows if side == "windows" else row.first_linux
        if first is not None and dotted(first)[0] <= number:
            found = row
    if found is rows[-1] and number >= dotted(rows[-1].branch)[0] + 5:
        return None  # NVIDIA numbers its branches in steps of five: this one came after the table was made
    return found


def ptx_isas(store: Store) -> tuple[PtxIsa, ...]:
    """Every PTX ISA version, oldest first."""
    return store.made("ptx", _ptx_isa)


def _ptx_isa(raw: Mapping[str, Any]) -> PtxIsa:
    return PtxIsa(
        ref=f"PTX ISA {raw['isa']}: compiled by drivers of CUDA {raw['cuda']} and newer, from {raw['source']}",
        source=raw["source"],
        data=raw,
        isa=raw["isa"],
        cuda=raw["cuda"],
    )


def architectures(store: Store) -> tuple[Architecture, ...]:
    """Every GPU architecture, oldest first."""
    return store.made("architectures", _architecture)


def _architecture(raw: Mapping[str, Any]) -> Architecture:
    return Architecture(
        ref=f"{raw['name']} ({', '.join(raw['capabilities'])}): CUDA {raw['first_cuda']} to "
        f"{raw.get('last_cuda') or 'now'}, last driver branch "
        f"{'R' + raw['last_driver'] if raw.get('last_driver') else 'still open'}, from {raw['source']}",
        source=raw["source"],
        data=raw,
        name=raw["name"],
        capabilities=tuple(raw["capabilities"]),
        first_cuda=raw.get("first_cuda"),
        last_cuda=raw.get("last_cuda"),
        last_driver=raw.get("last_driver"),
    )


def forward(store: Store) -> tuple[ForwardCompatibility, ...]:
    """Every cuda-compat package, oldest first."""
    return store.made("forward_compat", _forward)


def _forward(raw: Mapping[str, Any]) -> ForwardCompatibility:
    return ForwardCompatibility(
        ref=f"{raw['package']}: {raw['hardware']}, from {raw['source']}",
        source=raw["source"],
        data=raw,
        cuda=raw["cuda"],
        branches=tuple(raw.get("branches") or ()),
    )


def cudnns(store: Store) -> tuple[Cudnn, ...]:
    """Every cuDNN release, oldest first; one row for each wheel that was read."""
    return store.made("cudnn", _cudnn)


def cudnn(store: Store, version: str, cuda_major: str | None = None) -> Cudnn | None:
    """The row of a cuDNN release; of a shorter version ("9", "8.9") the newest row that starts with it."""
    try:
        wanted = tuple(int(p) for p in version.strip().removeprefix("v").split("."))
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
    capabilities = tuple(raw.get("capabilities") or ())
    return Cudnn(
        ref=f"cuDNN {raw['version']} for CUDA {', '.join(raw['cuda'])}: kernels for "
        f"{', '.join(capabilities) or 'capabilities not read'}, from {raw['source']}",
        source=raw["source"],
        data=raw,
        version=raw["version"],
        cuda=tuple(raw["cuda"]),
        capabilities=capabilities,
        lowest=raw.get("lowest"),
        package=raw.get("package"),
    )


def compiled_cudnn(store: Store) -> tuple[Row, ...]:
    """The rows of cudnn_compiled.json."""
    return store.made("cudnn_compiled", _compiled_cudnn)


def _compiled_cudnn(raw: Mapping[str, Any]) -> Row:
    return Row(
        ref=f"TensorFlow {raw['versions']}: compiled with cuDNN {raw['cudnn']}, from {raw['source']}",
        source=raw["source"],
        data=raw,
    )


def wheels(store: Store, package: str | None = None) -> tuple[NvidiaWheel, ...]:
    """The nvidia-* wheels that were read, in the order of the file."""
    rows = store.made("nvidia_wheels", _wheel)
    return rows if package is None else tuple(row for row in rows if row.package == package)


def _wheel(raw: Mapping[str, Any]) -> NvidiaWheel:
    return NvidiaWheel(
        ref=f"{raw['package']} {raw['version']}: {', '.join(raw['libraries'])}, from {raw['source']}",
        source=raw["source"],
        data=raw,
        package=raw["package"],
        version=raw["version"],
        folder=raw.get("folder"),
        libraries=tuple(raw["libraries"]),
        compiled=tuple(raw.get("compiled") or ()),
        glibc=raw.get("glibc"),
    )


def pip_library(store: Store, soname: str, cuda_major: str | None = None) -> PipLibrary | None:
    """See Tables.pip_library."""
    rows = [row for row in wheels(store) if soname in row.libraries and row.folder]
    if not rows:
        return None
    wanted = ("-cu12", "-cu11", "") if cuda_major is None else (f"-cu{cuda_major}", "")
    package = min((row.package for row in rows), key=lambda name: _rank(name, wanted))
    own = sorted((row for row in rows if row.package == package), key=lambda row: dotted(row.version))
    folder = own[-1].folder or ""
    return PipLibrary(
        ref=f"{soname}: in {package} {own[0].version} to {own[-1].version}, folder {folder}, from {own[-1].source}",
        source=own[-1].source,
        data=own[-1].data,
        soname=soname,
        package=package,
        folder=folder,
        first=own[0].version,
        last=own[-1].version,
    )


def _rank(package: str, endings: tuple[str, ...]) -> tuple[int, str]:
    fitting = (n for n, ending in enumerate(endings) if package.endswith(ending) and (ending or "-cu1" not in package))
    return (next(fitting, len(endings)), package)


def libraries(store: Store) -> tuple[Library, ...]:
    """The catalogue of library names."""
    return store.made("libraries", _library)


def _library(raw: Mapping[str, Any]) -> Library:
    return Library(
        ref=f"{raw['soname']}: {raw['component']}"
        + (f", {_span(raw)}" if raw.get("first") else "")
        + f", from {raw['source']}",
        source=raw["source"],
        data=raw,
        soname=raw["soname"],
        component=raw["component"],
        first=raw.get("first"),
        last=raw.get("last"),
        platform=raw.get("platform", "linux"),
    )


def _span(raw: Mapping[str, Any]) -> str:
    first, last = raw["first"], raw.get("last")
    product = raw.get("product", "CUDA")
    return f"{product} {first}" if last == first else f"{product} {first} to {last or 'now'}"


def traps(store: Store) -> tuple[Trap, ...]:
    """The known traps."""
    return store.made("traps", _trap)


def _trap(raw: Mapping[str, Any]) -> Trap:
    return Trap(
        ref=f"{raw['name']}: {raw['title']}, from {raw['source']}",
        source=raw["source"],
        data=raw,
        name=raw["name"],
        title=raw["title"],
        verdict=raw["verdict"],
        reason=raw["reason"],
        cure=raw.get("cure", ""),
    )


def same_minor(a: str, b: str) -> bool:
    """Whether two versions share their first two numbers."""
    return dotted(minor(a)) == dotted(minor(b))
