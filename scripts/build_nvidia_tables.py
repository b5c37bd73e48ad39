#!/usr/bin/env python3
"""Builds the tables of NVIDIA's side that can be read by a program.

    scripts/build_nvidia_tables.py gpus /usr/share/misc/pci.ids    compat_tables/gpus.json
    scripts/build_nvidia_tables.py wheels                          compat_tables/nvidia_wheels.json
    scripts/build_nvidia_tables.py cudnn                           compat_tables/cudnn.json (streams some gigabytes)

gpus: device id, chip and name from pci.ids (Debian's package pci.ids has a new one each month), compute
capability of the chip from compat_tables/chips.json. wheels: the nvidia-* wheels that TensorFlow's and-cuda
extra can install, read from the package index with range requests.

The other tables (cuda, driver_floors, drivers, ptx, architectures, forward_compat, chips, gpu_names,
libraries, traps) are kept by hand: they come from documents, whose title and section each row names.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "compat_tables"
sys.path.insert(0, str(ROOT))

from scripts.tables.archive import inflate, list_members, read_member  # noqa: E402
from scripts.tables.cache import Cache, default_folder  # noqa: E402
from scripts.tables.fatbin import Fatbins, scan  # noqa: E402
from scripts.tables.metadata import parse_metadata  # noqa: E402
from scripts.tables.progress import Progress  # noqa: E402
from scripts.tables.registry import IndexFile, PipSettings, pip_settings, project_files, session_for  # noqa: E402
from scripts.tables.remote import Remote  # noqa: E402
from scripts.tables.window import Window  # noqa: E402

ABOUT_GPUS = (
    "NVIDIA GPUs by PCI id: name and chip from pci.ids (BSD-3-Clause, see licenses/pci.ids.txt), compute "
    "capability from chips.json."
)


def write(table: str, about: str, rows: Iterable[dict[str, Any]], date: str) -> None:
    """Write one table, one row a line."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    head = f'{{"table": "{table}", "schema": 1, "date": "{date}",\n"about": {json.dumps(about, ensure_ascii=False)},\n'
    (TABLES / f"{table}.json").write_text(f'{head}"rows": [\n{lines}\n]}}\n', encoding="utf-8")


# --- gpus ----------------------------------------------------------------------------------------

_DEVICE = re.compile(r"^\t([0-9a-f]{4})  (.+)$")
_CHIP = re.compile(
    r"^(MCP7[7-9A]|MCP89|C7[789]|G[89][0-8]|GT2\d\d[ab]?|G[FKMPVAH]\d\d[0-9A-F]|GB\d\d[0-9]|GB\d\dB|TU\d{3}|AD\d{3})"
    r"([BC]?)(GLM|GL|BM|M|S)?(?= |$)"
)
_NOT_A_GPU = re.compile(
    r"audio|usb|ucsi|bridge|switch|memory|smbus|ethernet|controller|co-?processor|ide$", re.IGNORECASE
)


def nvidia_devices(text: str) -> Iterator[tuple[str, str]]:
    """Device id and description of every NVIDIA device in a pci.ids file."""
    inside = False
    for line in text.splitlines():
        if line.startswith("10de  "):
            inside = True
        elif inside and line and not line.startswith(("\t", "#")):
            return
        elif inside:
            match = _DEVICE.match(line)
            if match:
                yield match.group(1), match.group(2)


def gpus(pci_ids: Path) -> list[dict[str, Any]]:
    """A row for every device id whose chip has a known compute capability."""
    text = pci_ids.read_text(encoding="utf-8")
    version = re.search(r"^#\s*Version:\s*(\S+)", text, re.MULTILINE)
    source = f"pci.ids {version.group(1) if version else 'of unknown date'}, chips.json"
    chips = {row["chip"]: row["capability"] for row in json.loads((TABLES / "chips.json").read_text())["rows"]}
    rows, unknown = [], []
    for device, description in nvidia_devices(text):
        if _NOT_A_GPU.search(description):
            continue
        match = _CHIP.match(description)
        if not match:
            continue
        chip = match.group(1) + match.group(2)
        capability = chips.get(chip) or chips.get(match.group(1))
        if capability is None:
            unknown.append(description)
            continue
        if chips.get(chip) is None:
            chip = match.group(1)
        bracket = re.search(r"\[(.+)\]", description)
        names = alternatives(bracket.group(1)) if bracket else [chip]
        suffix = match.group(3) or ""
        kind = (
            "laptop"
            if suffix in ("M", "BM", "GLM") or "mobile" in description.lower()
            else ("workstation" if suffix == "GL" else "desktop")
        )
        row: dict[str, Any] = {"pci_id": f"10de:{device}", "name": names[0], "chip": chip, "capability": capability}
        if len(names) > 1:
            row["aliases"] = names[1:]
        row |= {"kind": kind, "source": source}
        rows.append(row)
    if unknown:
        print(f"{len(unknown)} devices of chips that chips.json does not have: " + "; ".join(unknown), file=sys.stderr)
    return rows


