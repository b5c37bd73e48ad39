"""Answers look-ups in the tables of drivers, CUDA toolkits, cuDNN, GPUs, libraries and traps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from doctor.tables.answers import Found, NoSuchRowError, cited, listing, said
from doctor.tables.drivers import family
from doctor.tables.libraries import span
from doctor.tables.ordering import nearest, order
from doctor.tables.rows import Cudnn
from doctor.tables.tables import Tables
from doctor.tables.versions import dotted, minor


def driver(tables: Tables, version: str, platform: str) -> Found:
    """Return the page for a driver: its branch, and the CUDA versions and GPUs that it supports. Without a
    version, the list of branches.

    Raises NoSuchRowError.
    """
    side = family(platform)
    if not version:
        return listing(tables.driver_branches(), ("branch", "cuda", "linux", "windows"))
    row = tables.driver_branch(version, side)
    if row is None:
        known = [b.branch for b in tables.driver_branches()]
        raise NoSuchRowError(
            f"driver {version} is not in the tables, which contain the branches R{known[0]} to R{known[-1]}"
        )
    served = [
        architecture
        for architecture in tables.architectures()
        if (architecture.last_driver is None or dotted(architecture.last_driver)[0] >= dotted(row.branch)[0])
        and (architecture.first_cuda is None or dotted(architecture.first_cuda) <= dotted(row.cuda))
    ]
    majors_served = sorted({toolkit.cuda.split(".")[0] for toolkit in tables.toolkits()}, key=int)
    floors = [
        f for major in majors_served if (f := tables.driver_floor(major, side)) and f.rule == "minor-version"
    ]
    majors = [f.cuda for f in floors if dotted(version) >= dotted(f.driver)]
    entry = {
        "driver": version,
        "platform": side,
        "branch": row.branch,
        "cuda": row.cuda,
        "cuda_by_minor_version_compatibility": majors,
        "compute_capabilities": [c for a in served for c in a.capabilities],
        "source": row.source,
    }
    pairs = [
        ("branch", f"R{row.branch}"),
        ("highest CUDA that it supports", row.cuda),
        ("CUDA runtimes that it runs", majors or f"up to {row.cuda}"),
        ("compute capabilities that it supports", entry["compute_capabilities"]),
        ("source", cited(row, *(f for f in floors if f.cuda in majors))),
    ]
    return Found([entry], f"NVIDIA driver {version} ({side})", lambda: pairs)


def cuda(tables: Tables, version: str) -> Found:
    """Return the page for a CUDA toolkit: its drivers, GPUs and libraries, and the TensorFlow builds for it.
    Without a version, or with only a major version, the list of toolkits.

    Raises NoSuchRowError.
    """
    rows = [t for t in tables.toolkits() if version in ("", t.cuda.split(".")[0])]
    if rows:
        return listing(rows, ("version", "linux", "windows"))
    row = tables.toolkit(version)
    if row is None:
        near = nearest(version, [t.cuda for t in tables.toolkits()])
        raise NoSuchRowError(f"CUDA {version} is not in the tables; the nearest are {', '.join(near)}")
    floors = {side: tables.driver_floor(row.cuda, side) for side in ("linux", "windows")}
    here = dotted(row.cuda)
    libraries = [
        library.soname
        for library in tables.libraries()
        if library.data.get("product") == "CUDA"
        and library.first is not None
        and dotted(library.first) <= here
        and (library.last is None or here <= dotted(library.last))
    ]
    releases = _builds(tables, "cuda", row.cuda)
    forward = next((p for p in tables.forward_compatibility() if dotted(p.cuda) == here), None)
    entry = {
        **row.data,
        "forward_compatibility": (
            None if forward is None else {k: forward.data[k] for k in ("package", "hardware")}
        ),
        "driver_minimum": {side: floor and floor.driver for side, floor in floors.items()},
        "libraries": libraries,
        "tensorflow": _named(releases),
        "compute_capabilities": [
            c
            for a in tables.architectures()
            if dotted(a.first_cuda or "0") <= here and (a.last_cuda is None or here <= dotted(a.last_cuda))
            for c in a.capabilities
        ],
    }
    pairs = [
        ("released with driver", [f"{row.linux} (Linux)", f"{row.windows or 'none'} (Windows)"]),
        *((f"oldest driver ({side})", floor and floor.driver) for side, floor in floors.items()),
        *(
            [("on older drivers", f"{forward.data['package']}: {forward.data['hardware']}")]
            if forward
            else []
        ),
        ("compute capabilities", entry["compute_capabilities"]),
        ("libraries", libraries),
        ("TensorFlow builds made for it", _grouped(releases)),
        ("source", cited(row, *floors.values(), forward)),
    ]
    return Found([entry], f"CUDA {row.data['version']}", lambda: pairs)


def _builds(tables: Tables, key: str, number: str) -> list[Mapping[str, Any]]:
    """Return the raw rows of the GPU builds for this CUDA version (first two numbers) or cuDNN version (first
    number)."""
    of = minor if key == "cuda" else (lambda version: version.split(".")[0])
    return [
        raw
        for raw in tables.store.all("tensorflow")
        if raw["gpu"] and raw[key] and dotted(of(raw[key])) == dotted(of(number))
    ]


def _named(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return [f"{raw['package']}=={raw['version']} ({raw['platform']})" for raw in rows]


def _grouped(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the builds as text: their versions, grouped by package and platform."""
    groups: dict[tuple[str, str], list[str]] = {}
    for raw in rows:
        groups.setdefault((raw["package"], raw["platform"]), []).append(raw["version"])
    return (
        "; ".join(f"{package} {', '.join(v)} ({platform})" for (package, platform), v in groups.items())
        or "none"
    )


