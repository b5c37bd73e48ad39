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
import functools
import json
import sys
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "compat_tables"
sys.path.insert(0, str(ROOT))

from doctor.tables.reading import nvidia  # noqa: E402
from doctor.tables.reading.archive import ArchiveError  # noqa: E402
from doctor.tables.reading.cache import Cache, default_folder  # noqa: E402
from doctor.tables.reading.registry import RegistryError, pip_settings, session_for  # noqa: E402
from doctor.tables.reading.remote import Remote, RemoteError  # noqa: E402
from scripts import pciids  # noqa: E402

ABOUT_GPUS = (
    "NVIDIA GPUs by PCI id: name and chip from pci.ids (BSD-3-Clause, see licenses/pci.ids.txt), compute "
    "capability from chips.json."
)


ABOUT_WHEELS = (
    "nvidia-* wheels for Linux x86_64: the libraries in them and the folder in site-packages that holds them, read "
    "from each wheel's directory; requires from its METADATA."
)
ABOUT_CUDNN = (
    "cuDNN releases: the CUDA majors they are made for and the compute capabilities that they serve. Rows with a "
    "wheel: capabilities and ptx are the GPU code in libcudnn_ops (libcudnn_ops_infer before 9), which every "
    "operation needs. Rows without: from NVIDIA's support matrix, kept by hand."
)


def write(table: str, about: str, rows: Iterable[dict[str, Any]], date: str) -> None:
    """Write one table, one row a line."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    head = f'{{"table": "{table}", "schema": 1, "date": "{date}",\n"about": {json.dumps(about, ensure_ascii=False)},\n'
    (TABLES / f"{table}.json").write_text(f'{head}"rows": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{table}.json: {lines.count(chr(10)) + 1} rows", file=sys.stderr)


def rows_of(table: str) -> list[dict[str, Any]]:
    """The rows of a table as it stands; none where there is no such file."""
    path = TABLES / f"{table}.json"
    return list(json.loads(path.read_text(encoding="utf-8"))["rows"]) if path.exists() else []


def main() -> int:
    """Run one builder. Exit codes: 0 done, 3 the registry could not be read (the table stays as it was)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--date", default=f"{datetime.now(timezone.utc):%Y-%m-%d}", help="default: today")
    parser.add_argument("--cache", type=Path, default=default_folder(), metavar="DIR", help="default: %(default)s")
    jobs = parser.add_subparsers(dest="job", required=True)
    job = jobs.add_parser("gpus", help="compat_tables/gpus.json from a pci.ids file")
    job.add_argument("pci_ids", type=Path)
    jobs.add_parser("wheels", help="compat_tables/nvidia_wheels.json from the package index")
    job = jobs.add_parser("cudnn", help="compat_tables/cudnn.json from the package index (streams some gigabytes)")
    job.add_argument("--processes", type=int, default=2, metavar="N", help="default: %(default)s")
    args = parser.parse_args()
    if args.job == "gpus":
        chips = {row["chip"]: row["capability"] for row in rows_of("chips")}
        rows, unknown = pciids.gpus(args.pci_ids.read_text(encoding="utf-8"), chips)
        write("gpus", ABOUT_GPUS, rows, args.date)
        for description in unknown:
            print(f"  a chip that chips.json does not have: {description}", file=sys.stderr)
        return 0
    try:
        settings = pip_settings()
        remote = Remote(functools.partial(session_for, settings))
        cache = Cache(args.cache)
        if args.job == "wheels":
            write("nvidia_wheels", ABOUT_WHEELS, nvidia.wheels(remote, settings.indexes, cache), args.date)
        else:
            by_hand = [row for row in rows_of("cudnn") if "sha256" not in row]
            write("cudnn", ABOUT_CUDNN, nvidia.cudnns(settings, remote, cache, args.processes, by_hand), args.date)
    except (RegistryError, RemoteError, ArchiveError) as error:
        print(f"build_nvidia_tables: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print(
            "\nbuild_nvidia_tables: stopped; what was read is kept, the same call goes on from there", file=sys.stderr
        )
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
