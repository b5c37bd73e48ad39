"""What `tables TABLE KEY` answers: one object, or many rows; as JSON, text or Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from doctor.tables.rows import Row
from doctor.tables.tables import Tables
from doctor.tables.tensorflow import is_final, order
from doctor.tables.versions import dotted


class NoSuchRowError(LookupError):
    """There is no such row; the text names the nearest ones that are there."""


@dataclass(frozen=True, slots=True)
class Found:
    """The answer: `objects` for JSON (one a line), `title` and `pairs` or `columns` for people."""

    objects: Sequence[Mapping[str, Any]]
    title: str = ""
    pairs: Sequence[tuple[str, str]] = ()
    columns: Sequence[str] = ()
    single: bool = True

    def render(self, form: str) -> str:
        """The answer as json, markdown or text."""
        if form == "json":
            return "\n".join(json.dumps(entry, ensure_ascii=False) for entry in self.objects)
        if self.single:
            return _pairs(self.title, self.pairs, form)
        return _rows(self.columns, self.objects, form)


def look_up(tables: Tables, table: str, key: str, package: str | None, platform: str | None) -> Found:
    """One look-up. Raises NoSuchRowError where the key is in no row, ValueError for an unknown table."""
    match table:
        case "tensorflow":
            return _tensorflow(tables, key, package, platform)
        case "driver":
            return _driver(tables, key, platform or "linux")
        case "cuda":
            return _cuda(tables, key)
        case "cudnn":
            return _cudnn(tables, key)
        case "gpu":
            return _gpu(tables, key)
        case "library":
            return _library(tables, key, platform)
        case "trap":
            return _trap(tables, key)
    raise ValueError(f"no table {table!r}")


def _tensorflow(tables: Tables, version: str, package: str | None, platform: str | None) -> Found:
    if platform in ("linux", "wsl"):
        platform = "linux-x86_64"
    elif platform == "windows":
        platform = "windows-amd64"
    if not version:
        rows = tables.releases(platform, package)
        return Found(
            [row.data for row in rows],
            columns=("package", "version", "platform", "gpu", "cuda", "cudnn", "pythons", "glibc"),
            single=False,
        )
    where = platform or "linux-x86_64"
    row = tables.tensorflow(version, package or "tensorflow", where)
    if row is None and package is None:
        row = tables.tensorflow(version, None, where)
    if row is None:
        raise NoSuchRowError(_no_release(tables, version, package, where))
    return Found([row.data], row.requirement + f" for {row.platform}", _release_pairs(tables, row))


def _release_pairs(tables: Tables, row: Any) -> list[tuple[str, str]]:
    data = row.data
    kernels = data.get("compute_capabilities") or {}
    pairs = [
        ("GPU build", {True: "yes", False: "no", None: "not known"}[row.gpu]),
        ("CUDA", data.get("cuda")),
        ("cuDNN", data.get("cudnn")),
        ("Python", row.pythons),
        ("Requires-Python", data.get("requires_python")),
        ("glibc", data.get("glibc")),
        *((f"glibc, Python {python}", floor) for python, floor in row.glibc_by_python.items() if floor != row.glibc),
        ("machine code for", kernels.get("compiled")),
        (
            "PTX for",
            [
                f"{t} (ISA {', '.join(v)})" if (v := kernels.get("ptx_isa", {}).get(t)) else t
                for t in kernels.get("ptx") or ()
            ],
        ),
        ("libraries opened", data.get("libraries")),
        ("needed for a GPU", data.get("libraries_required")),
        ("not found in pip's folders", data.get("pip_libraries_missed")),
        ("MSVC runtime", data.get("msvc")),
        *((f"extra {name}", [f"{p}{s}" for p, s in pins.items()]) for name, pins in row.extras.items()),
    ]
    pairs += [("yanked", data["yanked"] or "yes")] if row.yanked else []  # fmt: skip
    if row.gpu is False:
        pairs += [("GPU build of this version", other.requirement)
                  for other in [tables.tensorflow(row.version, None, row.platform)] if other and other.gpu]  # fmt: skip
    pairs += [("trap", f"{trap.title} ({trap.name})") for trap in _traps_about(tables, row)]
    evidence = data.get("evidence") or {}
    pairs += [("read from", row.source), *((f"  {name}", text) for name, text in evidence.items())]
    return [(name, _said(value)) for name, value in pairs if row.gpu is not False or value not in (None, [], ())]


def _traps_about(tables: Tables, row: Any) -> list[Any]:
    from doctor.tables.ranges import of_build

    about = [trap for trap in tables.traps() if of_build(trap.data["when"], row.package, row.version, row.platform)]
    return [trap for trap in about if row.gpu is not False or trap.data["aspect"] in ("build", "install", "extra")]


def _no_release(tables: Tables, version: str, package: str | None, platform: str) -> str:
    name = package or "tensorflow"
    known = [row.version for row in tables.releases(platform, name)]
    elsewhere = sorted({row.platform for row in tables.releases(None, name) if row.version == version})
    if elsewhere:
        return f"{name} {version} has no wheel for {platform}; it has for {', '.join(elsewhere)}"
    if not known:
        packages = sorted({row.package for row in tables.releases(None)})
        return f"no release of {name} for {platform} is in the tables, which hold {', '.join(packages)}"
    near = nearest(version, known)
    return f"there is no {name} {version} for {platform}; the nearest releases are {', '.join(near)}"


def nearest(version: str, known: Sequence[str], count: int = 2) -> list[str]:
    """The releases just below and just above a version, oldest first."""
    wanted = order(version)
    ranked = sorted(set(known), key=order)
    if wanted[0] == 0:
        return [v for v in ranked if is_final(v)][-count:]
    below = [v for v in ranked if order(v) < wanted][-count:]
    above = [v for v in ranked if order(v) > wanted][:count]
    return [*below, *above]


def _driver(tables: Tables, version: str, platform: str) -> Found:
    side = "windows" if platform.startswith(("win", "wsl")) else "linux"
    if not version:
        return _listing(tables.driver_branches(), ("branch", "cuda", "linux", "windows"))
    row = tables.driver_branch(version, side)
    if row is None:
        known = [b.branch for b in tables.driver_branches()]
        raise NoSuchRowError(
            f"driver {version} belongs to no branch in the tables, which go from R{known[0]} to R{known[-1]}"
        )
    served = [
        architecture
        for architecture in tables.architectures()
        if (architecture.last_driver is None or dotted(architecture.last_driver)[0] >= dotted(row.branch)[0])
        and (architecture.first_cuda is None or dotted(architecture.first_cuda) <= dotted(row.cuda))
    ]
    floors = [f for major in ("11", "12", "13") if (f := tables.driver_floor(f"{major}.0", side)) is not None]
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
        ("highest CUDA that it offers", row.cuda),
        ("runs CUDA runtimes of", majors or f"up to {row.cuda}"),
        ("serves GPUs of compute capability", entry["compute_capabilities"]),
        ("source", _cited(row, *(f for f in floors if f.cuda in majors))),
    ]
    return Found([entry], f"NVIDIA driver {version} ({side})", [(n, _said(v)) for n, v in pairs])


def _cuda(tables: Tables, version: str) -> Found:
    if not version:
        return _listing(tables.toolkits(), ("version", "linux", "windows"))
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
    releases = [r for r in tables.releases(None) if r.gpu and r.cuda and dotted(r.cuda)[:2] == here[:2]]
    entry = {
        **row.data,
        "driver_minimum": {side: floor and floor.driver for side, floor in floors.items()},
        "libraries": libraries,
        "tensorflow": [f"{r.requirement} ({r.platform})" for r in releases],
        "compute_capabilities": [
            c
            for a in tables.architectures()
            if dotted(a.first_cuda or "0") <= here and (a.last_cuda is None or here <= dotted(a.last_cuda))
            for c in a.capabilities
        ],
    }
    pairs = [
        ("made with driver", [f"{row.linux} (Linux)", f"{row.windows or 'none'} (Windows)"]),
        *((f"runs from driver ({side})", floor and floor.driver) for side, floor in floors.items()),
        ("compute capabilities", entry["compute_capabilities"]),
        ("libraries", libraries),
        ("TensorFlow builds made for it", entry["tensorflow"]),
        ("source", _cited(row, *floors.values())),
    ]
    return Found([entry], f"CUDA {row.data['version']}", [(n, _said(v)) for n, v in pairs])


def _cudnn(tables: Tables, version: str) -> Found:
    rows = tables.cudnns()
    if not version:
        return _listing(rows, ("version", "cuda", "lowest", "capabilities", "source"))
    row = tables.cudnn(version)
    if row is None:
        near = nearest(version, [r.version for r in rows])
        raise NoSuchRowError(f"cuDNN {version} is not in the tables; the nearest are {', '.join(near)}")
    same = [r for r in rows if r.version == row.version]
    major = row.version.split(".")[0]
    releases = [r for r in tables.releases(None) if r.gpu and r.cudnn and r.cudnn.split(".")[0] == major]
    span = f"{releases[0].version} to {releases[-1].version}" if releases else None
    entry = {
        **row.data,
        "cuda": [c for r in same for c in r.cuda],
        "packages": [r.package for r in same if r.package],
        "tensorflow": [f"{r.requirement} ({r.platform})" for r in releases],
    }
    pairs = [
        ("made for CUDA", entry["cuda"]),
        ("lowest compute capability", row.lowest),
        ("machine code for", row.capabilities),
        ("PTX for", row.data.get("ptx")),
        ("pip", [f"{r.package}=={r.version}" for r in same if r.package]),
        (f"TensorFlow builds that open cuDNN {major}", span),
        ("note", row.data.get("note")),
        ("source", _cited(*same)),
    ]
    return Found([entry], f"cuDNN {row.version}", [(n, _said(v)) for n, v in pairs if v or n != "note"])


def _gpu(tables: Tables, name: str) -> Found:
    if not name:
        rows = (*tables.store.all("gpus"), *tables.store.all("gpu_names"))
        return Found(rows, columns=("pci_id", "name", "chip", "capability"), single=False)
    found = tables.gpu(name)
    if not found:
        raise NoSuchRowError(
            f"no GPU called {name!r} is in the tables; give it as nvidia-smi or lspci -nn writes it, or by PCI id"
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
    said = single or f"not decided by this name: {', '.join(capabilities)}"
    pairs: list[tuple[str, Any]] = [("compute capability", said)]
    if architecture is not None:
        last = architecture.last_driver
        pairs += [("architecture", architecture.name), ("last driver branch", f"R{last}" if last else "still served")]
        pairs += [("CUDA toolkits", f"{architecture.first_cuda} to {architecture.last_cuda or 'now'}")]
    shown = 12
    pairs += [(gpu.pci_id or "name", f"{gpu.name} ({gpu.chip or gpu.kind}): {gpu.capability}") for gpu in found[:shown]]
    if len(found) > shown:
        pairs.append(("", f"and {len(found) - shown} more: --format json lists them"))
    if entry["ambiguous"]:
        pairs.append(("to decide", "the PCI id: lspci -nn -d 10de:"))
    pairs.append(("source", _cited(*found)))
    return Found([entry], name, [(n, _said(v)) for n, v in pairs])


def _library(tables: Tables, name: str, platform: str | None) -> Found:
    if not name:
        return _listing(tables.libraries(), ("soname", "component", "product", "first", "last", "platform"))
    row = tables.library(name)
    opened = tables.build_opening(name, platform if platform and "-" in platform else None)
    if row is None and not opened:
        raise NoSuchRowError(f"no library called {name!r} is in the tables; tables library lists them")
    pip = tables.pip_library(name)
    entry = {
        **(row.data if row else {"soname": name}),
        "tensorflow": [f"{r.requirement} ({r.platform})" for r in opened],
        "pip": None if pip is None else {"package": pip.package, "folder": pip.folder, "first": pip.first,
                                         "last": pip.last},
    }  # fmt: skip
    pairs = [
        ("component", row and row.component),
        ("in", row and row.first and f"{row.data['product']} {_span(row.first, row.last)}"),
        ("pip", pip and f"{pip.package} {pip.first} to {pip.last}, folder {pip.folder}"),
        ("opened by", [f"{r.requirement} ({r.platform})" for r in opened]),
        ("note", row and row.data.get("note")),
        ("source", _cited(row, pip)),
    ]
    return Found([entry], name, [(n, _said(v)) for n, v in pairs if v])


def _trap(tables: Tables, name: str) -> Found:
    traps = tables.traps()
    if not name:
        return _listing(traps, ("name", "title", "verdict"))
    row = next((trap for trap in traps if trap.name == name), None)
    if row is None:
        raise NoSuchRowError(f"no trap called {name!r}; tables trap lists them")
    when = "; ".join(f"{key} {_said(value)}" for key, value in row.data["when"].items())
    pairs = [("when", when), ("verdict", row.verdict), ("reason", row.reason), ("cure", row.cure or "none"),
             ("source", row.source)]  # fmt: skip
    return Found([row.data], row.title, pairs)


def _cited(*rows: Row | None) -> str:
    """The sources of rows, each once."""
    return "; ".join(dict.fromkeys(row.source for row in rows if row is not None))


def _listing(rows: Iterable[Row], columns: Sequence[str]) -> Found:
    return Found([row.data for row in rows], columns=columns, single=False)


def _span(first: str, last: str | None) -> str:
    return first if first == last else f"{first} to {last or 'now'}"


def _said(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(str(v) for v in value) or "none"
    return str(value)


def _pairs(title: str, pairs: Sequence[tuple[str, str]], form: str) -> str:
    if form == "markdown":
        head = [f"### {title}", "", "| | |", "|---|---|"]
        return "\n".join([*head, *(f"| {name} | {_escaped(value)} |" for name, value in pairs)])
    import shutil
    import textwrap

    indent = min(max((len(name) for name, _ in pairs), default=0) + 4, 40)
    width = max(shutil.get_terminal_size((100, 24)).columns - 1, indent + 30)
    lines = [title]
    for name, value in pairs:
        body = textwrap.wrap(value, width - indent, break_long_words=False, break_on_hyphens=False) or [""]
        lines.append(f"  {name:<{indent - 2}}{body[0]}")
        lines += [" " * indent + rest for rest in body[1:]]
    return "\n".join(lines)


def _rows(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], form: str) -> str:
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    if form == "markdown":
        head = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
        return "\n".join([*head, *(f"| {' | '.join(map(_escaped, line))} |" for line in cells)])
    widths = [max([len(name), *(len(line[n]) for line in cells)]) for n, name in enumerate(columns)]
    lines = ["  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip()
             for line in (columns, *cells)]  # fmt: skip
    return "\n".join(lines)


def _cell(value: Any) -> str:
    return "-" if value is None else _said(value).replace(", ", " ")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
