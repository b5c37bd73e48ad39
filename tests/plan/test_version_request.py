"""Tests which versions a request allows, and how a machine is described."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.errors import InputError, UsageError
from doctor.plan import PlanContext, VersionRequest
from doctor.plan.described import described, machine_file
from doctor.plan.version_request import check, newest_final
from doctor.tables import Tables
from tests.sampling import each

NEWEST = "2.21.0"


@each(
    "spec, allowed, refused",
    [
        ("", ["2.20.0", "1.15.5"], ["2.22.0rc0"]),
        ("2.15", ["2.15.0", "2.15.1", "2.15.0.post1"], ["2.1.5", "2.16.1"]),
        ("2.15.0", ["2.15.0"], ["2.15.1", "2.15.0.post1"]),
        (">=2.16,<2.19", ["2.16.1", "2.18.1"], ["2.15.1", "2.19.0"]),
        ("~=2.16", ["2.16.1", "2.20.0"], ["2.15.1"]),
        ("~=2.16.1", ["2.16.2"], ["2.17.0", "2.16.0"]),
        ("==2.17.*", ["2.17.0", "2.17.1"], ["2.18.0"]),
        ("!=2.20.0", ["2.19.1"], ["2.20.0"]),
        ("latest", [NEWEST], ["2.20.0"]),
        ("2.22.0rc0", ["2.22.0rc0"], [NEWEST]),
    ],
)
def test_request_allows_releases(spec: str, allowed: list[str], refused: list[str]) -> None:
    version_request = VersionRequest(spec)
    assert [v for v in allowed if not version_request.allows(v, NEWEST)] == []
    assert [v for v in refused if version_request.allows(v, NEWEST)] == []


@pytest.mark.parametrize("spec", ["abc", "2.15 or so", ">=", "<<2"])
def test_unreadable_request_is_a_usage_error(spec: str, tables: Tables) -> None:
    with pytest.raises(UsageError):
        check(VersionRequest(spec), tables)


def test_release_that_does_not_exist_names_the_nearest(tables: Tables) -> None:
    with pytest.raises(UsageError) as caught:
        check(VersionRequest("2.99"), tables)
    assert newest_final(tables) in caught.value.hint


def test_ambiguous_gpu_name_asks_for_the_capability(tables: Tables) -> None:
    with pytest.raises(UsageError, match=r"3\.0, 3\.5"):
        described(tables, gpu=["GT 730"])


@pytest.mark.parametrize(
    ("name", "platform", "kind"),
    [
        ("Ubuntu 24.04", "linux-x86_64", "linux"),
        ("Windows 11", "windows-amd64", "windows"),
        ("WSL2", "linux-x86_64", "wsl"),
        ("Ubuntu 22.04 on WSL2", "linux-x86_64", "wsl"),
        ("macOS arm64", "macos-arm64", "macos"),
        ("macOS 13 x86_64", "macos-x86_64", "macos"),
        ("linux aarch64", "linux-aarch64", "linux"),
    ],
)
def test_operating_systems_by_name(tables: Tables, name: str, platform: str, kind: str) -> None:
    context = PlanContext(described(tables, os=name), tables, VersionRequest())
    assert (context.platform, context.kind) == (platform, kind)


@pytest.mark.parametrize(
    ("name", "glibc", "python"),
    [
        ("Ubuntu 24.04 LTS", "2.39", "3.12"),
        ("Rocky Linux 9.3", "2.34", "3.9"),
        ("Debian GNU/Linux 11", "2.31", "3.9"),
        ("Gentoo", None, None),
    ],
)
def test_distribution_brings_its_glibc_and_python(
    tables: Tables, name: str, glibc: str | None, python: str | None
) -> None:
    context = PlanContext(described(tables, os=name), tables, VersionRequest())
    assert (context.glibc, context.python) == (glibc, python)


def test_machine_file_is_the_json_of_a_check(tables: Tables, tmp_path: Path) -> None:
    facts = {
        "platform": {"value": "linux", "evidence": []},
        "os": {"value": "Ubuntu 22.04", "evidence": []},
        "driver": {"value": "535.183.01", "evidence": []},
        "python": {"value": "3.10.12", "evidence": []},
        "gpus": {"value": [{"name": "NVIDIA GeForce RTX 3080", "compute_capability": "8.6"}], "evidence": []},
    }
    path = tmp_path / "check.json"
    path.write_text(json.dumps({"schema": 1, "facts": facts}))
    context = PlanContext(machine_file(str(path), tables), tables, VersionRequest())
    assert (context.driver, context.python, context.capabilities) == ("535.183.01", "3.10", ("8.6",))


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", '{"facts": 3}', "[" * 100000])
def test_invalid_machine_file_is_refused(tables: Tables, tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError):
        machine_file(str(path), tables)