def alternatives(name: str) -> list[str]:
    """The names in "TS4 / B100"; "GeForce RTX 3080 Mobile / Max-Q 8GB/16GB" is one model in two forms."""
    parts = [part.strip() for part in name.split(" / ")]
    named = [parts[0]]
    for part in parts[1:]:
        if re.match(r"(?:Max-Q|Mobile|Laptop|\d+ ?GB)", part):
            model = re.sub(r" (?:Mobile|Max-Q).*$", "", parts[0])
            part = f"{model} {re.split(r'[ ]*[0-9]+ ?GB', part)[0]}".strip()
        if part and part not in named:
            named.append(part)
    return named


# --- wheels --------------------------------------------------------------------------------------

COMPONENTS = [
    "cublas",
    "cuda-cupti",
    "cuda-nvcc",
    "cuda-nvrtc",
    "cuda-runtime",
    "cufft",
    "curand",
    "cusolver",
    "cusparse",
    "nvjitlink",
]
PROJECTS = (
    *(
        f"nvidia-{name}-{cuda}"
        for cuda in ("cu11", "cu12")
        for name in COMPONENTS
        if (name, cuda) != ("nvjitlink", "cu11")
    ),
    *(f"nvidia-{name}" for name in COMPONENTS),
    *(f"nvidia-{name}-{cuda}" for name in ("cudnn", "nccl") for cuda in ("cu11", "cu12", "cu13")),
    *(f"nvidia-nvshmem-{cuda}" for cuda in ("cu12", "cu13")),
)
ABOUT_WHEELS = (
    "nvidia-* wheels for Linux x86_64: the libraries in them and the folder in site-packages that holds them, read "
    "from each wheel's directory; requires from its METADATA."
)
THREADS = 8
LIBRARY = re.compile(r"(nvidia/[\w/]+)/(lib[\w.+-]+?\.so(?:\.\d+)*)$")


def linux_wheels(files: Iterable[IndexFile]) -> list[IndexFile]:
    """One wheel a release for Linux x86_64, oldest release first; yanked ones and pre-releases are left out."""
    best: dict[Version, IndexFile] = {}
    for file in files:
        match = re.fullmatch(r"[^-]+-([^-]+)(?:-\d[^-]*)?-py3-none-(\S*x86_64)\.whl", file.filename)
        if match is None or file.yanked is not None or "linux" not in match.group(2):
            continue
        version = Version(match.group(1))
        if not version.is_prerelease:
            best.setdefault(version, file)
    return [best[version] for version in sorted(best)]


def read_wheel(project: str, file: IndexFile, remote: Remote, cache: Cache) -> dict[str, Any]:
    """The row of one wheel: what its directory and METADATA say."""
    row: dict[str, Any] | None = cache.get(file.sha256, "nvidia-wheel-1")
    if row is None:
        members = list_members(remote, file.url, remote.size(file.url))
        metadata = next(m for m in members if m.name.endswith(".dist-info/METADATA"))
        requires = parse_metadata(read_member(remote, file.url, metadata).decode("utf-8", "replace")).requires
        found = [(match.group(1), match.group(2)) for m in members if (match := LIBRARY.fullmatch(m.name))]
        folders = sorted({folder for folder, _ in found}, key=lambda f: (-sum(g == f for g, _ in found), f))
        row = {
            "package": project,
            "version": file.filename.split("-")[1],
            "folder": folders[0] if folders else None,
            "libraries": sorted({name for folder, name in found if folder == folders[0]}),
            "requires": list(requires),
            "source": file.filename,
            "sha256": file.sha256,
        }
        cache.put(file.sha256, "nvidia-wheel-1", row)
    return row


def wheels(remote: Remote, indexes: tuple[str, ...], cache: Cache) -> list[dict[str, Any]]:
    """A row for every release of every project."""
    jobs: list[tuple[str, IndexFile]] = []
    for project in PROJECTS:
        jobs += [(project, file) for file in linux_wheels(project_files(project, indexes, remote))]
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    with ThreadPoolExecutor(THREADS) as pool, Progress("nvidia wheels", len(jobs)) as progress:
        futures = {pool.submit(read_wheel, project, file, remote, cache): (project, file) for project, file in jobs}
        for future in as_completed(futures):
            project, file = futures[future]
            rows[project, file.filename] = future.result()
            progress.step(file.filename)
    return [rows[project, file.filename] for project, file in jobs]


