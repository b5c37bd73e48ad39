"""Tests scripts/build_tables.py as a whole, with an index and wheels that the tests make."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.tables.reading import dlopened
from tests.tables_build import made_wheels as made
from tests.tables_build.made_wheels import Index, served

ROOT = Path(__file__).resolve().parents[2]
LINUX = "tensorflow-9.1.0-cp311-cp311-manylinux_2_17_x86_64.whl"
OLDER = "tensorflow-9.1.0-cp310-cp310-manylinux_2_17_x86_64.whl"
WINDOWS = "tensorflow-9.1.0-cp311-cp311-win_amd64.whl"

pytestmark = pytest.mark.skipif(
    not (made.HAVE_COMPILER and dlopened.supported()), reason="needs gcc, and Linux on x86-64"
)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    folder = tmp_path / "files"
    folder.mkdir()
    kernels = made.fatbin_section(
        tmp_path,
        made.fatbin_entry(2, 60, bytes(64)),
        made.fatbin_entry(2, 90, bytes(64)),
        made.fatbin_entry(1, 90, b".version 8.5\n.target sm_90a\n"),
    )
    paths = (
        "$ORIGIN/:$ORIGIN/../nvidia/cudnn/lib:$ORIGIN/../nvidia/cuda_runtime/lib:$ORIGIN/../nvidia/cudnn/lib"
    )
    framework = made.compile_library(
        tmp_path, "libtensorflow_framework.so.2", made.LOADER, f"-Wl,--enable-new-dtags,-rpath,{paths}"
    ).read_bytes()
    kernel_library = made.compile_library(
        tmp_path, "libtensorflow_cc.so.2", kernels + "int unused;"
    ).read_bytes()
    metadata = made.metadata(
        "9.1.0",
        "Requires-Python: >=3.10",
        "Requires-Dist: numpy>=1.26",
        "Requires-Dist: nvidia-cudnn-cu12==9.3.0.75; extra == 'and-cuda'",
    )
    build_info = (
        "import collections\nbuild_info = collections.OrderedDict([('cuda_version', '12.5.1'),"
        " ('cudnn_version', '9'), ('is_cuda_build', True), ('cuda_compute_capabilities', ['sm_60',"
        " 'compute_90'])])\n"
    )
    members: dict[str, str | bytes] = {
        "tensorflow-9.1.0.dist-info/METADATA": metadata,
        "tensorflow/python/platform/build_info.py": build_info,
        "tensorflow/libtensorflow_framework.so.2": framework,
        "tensorflow/libtensorflow_cc.so.2": kernel_library,
        "tensorflow/include/someone/elses.dist-info/METADATA": "Metadata-Version: 2.1\n",
    }
    made.make_wheel(folder / LINUX, members)
    made.make_wheel(
        folder / OLDER, {**members, "tensorflow/libtensorflow_cc.so.2": kernel_library + bytes(10)}
    )
    made.make_wheel(
        folder / WINDOWS,
        {
            "tensorflow-9.1.0.dist-info/METADATA": made.metadata(
                "9.1.0", "Requires-Dist: tensorflow-intel==9.1.0"
            ),
        },
    )
    made.make_wheel(folder / "tensorflow_gpu-9.0.0-cp310-cp310-win_amd64.whl", {
        "tensorflow_gpu-9.0.0.dist-info/METADATA": made.metadata("9.0.0"),
        "tensorflow/python/platform/build_info.py": "is_cuda_build = True\ncuda_version_number = '64_101'\n",
    })  # fmt: skip
    with served(Index(folder, yanked={WINDOWS: "empty"})) as index:
        yield index


def start(index: Index, tmp_path: Path, *options: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment.update(PIP_CONFIG_FILE=os.devnull, PIP_INDEX_URL=index.url, no_proxy="127.0.0.1")
    return subprocess.Popen(
        [sys.executable, str(ROOT / "scripts/build_tables.py"), "--cache", str(tmp_path / "cache"),
         "--output", str(tmp_path / "table.json"), "--processes", "2", *options],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def build(index: Index, tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    with start(index, tmp_path, *options) as process:
        output, errors = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def rows(tmp_path: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    table = json.loads((tmp_path / "table.json").read_text())
    assert table["schema"] == 1
    return {(row["package"], row["version"], row["platform"]): row for row in table["rows"]}


def test_a_full_run_fills_the_row_from_the_libraries(index: Index, tmp_path: Path) -> None:
    done = build(index, tmp_path, "--full")
    assert done.returncode == 0, done.stderr
    row = rows(tmp_path)["tensorflow", "9.1.0", "linux-x86_64"]
    assert row["gpu"] is True
    assert row["cuda"] == "12.5"
    assert row["cudnn"] == "9"
    assert row["pythons"] == ["3.10", "3.11"]
    assert list(row["wheels"]) == ["3.10", "3.11"]
    assert row["libraries"] == ["libcublas.so.12", "libcudart.so.12", "libcudnn.so.9", "libcupti.so.12"]
    assert row["libraries_required"] == ["libcublas.so.12", "libcudart.so.12", "libcudnn.so.9"]
    assert row["runpath"] == [
        "$ORIGIN/", "$ORIGIN/../nvidia/cudnn/lib", "$ORIGIN/../nvidia/cuda_runtime/lib",
    ]  # fmt: skip
    assert row["pip_libraries_found"] == ["libcudart.so.12", "libcudnn.so.9"]
    assert row["pip_libraries_missed"] == ["libcublas.so.12"]
    assert row["compute_capabilities"]["compiled"] == ["6.0", "9.0"]
    assert row["compute_capabilities"]["ptx"] == ["9.0a"]
    assert row["compute_capabilities"]["ptx_isa"] == {"9.0a": ["8.5"]}
    assert row["compute_capabilities"]["counts"] == {"compiled": {"6.0": 1, "9.0": 1}, "ptx": {"9.0a": 1}}
    assert row["extras"] == {"and-cuda": {"nvidia-cudnn-cu12": "==9.3.0.75"}}
    assert row["requires"] == ["numpy>=1.26"]
    assert row["glibc"].startswith("2.")
    assert row["build_info"]["cuda_version"] == "12.5.1"
    assert row["source"]["file"] == LINUX
    assert row["source"]["members"] == [
        "tensorflow-9.1.0.dist-info/METADATA",
        "tensorflow/python/platform/build_info.py",
        "tensorflow/libtensorflow_cc.so.2",
        "tensorflow/libtensorflow_framework.so.2",
    ]
    derived = (
        "gpu",
        "cuda",
        "cudnn",
        "glibc",
        "compute_capabilities",
        "libraries",
        "libraries_required",
        "runpath",
    )
    assert all(row["evidence"][key] for key in derived)


@pytest.mark.slow
def test_a_metadata_run_fills_the_row_only_from_the_texts(index: Index, tmp_path: Path) -> None:
    assert build(index, tmp_path).returncode == 0
    found = rows(tmp_path)
    row = found["tensorflow", "9.1.0", "linux-x86_64"]
    assert (row["gpu"], row["cuda"], row["cudnn"], row["glibc"]) == (True, "12.5", "9", "2.17")
    assert row["compute_capabilities"] == {"compiled": ["6.0", "9.0"], "ptx": ["9.0"]}
    assert row["libraries"] is row["runpath"] is row["pip_libraries_missed"] is None
    empty = found["tensorflow", "9.1.0", "windows-amd64"]
    assert (empty["gpu"], empty["cuda"], empty["requires"]) == (False, None, ["tensorflow-intel==9.1.0"])
    assert empty["yanked"] == "empty"
    assert found["tensorflow-gpu", "9.0.0", "windows-amd64"]["cuda"] == "10.1"


@pytest.mark.slow
def test_each_row_is_a_line_that_begins_with_its_key(index: Index, tmp_path: Path) -> None:
    build(index, tmp_path)
    first, _, *lines, last = (tmp_path / "table.json").read_text().splitlines()
    assert first.startswith('{"table": "tensorflow", "schema": 1, "date": "')
    assert last == "]}"
    starts = [line.partition(', "gpu"')[0] for line in lines]
    assert starts == [
        '{"package": "tensorflow", "version": "9.1.0", "platform": "linux-x86_64"',
        '{"package": "tensorflow", "version": "9.1.0", "platform": "windows-amd64"',
        '{"package": "tensorflow-gpu", "version": "9.0.0", "platform": "windows-amd64"',
    ]
    assert all(json.loads(line.rstrip(",")) for line in lines)


@pytest.mark.slow
def test_a_second_run_reads_nothing_again_and_changes_nothing(index: Index, tmp_path: Path) -> None:
    build(index, tmp_path, "--full")
    before, asked = (tmp_path / "table.json").read_bytes(), len(index.requests)
    done = build(index, tmp_path, "--full")
    assert "up to date" in done.stderr
    assert (tmp_path / "table.json").read_bytes() == before
    assert [path for path, _ in index.requests[asked:]] == ["/simple/tensorflow/", "/simple/tensorflow-gpu/"]


@pytest.mark.slow
def test_a_metadata_run_keeps_what_a_full_run_found(index: Index, tmp_path: Path) -> None:
    build(index, tmp_path, "--full")
    before = (tmp_path / "table.json").read_bytes()
    build(index, tmp_path)
    assert (tmp_path / "table.json").read_bytes() == before


@pytest.mark.slow
def test_an_interrupted_run_continues_where_it_stopped(index: Index, tmp_path: Path) -> None:
    removed = (index.folder / LINUX).read_bytes()
    (index.folder / LINUX).write_bytes(
        removed[: len(removed) // 2]
    )  # its directory is missing, so it cannot be read
    build(index, tmp_path, "--only", "9.0.0")
    failed = build(index, tmp_path)
    assert failed.returncode == 3
    assert "no end of central directory" in failed.stderr
    (index.folder / LINUX).write_bytes(removed)
    asked = len(index.requests)
    assert build(index, tmp_path).returncode == 0
    read_again = {path.rpartition("/")[2] for path, _ in index.requests[asked:]}
    assert LINUX in read_again
    assert "tensorflow_gpu-9.0.0-cp310-cp310-win_amd64.whl" not in read_again


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--full"]])
def test_ctrl_c_ends_it_at_once_and_leaves_no_incomplete_file(
    index: Index, tmp_path: Path, options: list[str]
) -> None:
    if options:
        build(index, tmp_path)  # so that the delay affects a worker
        (tmp_path / "table.json").unlink()
    index.stall_on = LINUX
    with start(index, tmp_path, *options) as process:
        asked = len(index.requests)
        until = time.monotonic() + 30
        while not any(LINUX in path for path, _ in index.requests[asked:]):
            assert time.monotonic() < until
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        index.stalled.set()
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "run the same command again to continue" in errors
    assert not (tmp_path / "table.json").exists()
    assert not list(tmp_path.rglob("*.part"))
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.slow
def test_a_wheel_that_cannot_be_read_leaves_the_table_as_it_was(index: Index, tmp_path: Path) -> None:
    build(index, tmp_path)
    before = (tmp_path / "table.json").read_bytes()
    content = bytearray((index.folder / LINUX).read_bytes())
    begins = content.index(b"libtensorflow_cc.so.2") + 100
    content[begins : begins + 300] = bytes(300)
    (index.folder / LINUX).write_bytes(content)
    done = build(index, tmp_path, "--full")
    assert done.returncode == 3
    assert "tensorflow 9.1.0 linux-x86_64" in done.stderr
    assert "Next: run the same command again" in done.stderr
    assert (tmp_path / "table.json").read_bytes() == before


@pytest.mark.slow
def test_only_keeps_other_rows_and_names_releases_that_do_not_exist(index: Index, tmp_path: Path) -> None:
    build(index, tmp_path)
    done = build(index, tmp_path, "--full", "--only", "9.0.0")
    assert done.returncode == 0
    assert len(rows(tmp_path)) == 3
    done = build(index, tmp_path, "--only", "9.9.9")
    assert done.returncode == 2
    assert "no such release: 9.9.9" in done.stderr


def test_an_unreachable_registry_gives_one_line_with_the_next_step(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        done = build(Index(tmp_path, url=f"http://127.0.0.1:{unused.getsockname()[1]}/simple"), tmp_path)
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "Next: check the network" in done.stderr
    assert not (tmp_path / "table.json").exists()
