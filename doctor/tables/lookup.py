"""Answers the look-ups of `tfgpu-doctor tables TABLE KEY`."""

from __future__ import annotations

from typing import Any

from doctor.tables import lookup_nvidia
from doctor.tables.answers import Found, NoSuchRowError, listing, said
from doctor.tables.ordering import nearest
from doctor.tables.ranges import of_build
from doctor.tables.rows import TensorFlowRelease, Trap
from doctor.tables.tables import Tables


def look_up(tables: Tables, table: str, key: str, package: str | None, platform: str | None) -> Found:
    """Return the answer to one look-up; an empty key asks for a list. Raises NoSuchRowError if no row has the
    key."""
    if table == "tensorflow":
        return _tensorflow(tables, key, package, platform)
    if table == "driver":
        return lookup_nvidia.driver(tables, key, platform or "linux")
    if table == "library":
        return lookup_nvidia.library(tables, key, platform)
    by_key = {
        "cuda": lookup_nvidia.cuda,
        "cudnn": lookup_nvidia.cudnn,
        "gpu": lookup_nvidia.gpu,
        "trap": lookup_nvidia.trap,
    }
    return by_key[table](tables, key)


def _tensorflow(tables: Tables, version: str, package: str | None, platform: str | None) -> Found:
    if platform in ("linux", "wsl"):
        platform = "linux-x86_64"
    elif platform == "windows":
        platform = "windows-amd64"
    if not version:
        columns = ("package", "version", "platform", "gpu", "cuda", "cudnn", "pythons", "glibc")
        return listing(tables.releases(platform, package), columns)
    where = platform or "linux-x86_64"
    row = tables.tensorflow(version, package or "tensorflow", where)
    if row is None and package is None:
        row = tables.tensorflow(version, None, where)
    if row is None:
        raise NoSuchRowError(_no_release(tables, version, package, where))
    title = f"{row.requirement} for {row.platform}"
    if row.version.startswith(f"{version}."):
        title += f" ({version} is taken as its newest release)"
    return Found([row.data], title, lambda: _release_pairs(tables, row))


def _release_pairs(tables: Tables, row: TensorFlowRelease) -> list[tuple[str, Any]]:
    data = row.data
    kernels = data.get("compute_capabilities") or {}
    pairs = [
        ("GPU build", said(row.gpu)),
        ("CUDA", data.get("cuda")),
        ("cuDNN", data.get("cudnn")),
        ("Python", row.pythons),
        ("Requires-Python", data.get("requires_python")),
        ("glibc", data.get("glibc")),
        *(
            (f"glibc, Python {python}", floor)
            for python, floor in row.glibc_by_python.items()
            if floor != row.glibc
        ),
        ("machine code for", kernels.get("compiled")),
        (
            "PTX for",
            [
                f"{t} (ISA {', '.join(v)})" if (v := kernels.get("ptx_isa", {}).get(t)) else t
                for t in kernels.get("ptx") or ()
            ],
        ),
        ("libraries it loads", data.get("libraries")),
        ("needed for a GPU", data.get("libraries_required")),
        ("not found in pip's folders", data.get("pip_libraries_missed")),
        ("MSVC runtime", data.get("msvc")),
        *((f"extra {name}", [f"{p}{s}" for p, s in pins.items()]) for name, pins in row.extras.items()),
    ]
    if row.yanked:
        pairs.append(("yanked", data["yanked"] or "yes"))
    if row.gpu is False:
        pairs += [
            ("GPU build of this version", other.requirement)
            for other in [tables.tensorflow(row.version, None, row.platform)]
            if other and other.gpu
        ]
    pairs += [("trap", f"{trap.title} ({trap.name})") for trap in _traps_about(tables, row)]
    evidence = data.get("evidence") or {}
    pairs += [("read from", row.source), *((f"  {name}", text) for name, text in evidence.items())]
    # leave out a value that cannot exist on this platform or for this release, instead of "not known"
    linux = row.platform.startswith("linux")
    moot = {"MSVC runtime" if linux else "glibc"} | (
        set() if "and-cuda" in row.extras else {"not found in pip's folders"}
    )
    return [
        (name, value)
        for name, value in pairs
        if value not in (None, [], ()) or (row.gpu is not False and name not in moot)
    ]


def _traps_about(tables: Tables, row: TensorFlowRelease) -> list[Trap]:
    return [
        trap
        for trap in tables.traps()
        if of_build(trap.data["when"], row.package, row.version, row.platform)
        and (row.gpu is not False or trap.data["aspect"] in ("build", "install", "extra"))
    ]


def _no_release(tables: Tables, version: str, package: str | None, platform: str) -> str:
    name = package or "tensorflow"
    known = [row.version for row in tables.releases(platform, name)]
    elsewhere = sorted({row.platform for row in tables.releases(None, name) if row.version == version})
    if elsewhere:
        return f"{name} {version} has no wheel for {platform}; it has wheels for {', '.join(elsewhere)}"
    if not known:
        packages = sorted({row.package for row in tables.releases(None)})
        return f"the tables have no release of {name} for {platform}; they have {', '.join(packages)}"
    near = nearest(version, known)
    return f"there is no {name} {version} for {platform}; the nearest releases are {', '.join(near)}"