# --- cudnn ---------------------------------------------------------------------------------------

ABOUT_CUDNN = (
    "cuDNN releases: the CUDA majors they are made for and the compute capabilities that they serve. Rows with a "
    "wheel: capabilities and ptx are the GPU code in libcudnn_ops (libcudnn_ops_infer before 9), which every "
    "operation needs. Rows without: from NVIDIA's support matrix, kept by hand."
)


def read_cudnn(project: str, file: IndexFile, settings: PipSettings, cache: Cache) -> dict[str, Any]:
    """The row of one nvidia-cudnn-cuXX wheel, from the fatbins in its libcudnn_ops."""
    row: dict[str, Any] | None = cache.get(file.sha256, "nvidia-cudnn-2")
    if row is not None:
        return row
    remote = Remote(functools.partial(session_for, settings))
    members = list_members(remote, file.url, remote.size(file.url))
    ops = [m for m in members if re.search(r"/libcudnn_ops(_infer)?\.so\.\d+$", m.name)]
    found = Fatbins()
    for member in ops:
        scan(Window(inflate(remote, file.url, member)), found)
    code = found.to_json()
    if not code["entries"] or code["malformed"]:
        raise ValueError(f"{file.filename}: {code['entries']} fatbin entries, {code['malformed']} malformed")
    compiled = sorted(code["compiled"], key=capability_order)
    row = {
        "version": file.filename.split("-")[1],
        "cuda": [project[-2:]],
        "package": project,
        "capabilities": compiled,
        "ptx": sorted(code["ptx"], key=capability_order),
        "ptx_isa": code["ptx"],
        "lowest": compiled[0],
        "members": [m.name for m in ops],
        "source": file.filename,
        "sha256": file.sha256,
    }
    cache.put(file.sha256, "nvidia-cudnn-2", row)
    return row


def capability_order(target: str) -> tuple[int, int, str]:
    """Sorts "9.0" before "9.0a" before "10.0"."""
    whole, _, part = target.partition(".")
    return int(whole), int(part.rstrip("af") or 0), target


def cudnns(settings: PipSettings, remote: Remote, cache: Cache, processes: int) -> list[dict[str, Any]]:
    """A row for every wheel, and the rows that are kept by hand."""
    jobs = [
        (project, file)
        for project in ("nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13")
        for file in linux_wheels(project_files(project, settings.indexes, remote))
    ]
    path = TABLES / "cudnn.json"
    rows = [row for row in json.loads(path.read_text())["rows"] if "sha256" not in row] if path.exists() else []
    with ProcessPoolExecutor(processes) as pool, Progress("cuDNN wheels", len(jobs)) as progress:
        futures = {pool.submit(read_cudnn, project, file, settings, cache): file for project, file in jobs}
        for future in as_completed(futures):
            rows.append(future.result())
            progress.step(futures[future].filename)
    return sorted(rows, key=lambda row: ([int(n) for n in row["version"].split(".")], row["cuda"]))


def main() -> int:
    """Run one builder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--date", default=datetime.datetime.now(datetime.timezone.utc).date().isoformat())
    jobs = parser.add_subparsers(dest="job", required=True)
    job = jobs.add_parser("gpus", help="compat_tables/gpus.json from a pci.ids file")
    job.add_argument("pci_ids", type=Path)
    jobs.add_parser("wheels", help="compat_tables/nvidia_wheels.json from the package index")
    job = jobs.add_parser("cudnn", help="compat_tables/cudnn.json from the package index (streams some gigabytes)")
    job.add_argument("--processes", type=int, default=2)
    parser.add_argument("--cache", type=Path, default=default_folder())
    args = parser.parse_args()
    if args.job == "gpus":
        rows = gpus(args.pci_ids)
        write("gpus", ABOUT_GPUS, rows, args.date)
        print(f"gpus.json: {len(rows)} rows", file=sys.stderr)
        return 0
    settings = pip_settings()
    remote = Remote(functools.partial(session_for, settings))
    if args.job == "cudnn":
        rows = cudnns(settings, remote, Cache(args.cache), args.processes)
        write("cudnn", ABOUT_CUDNN, rows, args.date)
        print(f"cudnn.json: {len(rows)} rows", file=sys.stderr)
        return 0
    rows = wheels(remote, settings.indexes, Cache(args.cache))
    write("nvidia_wheels", ABOUT_WHEELS, rows, args.date)
    print(f"nvidia_wheels.json: {len(rows)} rows", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
