"""Converts the rows about drivers, CUDA toolkits, PTX and architectures to values, and chooses the row for a
given version."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor import lazy
from doctor.tables.rows import (
    Architecture,
    DriverBranch,
    DriverFloor,
    ForwardCompatibility,
    PtxIsa,
    Toolkit,
    made,
)
from doctor.tables.store import Store, remembered
from doctor.tables.versions import dotted

_TOOLKIT = lazy.compile(
    r"(?:cuda[-\s]{0,9})?[rv]?(\d[\d.]{0,40})(?:\s{0,9}u\D{0,20}(\d{1,9}))?", re.IGNORECASE
)


def family(platform: str) -> str:
    """Return the platform of the driver, "linux" or "windows". WSL2 uses the Windows driver."""
    return "windows" if platform.startswith(("win", "wsl")) else "linux"


def toolkits(store: Store) -> tuple[Toolkit, ...]:
    """Every CUDA toolkit release, oldest first."""
    return store.made("cuda", _toolkit)


def _toolkit(raw: Mapping[str, Any]) -> Toolkit:
    drivers = " / ".join(
        f"{raw[side]} ({side.capitalize()})" for side in ("linux", "windows") if raw.get(side)
    )
    return made(Toolkit, raw, f"CUDA {raw['version']}: released with driver {drivers}")


@remembered
def toolkit(store: Store, cuda: str) -> Toolkit | None:
    """Return the row of a toolkit ("12.5", "12.5.1", "12.5 Update 1"). If the update is not given or not
    known, return the row of the first release of that minor version."""
    match = _TOOLKIT.match(cuda.strip())
    if match is None:
        return None
    parts = (*dotted(match[1]), 0, 0)
    wanted = f"{parts[0]}.{parts[1]}"
    update = int(match[2] or parts[2])
    rows = [row for row in toolkits(store) if row.cuda == wanted]
    named = next((row for row in rows if row.data["version"] == cuda.strip()), None)
    return named or next((row for row in rows if row.update == update), rows[0] if rows else None)


@remembered
def driver_floor(store: Store, cuda: str, platform: str) -> DriverFloor | None:
    """See Tables.driver_floor."""
    side = family(platform)
    try:
        number = dotted(cuda)
    except ValueError:
        return None
    for raw in store.all("driver_floors"):
        if dotted(raw["cuda_major"])[0] == number[0] and raw["platform"] == side:
            return made(
                DriverFloor,
                raw,
                f"CUDA {raw['cuda_major']}.x runs on driver {raw['driver']} ({side.capitalize()}) or newer,"
                " by minor-version compatibility",
                cuda=f"{raw['cuda_major']}.x",
                rule="minor-version",
            )
    found = toolkit(store, cuda)
    if number[0] >= 11 or found is None:
        return None
    row = [release for release in toolkits(store) if release.cuda == found.cuda][-1]  # its last update
    driver = row.windows if side == "windows" else row.linux
    if driver is None:
        return None
    about = f"CUDA {row.cuda} needs driver {driver} or newer ({side.capitalize()})"
    return made(DriverFloor, row.data, about, platform=side, driver=driver, rule="toolkit")


def branches(store: Store) -> tuple[DriverBranch, ...]:
    """Every driver branch, oldest first."""
    return store.made("drivers", _branch)


def _branch(raw: Mapping[str, Any]) -> DriverBranch:
    about = f"driver branch R{raw['branch']}: up to CUDA {raw['cuda']}"
    return made(DriverBranch, raw, about, first_linux=raw.get("linux"), first_windows=raw.get("windows"))


@remembered
def branch(store: Store, driver: str, platform: str) -> DriverBranch | None:
    """Return the branch of a driver, found by its first number, or None if the driver is older or newer than
    all rows."""
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
        return None  # NVIDIA numbers branches in steps of five: this branch is newer than the table
    return found


def ptx_isas(store: Store) -> tuple[PtxIsa, ...]:
    """Every PTX ISA version, oldest first."""
    return store.made("ptx", _ptx_isa)


def _ptx_isa(raw: Mapping[str, Any]) -> PtxIsa:
    return made(PtxIsa, raw, f"PTX ISA {raw['isa']}: compiled by drivers for CUDA {raw['cuda']} and newer")


def forward(store: Store) -> tuple[ForwardCompatibility, ...]:
    """Every cuda-compat package, oldest first."""
    return store.made(
        "forward_compat", lambda raw: made(ForwardCompatibility, raw, f"{raw['package']}: {raw['hardware']}")
    )


def architectures(store: Store) -> tuple[Architecture, ...]:
    """Every GPU architecture, oldest first."""
    return store.made("architectures", _architecture)


def _architecture(raw: Mapping[str, Any]) -> Architecture:
    last = f"R{raw['last_driver']}" if raw.get("last_driver") else "still open"
    return made(
        Architecture,
        raw,
        f"{raw['name']} ({', '.join(raw['capabilities'])}): CUDA {raw['first_cuda']} to"
        f" {raw.get('last_cuda') or 'now'}, last driver branch {last}",
    )
