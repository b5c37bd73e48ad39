"""Compares the bundled table with the package index: one release from each period is read again from
scratch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "compat_tables" / "tensorflow.json"
AGES = ["1.4.0", "1.14.0", "2.3.0", "2.10.0", "2.16.1", "2.21.0"]


def lines(table: Path, versions: list[str]) -> list[str]:
    starts = tuple(
        f'{{"package": "{package}", "version": "{version}", '
        for package in ("tensorflow", "tensorflow-gpu")
        for version in versions
    )
    return [
        line.rstrip(",") for line in table.read_text(encoding="utf-8").splitlines() if line.startswith(starts)
    ]


@pytest.mark.online
@pytest.mark.slow
def test_releases_of_each_age_are_read_again_and_equal_the_bundled_rows(tmp_path: Path) -> None:
    newest = max(
        (row["version"] for row in json.loads(BUNDLED.read_text(encoding="utf-8"))["rows"]), key=Version
    )
    versions = [*AGES, *([newest] if newest not in AGES else [])]
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/build_tables.py"), "--full", "--only", *versions,
         "--cache", str(tmp_path / "cache"), "--output", str(tmp_path / "table.json")],
        capture_output=True, text=True, timeout=3000, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    again = lines(tmp_path / "table.json", versions)
    assert len(again) >= 2 * len(versions)
    assert again == lines(BUNDLED, versions)
