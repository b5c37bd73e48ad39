"""Tests reading the tables: only when needed, row by row, and from a refreshed copy instead of the bundled
table."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.tables import Tables
from doctor.tables.ordering import order
from doctor.tables.store import Store, TableError, user_folder
from doctor.tables.versions import at_least, dotted
from tests.conftest import BUNDLED
from tests.sampling import each

ROWS = [
    {
        "package": "tensorflow",
        "version": "2.3.0",
        "platform": "linux-x86_64",
        "gpu": True,
        "cuda": "10.1",
        "cudnn": "7",
    },
    {"package": "tensorflow", "version": "2.3.10", "platform": "linux-x86_64", "gpu": True, "cuda": "10.1"},
    {"package": "tensorflow", "version": "2.3.9", "platform": "linux-x86_64", "gpu": True},
    {"package": "tensorflow", "version": "2.3.11rc1", "platform": "linux-x86_64", "gpu": True},
    {"package": "tensorflow", "version": "2.30.0", "platform": "linux-x86_64", "gpu": True},
    {"package": "tensorflow", "version": "1.14.0", "platform": "linux-x86_64", "gpu": False},
    {"package": "tensorflow-gpu", "version": "1.14.0", "platform": "linux-x86_64", "gpu": True},
    {"package": "tensorflow", "version": "1.14.0", "platform": "windows-amd64", "gpu": False},
]


def test_minor_version_means_its_newest_patch_release(small: Callable[..., Path]) -> None:
    small_tables = Tables(small("tensorflow", ROWS).parent)
    found = small_tables.tensorflow("2.3")
    assert found is not None
    assert found.version == "2.3.10"


def test_exact_release_does_not_match_a_longer_version(small: Callable[..., Path]) -> None:
    small_tables = Tables(small("tensorflow", ROWS).parent)
    found = small_tables.tensorflow("2.3.1")
    assert found is None


def test_prerelease_is_found_only_by_its_full_version(small: Callable[..., Path]) -> None:
    small_tables = Tables(small("tensorflow", ROWS).parent)
    assert (row := small_tables.tensorflow("2.3.11rc1")) is not None
    assert row.version == "2.3.11rc1"


@pytest.mark.parametrize("written", ["v2.3.0", "2.3.0+nv20.12", " 2.3.0 "])
def test_release_is_found_as_builds_and_people_write_it(small: Callable[..., Path], written: str) -> None:
    row = Tables(small("tensorflow", ROWS).parent).tensorflow(written)
    assert row is not None
    assert row.version == "2.3.0"


def test_minor_version_with_a_wildcard_means_the_minor_version(small: Callable[..., Path]) -> None:
    small_tables = Tables(small("tensorflow", ROWS).parent)
    assert (
        small_tables.tensorflow("2.3.x") == small_tables.tensorflow("2.3.*") == small_tables.tensorflow("2.3")
    )
    assert small_tables.tensorflow("2.3.11-rc1").version == "2.3.11rc1"  # type: ignore[union-attr]


def test_gpu_builds_come_newest_first_with_one_per_version(small: Callable[..., Path]) -> None:
    yanked = {
        "package": "tensorflow",
        "version": "9.0.0",
        "platform": "linux-x86_64",
        "gpu": True,
        "yanked": "bad",
    }
    builds = list(Tables(small("tensorflow", [*ROWS, yanked]).parent).gpu_builds())
    assert [b.version for b in builds] == ["2.30.0", "2.3.11rc1", "2.3.10", "2.3.9", "2.3.0", "1.14.0"]
    assert builds[-1].package == "tensorflow-gpu"


def test_gpu_build_is_preferred_if_no_package_is_named(small: Callable[..., Path]) -> None:
    small_tables = Tables(small("tensorflow", ROWS).parent)
    assert small_tables.tensorflow("1.14.0").package == "tensorflow-gpu"  # type: ignore[union-attr]
    assert small_tables.tensorflow("1.14.0", "tensorflow").gpu is False  # type: ignore[union-attr]


def test_releases_of_other_platforms_are_not_returned(small: Callable[..., Path]) -> None:
    small_tables = Tables(small("tensorflow", ROWS).parent)
    assert small_tables.tensorflow("2.3", platform="windows-amd64") is None


def test_absent_keys_are_unknown_not_guessed(small: Callable[..., Path]) -> None:
    row = Tables(small("tensorflow", ROWS).parent).tensorflow("2.3.9")
    assert row is not None
    assert (row.cuda, row.cudnn, row.compute_capabilities, row.pip_libraries_missed) == (
        None,
        None,
        None,
        None,
    )
    assert (row.libraries, row.pythons, row.extras) == ((), (), {})


def test_releases_are_in_order_of_age(small: Callable[..., Path]) -> None:
    small_tables = Tables(small("tensorflow", ROWS).parent)
    assert [r.version for r in small_tables.releases(package="tensorflow")] == [
        "1.14.0", "2.3.0", "2.3.9", "2.3.10", "2.3.11rc1", "2.30.0",
    ]  # fmt: skip


def test_order_handles_prereleases_and_post_releases() -> None:
    versions = ["2.15.0.post1", "2.15.0", "2.15.0rc1", "2.15.0rc0", "2.15.1", "2.16.0.dev20240101", "2.9.0"]
    assert sorted(versions, key=order) == [
        "2.9.0", "2.15.0rc0", "2.15.0rc1", "2.15.0", "2.15.0.post1", "2.15.1", "2.16.0.dev20240101",
    ]  # fmt: skip


def test_dotted_numbers_are_no_decimal_fractions() -> None:
    assert dotted("12.10") > dotted("12.2")
    assert dotted("450.80.02") == (450, 80, 2)
    assert dotted("12.0") == dotted("12")
    assert dotted("R535") == (535,)
    assert at_least("525.60.13", "525.60.13")
    with pytest.raises(ValueError, match="no version number"):
        dotted("unknown")


def refreshed(path: Path) -> None:
    path.with_suffix(".json.sha256").write_text(hashlib.sha256(path.read_bytes()).hexdigest() + "\n")


def test_newer_refreshed_table_is_used(small: Callable[..., Path], tmp_path: Path) -> None:
    base = small("tensorflow", ROWS[:1], date="2026-01-02", folder=tmp_path / "bundled").parent
    newer = small("tensorflow", ROWS, date="2026-02-03", folder=tmp_path / "user")
    refreshed(newer)
    both = Tables(base, newer.parent)
    assert both.date == "2026-02-03"
    assert both.tensorflow("2.30.0") is not None
    assert both.store.notes == []


def test_refreshed_table_that_was_changed_by_hand_is_not_used(
    small: Callable[..., Path], tmp_path: Path
) -> None:
    base = small("tensorflow", ROWS[:1], date="2026-01-02", folder=tmp_path / "bundled").parent
    newer = small("tensorflow", ROWS, date="2026-02-03", folder=tmp_path / "user")
    refreshed(newer)
    newer.write_text(newer.read_text().replace("10.1", "99.9"))
    both = Tables(base, newer.parent)
    assert both.date == "2026-01-02"
    assert "does not match the hash" in both.store.notes[0]


def test_refreshed_table_older_than_the_bundled_one_is_not_used(
    small: Callable[..., Path], tmp_path: Path
) -> None:
    base = small("tensorflow", ROWS[:1], date="2026-03-04", folder=tmp_path / "bundled").parent
    older = small("tensorflow", ROWS, date="2026-02-03", folder=tmp_path / "user")
    refreshed(older)
    both = Tables(base, older.parent)
    assert both.date == "2026-03-04"
    assert "is older than" in both.store.notes[0]


def test_damaged_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "cuda.json").write_text('{"rows": [{"cuda": ')
    with pytest.raises(TableError, match=r"cuda\.json is not a table"):
        Store(tmp_path).all("cuda")


def test_missing_table_counts_as_empty_with_a_note(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.all("cuda") == ()
    assert "is missing" in store.notes[0]


def test_missing_bundled_table_is_an_error() -> None:
    with pytest.raises(TableError, match=r"cannot read .*tensorflow2\.json"):
        Store().all("tensorflow2")


def test_user_folder_follows_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TFGPU_DOCTOR_TABLES", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert user_folder() == tmp_path / "tfgpu-doctor" / "tables"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "AppData"))
    assert user_folder() == tmp_path / "AppData" / "tfgpu-doctor" / "tables"


def test_tables_are_read_only_when_needed() -> None:
    code = (
        "import builtins, pathlib, sys\n"
        "import doctor.tables\n"
        "t = doctor.tables.Tables.bundled()\n"
        "assert t.store._texts == {} and t.store._parsed == {}, 'read at start'\n"
        "t.tensorflow('2.15.1')\n"
        "assert set(t.store._texts) == {'tensorflow'} and t.store._parsed == {}, 'parsed too much'\n"
        "assert not {'rich', 'requests', 'packaging'} & set(sys.modules), 'heavy imports'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=BUNDLED.parent)


@each(
    "cuda, version",
    [
        ("12.5", "12.5"),
        ("12.5.1", "12.5 Update 1"),
        ("12.5 Update 1", "12.5 Update 1"),
        ("12.5u1", "12.5 Update 1"),
        ("CUDA 11.8", "11.8"),
        ("cuda 11.8", "11.8"),
        ("8.0.61", "8.0.61"),
        ("10.1.243", "10.1"),
        ("12.7", None),
        ("", None),
        ("x", None),
    ],
)
def test_toolkit_is_found_as_people_write_it(tables: Tables, cuda: str, version: str | None) -> None:
    row = tables.toolkit(cuda)
    assert (row and row.data["version"]) == version


@each(
    "cuda, platform, driver",
    [
        ("11.0", "linux", "450.80.02"),
        ("11.8", "linux", "450.80.02"),
        ("11.2", "windows", "452.39"),
        ("12.5", "linux", "525.60.13"),
        ("12.5", "wsl", "528.33"),
        ("13.1", "linux", "580.65.06"),
        ("10.1", "linux", "418.39"),
        ("10.0", "linux", "410.48"),
        ("9.0", "linux", "384.81"),
        ("8.0", "linux", "375.26"),
        ("8.0.61", "windows", "376.51"),
        ("14.0", "linux", None),
        ("7.1", "linux", None),
        ("x", "linux", None),
    ],
)
def test_lowest_driver_for_a_cuda(tables: Tables, cuda: str, platform: str, driver: str | None) -> None:
    floor = tables.driver_floor(cuda, platform)
    assert (floor and floor.driver) == driver


@each(
    "driver, platform, cuda",
    [
        ("535.183.01", "linux", "12.2"),
        ("R535", "linux", "12.2"),
        ("450.80.02", "linux", "11.0"),
        ("440.33.01", "linux", "10.2"),
        ("418.39", "linux", "10.1"),
        ("418.87.00", "linux", "10.1"),
        ("495.29.05", "linux", "11.5"),
        ("565.57.01", "linux", "12.7"),
        ("430.50", "linux", "10.1"),
        ("551.23", "windows", "12.4"),
        ("528.33", "windows", "12.0"),
        ("531.14", "wsl", "12.1"),
        ("616.20", "linux", "13.4"),
        ("620.10", "linux", None),
        ("304.137", "linux", None),
        ("N/A", "linux", None),
    ],
)
def test_highest_cuda_of_a_driver(tables: Tables, driver: str, platform: str, cuda: str | None) -> None:
    assert tables.driver_cuda(driver, platform) == cuda