def cudnn(tables: Tables, version: str) -> Found:
    """Return the page for a cuDNN release. Without a version, or if several releases begin with the version,
    the list of releases.

    Raises NoSuchRowError.
    """
    rows = tables.cudnns()
    row = tables.cudnn(version) if version else None
    if version and row is None:
        raise NoSuchRowError(_no_cudnn(tables, version))
    begun = [r for r in rows if not version or f"{r.version}.".startswith(f"{version.lstrip('v')}.")]
    if row is None or len({r.version for r in begun}) > 1:
        return _cudnns(begun, merged=bool(version))
    same = [r for r in rows if r.version == row.version]
    major = row.version.split(".")[0]
    releases = _builds(tables, "cudnn", major)
    versions = sorted({r["version"] for r in releases}, key=order)
    span = f"{versions[0]} to {versions[-1]}" if versions else None
    entry = {
        **row.data,
        "cuda": [c for r in same for c in r.cuda],
        "packages": [r.package for r in same if r.package],
        "tensorflow": _named(releases),
    }
    pairs = [
        ("made for CUDA", entry["cuda"]),
        ("lowest compute capability", row.lowest),
        ("machine code for", row.capabilities),
        ("PTX for", row.data.get("ptx")),
        ("pip", [f"{r.package}=={r.version}" for r in same if r.package]),
        (f"TensorFlow builds that load cuDNN {major}", span),
        ("note", row.data.get("note")),
        ("source", cited(*same)),
    ]
    return Found(
        [entry], f"cuDNN {row.version}", lambda: [pair for pair in pairs if pair[1] or pair[0] != "note"]
    )


def _cudnns(rows: Iterable[Cudnn], *, merged: bool) -> Found:
    """Return the list of cuDNN releases. merged: join rows that differ only in their CUDA major version."""
    if not merged:
        return listing(rows, ("version", "cuda", "lowest", "capabilities", "source"))
    table: dict[tuple[Any, ...], dict[str, Any]] = {}
    for r in rows:
        kernels = (r.lowest, *(tuple(r.data.get(key) or ()) for key in ("capabilities", "ptx")))
        entry = table.setdefault(
            (r.version, *kernels),
            {"version": r.version, "cuda": [], "lowest": r.lowest, "packages": [], "sources": []},
        )
        entry.update({key: r.data.get(key) for key in ("capabilities", "ptx")})
        entry["cuda"] += r.cuda
        entry["packages"] += [r.package] if r.package else []
        entry["sources"] += [r.source]
    columns = ("version", "cuda", "lowest", "capabilities", "ptx", "packages")
    return Found(list(table.values()), columns=columns)


def _no_cudnn(tables: Tables, version: str) -> str:
    """Return the message for a cuDNN release without a row: the nearest releases, and the TensorFlow releases
    compiled with it."""
    rows = tables.cudnns()
    near = [
        f"{name} (CUDA {', '.join(dict.fromkeys(c for r in rows if r.version == name for c in r.cuda))};"
        f" GPUs from compute capability {next(r.lowest for r in rows if r.version == name)} on)"
        for name in nearest(version, [r.version for r in rows])
    ]
    built = [r.data["versions"] for r in tables.compiled_cudnn() if r.data["cudnn"] == minor(version)]
    compiled = f"; TensorFlow {' and '.join(built)} was compiled with it" if built else ""
    return f"cuDNN {version} is not in the tables; the nearest are {', '.join(near)}{compiled}"


