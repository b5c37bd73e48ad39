"""Tests that each Tables object caches its own answers."""

from __future__ import annotations

import json
from pathlib import Path

from doctor.tables import Tables, store as stores


def tables_with(folder: Path, cuda: str) -> Tables:
    folder.mkdir()
    row = {
        "package": "tensorflow",
        "version": "2.10.0",
        "platform": "linux-x86_64",
        "gpu": True,
        "cuda": cuda,
    }
    (folder / "tensorflow.json").write_text(json.dumps({"table": "tensorflow", "rows": [row]}))
    return Tables(folder)


def test_second_look_up_returns_the_same_row() -> None:
    tables = Tables()
    assert tables.tensorflow("2.10.0") is tables.tensorflow("2.10.0")
    assert tables.tensorflow("2.10.0") is next(b for b in tables.gpu_builds() if b.version == "2.10.0")


def test_tables_in_two_folders_do_not_share_answers(tmp_path: Path) -> None:
    first, second = tables_with(tmp_path / "a", "11.2"), tables_with(tmp_path / "b", "12.5")
    rows = [tables.tensorflow("2.10.0") for tables in (first, second, first)]
    assert [row and row.cuda for row in rows] == ["11.2", "12.5", "11.2"]


def test_many_look_ups_do_not_fill_the_memory() -> None:
    tables = Tables()
    for number in range(stores._MOST_REMEMBERED + 50):
        tables.architecture(f"{number}.0")
    assert len(tables.answers) <= stores._MOST_REMEMBERED
