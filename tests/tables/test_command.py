"""Tests the output of `tfgpu-doctor tables` for people and for scripts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doctor.cli import run
from doctor.commands import tables as command
from doctor.tables import Tables
from doctor.tables.ordering import nearest
from tests.conftest import BUNDLED

KEYS = [
    "package",
    "version",
    "platform",
    "gpu",
    "cuda",
    "cudnn",
    "pythons",
    "glibc",
    "compute_capabilities",
    "libraries",
    "extras",
    "source",
]


@pytest.fixture(autouse=True)
def _bundled_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tables, "bundled", staticmethod(lambda: Tables(BUNDLED)))


def call(*words: str) -> int:
    return run(["tables", *words])


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert call(*words, "--format", "json") == 0
    return json.loads(capsys.readouterr().out)


def test_release_as_json_has_every_key_and_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    row = said(capsys, "tensorflow", "2.15.1")
    assert set(KEYS) <= set(row)
    assert (row["package"], row["version"], row["platform"], row["gpu"]) == (
        "tensorflow",
        "2.15.1",
        "linux-x86_64",
        True,
    )
    assert (row["cuda"], row["cudnn"], row["pythons"]) == ("12.2", "8", ["3.9", "3.10", "3.11"])
    assert row["compute_capabilities"]["compiled"] == ["5.0", "6.0", "7.0", "7.5", "8.0"]
    assert row["extras"]["and-cuda"]["nvidia-cudnn-cu12"] == "==8.9.4.25"
    assert row["source"]["file"].startswith("tensorflow-2.15.1-")
    assert len(row["source"]["sha256"]) == 64


def test_look_up_of_every_release_gives_every_key(tables: Tables) -> None:
    for row in tables.releases(None):
        assert set(KEYS) <= set(row.data), row.ref


def test_package_and_platform_select_the_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "tensorflow", "2.0.0")["gpu"] is False
    assert said(capsys, "tensorflow", "2.0.0", "--package", "tensorflow-gpu")["gpu"] is True
    windows = said(capsys, "tensorflow", "2.11.0", "--platform", "windows-amd64")
    assert (windows["platform"], windows["gpu"]) == ("windows-amd64", False)


def test_cpu_build_names_the_gpu_build_of_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("tensorflow", "1.15.2") == 0
    assert "tensorflow-gpu==1.15.2" in capsys.readouterr().out


def test_without_a_version_every_release_is_listed(
    capsys: pytest.CaptureFixture[str], tables: Tables
) -> None:
    assert call("tensorflow", "--format", "json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == len(tables.releases(None))
    assert call("tensorflow", "--platform", "linux-x86_64") == 0
    text = capsys.readouterr().out.splitlines()
    assert len(text) == len(tables.releases()) + 1


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("tensorflow", "2.3.9"), "2.3.4, 2.4.0"),
        (("tensorflow", "1.13.0", "--package", "tensorflow-gpu"), "1.13.1"),
        (("tensorflow", "99.0"), "2.21.0"),
        (("tensorflow", "0.1"), "0.12.0"),
        (("tensorflow", "nonsense"), "2.21.0"),
        (("tensorflow", "2.21.0", "--platform", "macos-x86_64"), "linux-x86_64"),
        (("tensorflow", "2.0", "--package", "keras"), "tensorflow-gpu"),
        (("cuda", "12.7"), "12.6, 12.8"),
        (("cudnn", "9.99"), "9.28.0.42"),
        (("driver", "900.1"), "R615"),
        (("driver", "hello"), "R615"),
        (("gpu", "Radeon RX 580"), "PCI id"),
        (("library", "libfoo.so.1"), "tables library"),
        (("trap", "nothing"), "tables trap"),
    ],
)
def test_unknown_key_exits_2_and_names_the_nearest_rows(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], near: str
) -> None:
    assert call(*words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert near in err
    assert "Traceback" not in err


def test_nearest_releases_are_just_below_and_above(tables: Tables) -> None:
    assert nearest("2.3.9", ["2.3.4", "2.1.0", "2.4.0", "2.5.0", "2.3.3"]) == [
        "2.3.3",
        "2.3.4",
        "2.4.0",
        "2.5.0",
    ]


def test_driver_page_names_its_cuda_and_the_supported_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    row = said(capsys, "driver", "535.183.01")
    assert (row["branch"], row["cuda"]) == ("535", "12.2")
    assert row["cuda_by_minor_version_compatibility"] == ["11.x", "12.x"]
    assert "9.0" in row["compute_capabilities"]
    assert "12.0" not in row["compute_capabilities"]
    assert "3.7" not in row["compute_capabilities"]
    assert said(capsys, "driver", "566.36", "--platform", "windows")["cuda"] == "12.7"
    assert said(capsys, "driver", "495.29.05")["cuda"] == "11.5"
    assert said(capsys, "driver", "440.33.01")["cuda"] == "10.2"


def test_cuda_page_names_its_drivers_and_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    row = said(capsys, "cuda", "11.8")
    assert (row["linux"], row["windows"]) == ("520.61.05", "520.06")
    assert row["driver_minimum"] == {"linux": "450.80.02", "windows": "452.39"}
    assert {"libcudart.so.11.0", "libcusolver.so.11", "libcufft.so.10"} <= set(row["libraries"])
    assert "libcusolver.so.10" not in row["libraries"]
    assert "tensorflow==2.12.0 (linux-x86_64)" in row["tensorflow"]
    ten = said(capsys, "cuda", "10.0")
    assert ten["driver_minimum"]["linux"] == "410.48"
    assert not any("==2.1" in name or "==2.3" in name for name in ten["tensorflow"]), (
        "those are made for 10.1"
    )


def test_cudnn_page_names_cuda_and_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "cudnn", "9.10.2.21")["lowest"] == "5.0"
    row = said(capsys, "cudnn", "9.12")
    assert (row["lowest"], row["cuda"]) == ("7.5", ["12", "13"])


def test_gpu_page_names_its_capability_or_those_that_it_may_have(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "gpu", "RTX", "3080")["compute_capability"] == "8.6"
    vague = said(capsys, "gpu", "GT 730")
    assert (vague["compute_capability"], vague["ambiguous"]) == (None, True)
    assert vague["capabilities"] == ["2.1", "3.0", "3.5"]
    assert said(capsys, "gpu", "10de:2684")["compute_capability"] == "8.9"


def test_library_page_names_its_origin_and_users(capsys: pytest.CaptureFixture[str]) -> None:
    row = said(capsys, "library", "libcudnn.so.8")
    assert row["pip"]["folder"] == "nvidia/cudnn/lib"


@pytest.mark.parametrize("table", command.TABLES)
@pytest.mark.parametrize("form", command.FORMATS)
def test_every_format_prints_every_row(capsys: pytest.CaptureFixture[str], table: str, form: str) -> None:
    assert call(table, "--format", form) == 0
    assert len(capsys.readouterr().out.splitlines()) > 10


def test_text_fits_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert call("tensorflow", "2.15.1") == 0
    long = [line for line in capsys.readouterr().out.splitlines() if len(line) > 60]
    assert [line for line in long if max(map(len, line.split())) < 25] == [], "a line was not wrapped"


def test_unsupported_format_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        call("tensorflow", "2.15.1", "--format", "html")
    assert stopped.value.code == 2
    assert "(choose from text, json, markdown)" in capsys.readouterr().err.replace(
        "'", ""
    )  # quoted before Python 3.14


def test_cuda_page_names_the_forward_compatibility_package(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["tables", "cuda", "12.5"]) == 0
    assert "cuda-compat-12-5: NVIDIA data-center GPUs" in " ".join(capsys.readouterr().out.split())
    assert run(["tables", "cuda", "9.0"]) == 0
    assert "on older drivers" not in capsys.readouterr().out


def test_a_source_is_cited_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tables", "driver", "535"]) == 0
    assert " ".join(capsys.readouterr().out.split()).count("Minor Version Compatibility, Table 1") == 1


def rows(words: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert run(["tables", *words.split(), "--format", "json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_version_with_which_several_releases_begin_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows("cudnn 8.9", capsys)
    assert [row["version"] for row in found][-1] == "8.9.7.29"
    assert found[0]["cuda"] == ["11", "12"], "one row for the CUDA major versions that do not differ"
    assert found[0]["packages"] == ["nvidia-cudnn-cu11", "nvidia-cudnn-cu12"]
    assert len(rows("cudnn 9.10.2", capsys)) == 1
    toolkits = [row["version"] for row in rows("cuda 12", capsys)]
    assert toolkits[0] == "12.0"
    assert all(version.startswith("12.") for version in toolkits)
    assert len(toolkits) > 10


def test_a_cudnn_without_a_row_names_the_nearest_releases(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tables", "cudnn", "8.1"]) == 2
    said = capsys.readouterr().err
    assert "8.2.2 (CUDA 10, 11; GPUs from compute capability 3.5 on)" in said
    assert "TensorFlow >=2.5,<2.12 was compiled with it" in said


def test_library_page_names_every_package(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = rows("library libcudnn.so.8", capsys)
    assert [one["package"] for one in row["pip_packages"]] == ["nvidia-cudnn-cu11", "nvidia-cudnn-cu12"]
    assert run(["tables", "library", "libcudnn.so.8"]) == 0
    assert "nvidia-cudnn-cu11 8.5.0.96 to 8.9.6.50" in capsys.readouterr().out


def test_without_a_table_the_tables_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tables"]) == 0
    listed = [row.split()[0] for row in capsys.readouterr().out.splitlines()]
    assert listed == ["table", *command.TABLES]


def test_a_trap_says_whether_the_release_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tables", "trap"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["name", "title", "works"]
    assert run(["tables", "trap", "--format", "json"]) == 0
    assert "verdict" in json.loads(capsys.readouterr().out.splitlines()[0]), "the key in JSON stays"


def test_a_minor_version_says_which_release_it_is_taken_as(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tables", "tensorflow", "2.15"]) == 0
    title = "tensorflow==2.15.1 for linux-x86_64 (2.15 is taken as its newest release)"
    assert capsys.readouterr().out.splitlines()[0] == title


def test_a_mistyped_table_gets_a_hint(cli):
    done = cli("tables", "gpus")
    assert done.returncode == 2
    assert b"unknown table `gpus`" in done.stderr
    assert b"did you mean `gpu`?" in done.stderr