def gpu(tables: Tables, name: str) -> Found:
    """Return the page for a GPU, found by name, PCI id or compute capability. Without a name, the list of
    GPUs.

    Raises NoSuchRowError.
    """
    if not name:
        rows = (*tables.store.all("gpus"), *tables.store.all("gpu_names"))
        return Found(rows, columns=("pci_id", "name", "chip", "capability"))
    found = tables.gpu(name)
    if not found:
        raise NoSuchRowError(
            f"the tables contain no GPU called {name!r}; enter its name as nvidia-smi or lspci -nn prints it,"
            " or its PCI id"
        )
    capabilities = sorted({gpu.capability for gpu in found if gpu.capability}, key=dotted)
    single = capabilities[0] if len(capabilities) == 1 else None
    architecture = None if single is None else tables.architecture(single)
    entry = {
        "query": name,
        "compute_capability": single,
        "ambiguous": len(capabilities) > 1,
        "capabilities": capabilities,
        "architecture": architecture and architecture.name,
        "last_driver_branch": architecture and architecture.last_driver,
        "rows": [gpu.data for gpu in found],
        "source": found[0].source,
    }
    verdict = single or f"{' or '.join(capabilities)}: GPUs with this name differ"
    pairs: list[tuple[str, Any]] = [("compute capability", verdict)]
    if architecture is not None:
        last = architecture.last_driver
        pairs += [
            ("architecture", architecture.name),
            ("last driver branch", f"R{last}" if last else "still supported"),
        ]
        pairs += [("CUDA toolkits", f"{architecture.first_cuda} to {architecture.last_cuda or 'now'}")]
    shown = 12
    pairs += [
        (gpu.pci_id or "name", f"{gpu.name} ({gpu.chip or gpu.kind}): {gpu.capability}")
        for gpu in found[:shown]
    ]
    if len(found) > shown:
        pairs.append(("", f"and {len(found) - shown} more: --format json lists them"))
    if entry["ambiguous"]:
        pairs.append(("to find out", "look up the PCI id that lspci -nn -d 10de: prints"))
    pairs.append(("source", cited(*found)))
    return Found([entry], name, lambda: pairs)


def library(tables: Tables, name: str, platform: str | None) -> Found:
    """Return the page for a library, found by SONAME or DLL name. Without a name, the list of libraries.

    Raises NoSuchRowError.
    """
    if not name:
        return listing(tables.libraries(), ("soname", "component", "product", "first", "last", "platform"))
    row = tables.library(name)
    opened = tables.build_opening(name, platform if platform and "-" in platform else None)
    if row is None and not opened:
        raise NoSuchRowError(f"the tables contain no library called {name!r}; `tables library` lists all")
    best, every = tables.pip_library(name), tables.pip_libraries(name)
    packages = {
        p.package: {"package": p.package, "folder": p.folder, "first": p.first, "last": p.last} for p in every
    }
    entry = {
        **(row.data if row else {"soname": name}),
        "tensorflow": [f"{r.requirement} ({r.platform})" for r in opened],
        "pip": best and packages[best.package],
        "pip_packages": list(packages.values()),
    }
    pairs = [
        ("component", row and row.component),
        ("contained in", row and row.first and f"{row.data['product']} {span(row.first, row.last)}"),
        *(("pip", f"{p.package} {span(p.first, p.last)}, folder {p.folder}") for p in every),
        ("loaded by", _grouped(r.data for r in opened)),
        ("note", row and row.data.get("note")),
        ("source", cited(row, *every)),
    ]
    return Found([entry], name, lambda: [pair for pair in pairs if pair[1]])


def trap(tables: Tables, name: str) -> Found:
    """Return the page for a known trap. Without a name, the list of traps.

    Raises NoSuchRowError.
    """
    traps = tables.traps()
    if not name:
        return listing(traps, ("name", "title", "verdict"))
    row = next((trap for trap in traps if trap.name == name), None)
    if row is None:
        raise NoSuchRowError(f"there is no trap called {name!r}; `tables trap` lists all")
    when = "; ".join(f"{key} {said(value)}" for key, value in row.data["when"].items())
    pairs = [("when", when), ("works", row.verdict), ("reason", row.reason), ("cure", row.cure or "none"),
             ("source", row.source)]  # fmt: skip
    return Found([row.data], row.title, lambda: pairs)
