"""Records the TensorFlow logs that the tests read: tests/data/logs/simulated and tests/data/logs/recorded.

    python scripts/record_logs.py --environments ENVS [--tensorflow 2.21.0 ...] [--only NAME ...] [--jobs 2]
    python scripts/record_logs.py --packaging [--only NAME ...]
    python scripts/record_logs.py --expectations        (updates the codes in the sidecars; runs nothing)

ENVS is a folder with one virtual environment for each TensorFlow release, named after the release. Recording
packaging failures needs the package index, and makes its own environments (tests/tensorflow_envs.py). Each
log has a sidecar (.json) with the command, the faults, the code that `tfgpu-doctor explain` must give, the
exit code, and the kinds of text that were replaced.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.recordings.catalogue import Recording, catalogue  # noqa: E402
from scripts.recordings.packaging import PACKAGING, record_packaging  # noqa: E402
from scripts.recordings.running import record, write  # noqa: E402

LOGS = ROOT / "tests" / "data" / "logs"


def main() -> int:
    """Record the logs that the arguments name. Returns 1 if a log could not be recorded, otherwise 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--environments", type=Path, metavar="ENVS")
    parser.add_argument("--packaging", action="store_true")
    parser.add_argument("--expectations", action="store_true")
    parser.add_argument("--tensorflow", nargs="+", metavar="VERSION", help="default: every environment")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="the names of the recordings")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--output", type=Path, default=LOGS, metavar="FOLDER")
    args = parser.parse_args()
    if args.packaging:
        return _packaging(args.output, args.only)
    if args.expectations:
        return _expectations(args.output)
    if args.environments is None:
        parser.error("--environments or --packaging is needed")
    there = (path.parent.parent.name for path in args.environments.glob("*/bin/python"))
    versions = args.tensorflow or sorted(name for name in there if re.fullmatch(r"\d+\.\d+\.\d+", name))
    work = [
        (version, recording)
        for version in versions
        for recording in catalogue(version)
        if not args.only or recording.name in args.only
    ]

    def one(item: tuple[str, Recording]) -> bool:
        version, recording = item
        kind = "simulated" if recording.simulated else "recorded"
        try:
            log, sidecar = record(recording, args.environments / version / "bin" / "python")
        except Exception as error:  # noqa: BLE001 (a failed recording must not end the others)
            print(f"{version}/{recording.name}: {error!r}", file=sys.stderr)
            return False
        path = write(args.output / kind / version, recording.name, version, log, sidecar)
        print(
            f"{path.relative_to(args.output)}: {len(log)} characters, exit code {sidecar['exit_code']}",
            flush=True,
        )
        return True

    with ThreadPoolExecutor(args.jobs) as pool:
        return 0 if all(list(pool.map(one, work))) else 1


def _packaging(output: Path, only: list[str] | None) -> int:
    for item in PACKAGING:
        if only and item.name not in only:
            continue
        with tempfile.TemporaryDirectory() as work:
            log, sidecar = record_packaging(item, Path(work))
        path = write(output / "recorded" / "packaging", item.name, item.tensorflow, log, sidecar)
        print(
            f"{path.relative_to(output)}: {len(log)} characters, exit code {sidecar['exit_code']}", flush=True
        )
    return 0


def _expectations(output: Path) -> int:
    """Update the code in each sidecar from the catalogue. Remove each log that is no longer in the
    catalogue."""
    for sidecar in sorted([*output.glob("simulated/*/*.json"), *output.glob("recorded/*/*.json")]):
        release = sidecar.parent.name
        wanted = PACKAGING if release == "packaging" else catalogue(release)
        code = next((item.code for item in wanted if item.name == sidecar.stem), None)
        if code is None:
            sidecar.unlink()
            sidecar.with_suffix(".log").unlink()
            print(f"{release}/{sidecar.stem}: removed")
            continue
        document = json.loads(sidecar.read_text())
        if document["code"] != code:
            print(f"{release}/{sidecar.stem}: {document['code']} is now {code}")
            sidecar.write_text(json.dumps({**document, "code": code}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
