#!/usr/bin/env python3
"""Builds the tables of NVIDIA's side that can be read by a program.

    scripts/build_nvidia_tables.py gpus /usr/share/misc/pci.ids    compat_tables/gpus.json
    scripts/build_nvidia_tables.py wheels                          compat_tables/nvidia_wheels.json, cudnn.json

gpus: device id, chip and name from pci.ids (Debian's package pci.ids has a new one each month), compute
capability of the chip from compat_tables/chips.json. wheels: the nvidia-* wheels that TensorFlow's and-cuda
extra can install, read from the package index with range requests.

The other tables (cuda, driver_floors, drivers, ptx, architectures, forward_compat, chips, gpu_names,
libraries, traps) are kept by hand: they come from documents, whose title and section each row names.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "compat_tables"
sys.path.insert(0, str(ROOT))

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


def main() -> int:
    """Run one builder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--date", default=datetime.datetime.now(datetime.timezone.utc).date().isoformat())
    jobs = parser.add_subparsers(dest="job", required=True)
    job = jobs.add_parser("gpus", help="compat_tables/gpus.json from a pci.ids file")
    job.add_argument("pci_ids", type=Path)
    args = parser.parse_args()
    rows = gpus(args.pci_ids)
    write("gpus", ABOUT_GPUS, rows, args.date)
    print(f"gpus.json: {len(rows)} rows", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
