"""Tests every row of every bundled table."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from doctor.tables.invariants import problems
from doctor.tables.ordering import is_final
from doctor.tables.store import head_date
from doctor.tables.versions import dotted
from tests.conftest import BUNDLED
from tests.sampling import each

if TYPE_CHECKING:
    from typing import TypeAlias

Raw: TypeAlias = "Callable[[str], list[dict[str, Any]]]"
FILES = sorted(BUNDLED.glob("*.json"))
CAPABILITY = re.compile(r"\d{1,2}\.\d[af]?")


@each("path", FILES, ids=lambda path: path.stem)
def test_table_has_a_date_and_one_row_per_line(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    rows = json.loads(text)["rows"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", head_date(text) or "")
    lines = [line.rstrip(",") for line in text.split('"rows": [\n', 1)[1].splitlines()[:-1]]
    assert [json.loads(line) for line in lines] == rows
    assert rows


@each("path", FILES, ids=lambda path: path.stem)
def test_every_row_names_its_source(path: Path) -> None:
    assert [row for row in json.loads(path.read_text(encoding="utf-8"))["rows"] if not row["source"]] == []


@each("path", FILES, ids=lambda path: path.stem)
def test_no_row_appears_twice(path: Path) -> None:
    rows = [json.dumps(row, sort_keys=True) for row in json.loads(path.read_text(encoding="utf-8"))["rows"]]
    assert [row for row, count in Counter(rows).items() if count > 1] == []


def test_tensorflow_rows_satisfy_the_invariants(raw: Raw) -> None:
    assert problems(raw("tensorflow")) == []


def good() -> dict[str, Any]:
    return {
        "package": "tensorflow",
        "version": "2.15.1",
        "platform": "linux-x86_64",
        "gpu": True,
        "cuda": "12.2",
        "cudnn": "8",
        "pythons": ["3.11"],
        "glibc": "2.17",
        "glibc_by_python": None,
        "compute_capabilities": {"compiled": ["5.0", "8.0"], "ptx": ["8.0"], "ptx_isa": {"8.0": ["8.1"]}},
        "libraries": ["libcudart.so.12", "libcudnn.so.8"],
        "libraries_required": ["libcudnn.so.8"],
        "pip_libraries_found": ["libcudnn.so.8"],
        "pip_libraries_missed": [],
        "build_info": {"is_cuda_build": True},
        "source": {"file": "tensorflow-2.15.1-cp311-cp311-manylinux_2_17_x86_64.whl", "sha256": "0" * 64},
    }


@each(
    "change, complaint",
    [
        ({"gpu": False}, "build_info says True"),
        ({"cuda": "11.8"}, "loads the runtime of CUDA 12 but states CUDA 11.8"),
        (
            {"libraries": ["cudart64_100.dll", "libcudnn.so.8"], "cuda": "10.1"},
            "loads the runtime of CUDA 10.0 but states CUDA 10.1",
        ),
        ({"cudnn": "9"}, "loads cuDNN 8 but states cuDNN 9"),
        ({"pythons": []}, "no Python"),
        ({"pythons": ["cp311"]}, "is not a Python version"),
        ({"glibc": "manylinux"}, "is not a glibc version"),
        ({"platform": "beos"}, "unknown platform"),
        ({"version": "2.15.2"}, "does not belong to this version"),
        ({"source": {"file": "tensorflow-2.15.1.whl", "sha256": ""}}, "no sha256"),
        ({"libraries": ["libcudart.so.12"]}, "needs libraries that it does not load"),
        ({"libraries": ["rm -rf /", "libcudnn.so.8"]}, "is not a library name"),
        ({"pip_libraries_missed": ["libcusolver.so.11"]}, "are not the libraries that it needs"),
        ({"compute_capabilities": {"compiled": ["8.0", "5.0"], "ptx": []}}, "not in order"),
        ({"compute_capabilities": {"compiled": [], "ptx": []}}, "code for no GPU"),
        ({"compute_capabilities": {"compiled": ["sm_80"], "ptx": []}}, "is not a compute capability"),
        ({"pythons": None}, "TypeError"),
    ],
)
def test_broken_invariant_is_reported(change: dict[str, Any], complaint: str) -> None:
    assert problems([good()]) == []
    found = problems([{**good(), **change}])
    assert any(complaint in problem for problem in found), found


def test_duplicate_row_is_reported() -> None:
    assert "appears twice" in problems([good(), good()])[0]


def test_toolkits_and_drivers_rise_together(raw: Raw) -> None:
    for side in ("linux", "windows"):
        rows = [row for row in raw("cuda") if row[side]]
        drivers = [dotted(row[side]) for row in rows]
        assert drivers == sorted(drivers), side


def test_driver_branches_rise_with_their_cuda(raw: Raw) -> None:
    rows = raw("drivers")
    for column in ("branch", "cuda", "linux", "windows"):
        values = [dotted(row[column]) for row in rows]
        assert values == sorted(values), column


def test_every_minor_release_since_1_8_has_the_day_of_its_publication(raw: Raw) -> None:
    days = {row["release"]: date.fromisoformat(row["published"]) for row in raw("releases")}
    versions = [row["version"] for row in raw("tensorflow") if is_final(row["version"])]
    minors = {".".join(version.split(".")[:2]) for version in versions}
    assert {minor for minor in minors if dotted(minor) >= (1, 8)} == set(days)
    for first, second in itertools.combinations(days, 2):
        if {first, second} != {"1.15", "2.0"}:  # the only pair that was not published in order
            assert (days[first] < days[second]) == (dotted(first) < dotted(second))


def test_ptx_isa_and_cuda_rise_together(raw: Raw) -> None:
    assert [dotted(r["cuda"]) for r in raw("ptx")] == sorted(dotted(r["cuda"]) for r in raw("ptx"))
    assert [dotted(r["isa"]) for r in raw("ptx")] == sorted(dotted(r["isa"]) for r in raw("ptx"))


def test_lowest_driver_of_a_cuda_major_is_no_newer_than_its_first_toolkits(raw: Raw) -> None:
    """The floor must allow the driver of the first or second release of the CUDA major version. Otherwise, it
    would be useless."""
    for floor in raw("driver_floors"):
        own = [row[floor["platform"]] for row in raw("cuda") if row["cuda"] in (f"{floor['cuda_major']}.0",
               f"{floor['cuda_major']}.1") and row[floor["platform"]]]  # fmt: skip
        if own:
            assert dotted(floor["driver"]) <= max(map(dotted, own)), floor


def test_cudnn_dropped_maxwell_pascal_and_volta_in_9_11(raw: Raw) -> None:
    for row in raw("cudnn"):
        if "sha256" in row and dotted(row["version"]) >= (8, 8):
            assert row["lowest"] == ("7.5" if dotted(row["version"]) >= (9, 11) else "5.0"), row["version"]
        for target in (*row.get("capabilities", ()), *row.get("ptx", ())):
            assert CAPABILITY.fullmatch(target)


def test_capability_of_every_chip_belongs_to_an_architecture(raw: Raw) -> None:
    known = {c for row in raw("architectures") for c in row["capabilities"]}
    newer = [
        row for row in raw("chips") if dotted(row["capability"])[0] >= 2 and row["capability"] not in known
    ]
    assert newer == []


def test_framework_rows_state_requirements_that_pip_can_read(raw: Raw) -> None:
    from packaging.requirements import Requirement

    rows = raw("frameworks")
    assert len({(row["package"], row["version"]) for row in rows}) == len(rows)
    for row in rows:
        assert re.fullmatch(r"[0-9a-f]{64}", row["sha256"]), row["source"]
        assert row["source"].lower().startswith(f"{row['package'].replace('-', '_')}-{row['version']}-"), row[
            "source"
        ]
        for line in (*row["requires"], *(line for lines in row["extras"].values() for line in lines)):
            assert "platform" not in str(Requirement(line).marker or ""), line


@pytest.mark.parametrize(("package", "version", "line"), [
    ("torch", "2.6.0", "nvidia-cudnn-cu12==9.1.0.70"), ("torch", "2.11.0", "nvidia-cudnn-cu13==9.19.0.56"),
    ("jax-cuda12-plugin", "0.5.3", "jax-cuda12-pjrt==0.5.3"), ("jaxlib", "0.5.3", "numpy>=1.25"),
    ("cupy-cuda12x", "13.0.0", "numpy<1.29,>=1.22"),
])  # fmt: skip
def test_framework_row_has_the_requirements_of_the_wheel(
    tables: Any, package: str, version: str, line: str
) -> None:
    [row] = [row for row in tables.frameworks(package) if row.version == version]
    assert line in row.requires
    assert row.source in row.ref
