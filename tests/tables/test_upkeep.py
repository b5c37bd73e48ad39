"""Tests `refresh` and `verify` with a package index of small but real wheels."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from doctor.cli import run
from doctor.tables import Tables
from doctor.tables.reading import registry
from doctor.tables.reading.nvidia import PROJECTS
from tests.conftest import BUNDLED

METADATA = """\
Metadata-Version: 2.1
Name: tensorflow
Version: {version}
Summary: TensorFlow
Requires-Python: >=3.11
Requires-Dist: numpy>=1.26
Provides-Extra: and-cuda
Requires-Dist: nvidia-cudnn-cu12<10.0,>=9.10; extra == "and-cuda"
"""


def wheel(folder: Path, version: str, python: str = "313", cuda: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"tensorflow-{version}-cp{python}-cp{python}-manylinux_2_27_x86_64.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"tensorflow-{version}.dist-info/METADATA", METADATA.format(version=version))
        build_info = (
            f"build_info = {{'is_cuda_build': {cuda}, 'cuda_version': '12.5.1', 'cudnn_version': '9'}}\n"
        )
        archive.writestr("tensorflow/python/platform/build_info.py", build_info)
        archive.writestr("tensorflow/libtensorflow_framework.so.2", b"\x7fELF")
    return path


def index_page(folder: Path) -> None:
    links = "".join(
        f'<a href="{file.name}#sha256={hashlib.sha256(file.read_bytes()).hexdigest()}">{file.name}</a>\n'
        for file in sorted(folder.glob("*.whl"))
    )
    (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{links}</body></html>\n")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index with tensorflow 9.8.0. pip is configured to use only this index."""
    root = tmp_path / "simple"
    wheel(root / "tensorflow", "9.8.0")
    index_page(root / "tensorflow")
    for project in PROJECTS:
        (root / project).mkdir()
        (root / project / "index.html").write_text("<a href='other-1.0.tar.gz'>other-1.0.tar.gz</a>")
    (root / "tensorflow-gpu").mkdir()
    with tarfile.open(root / "tensorflow-gpu" / "tensorflow_gpu-2.12.0.tar.gz", "w:gz") as archive:
        text = b"Metadata-Version: 2.1\nName: tensorflow-gpu\nVersion: 2.12.0\nSummary: Removed\n\n"
        info = tarfile.TarInfo("tensorflow-gpu-2.12.0/PKG-INFO")
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text))
    (root / "tensorflow-gpu" / "index.html").write_text(
        "<a href='tensorflow_gpu-2.12.0.tar.gz#sha256=" + "0" * 64 + "'>tensorflow_gpu-2.12.0.tar.gz</a>"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", root.as_uri())
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    return root


@lru_cache(maxsize=None)
def said_by_pip(address: str) -> str:
    """Return the output of `pip config list` when pip uses only this index."""
    variables = {
        **os.environ,
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": address,
        "PIP_EXTRA_INDEX_URL": "",
    }
    command = [sys.executable, "-m", "pip", "config", "list"]
    return subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=60, check=True
    ).stdout


@pytest.fixture
def pip_asked_once(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not run pip for its configuration, which takes half a second: use its output in an earlier test,
    with the address replaced."""
    said = said_by_pip("file:///an-index")
    monkeypatch.setattr(
        registry,
        "pip_settings",
        lambda: registry.settings_from_pip(said.replace("file:///an-index", index.as_uri())),
    )


@pytest.fixture
def in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Callable[..., Path]) -> Path:
    """Replace the bundled table with a table for the test, with a user folder beside it. Returns the user
    folder."""
    bundled = small("tensorflow", [], folder=tmp_path / "bundled").parent
    user = tmp_path / "user"
    monkeypatch.setenv("TFGPU_DOCTOR_TABLES", str(user))
    monkeypatch.setattr(Tables, "bundled", staticmethod(lambda: Tables(bundled, user)))
    return user


def call(*words: str) -> int:
    return run(["tables", *words])


def test_new_release_is_added_and_used(index: Path, in_use: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("refresh") == 0
    assert "new: tensorflow 9.8.0 linux-x86_64 (GPU build, Python 3.13)" in capsys.readouterr().out
    row = Tables.bundled().tensorflow("9.8")
    assert row is not None
    assert (row.gpu, row.cuda, row.cudnn, row.pythons) == (True, "12.5", "9", ("3.13",))
    assert row.extras["and-cuda"] == {"nvidia-cudnn-cu12": "<10.0,>=9.10"}


@pytest.mark.slow
@pytest.mark.usefixtures("pip_asked_once")
def test_new_wheel_of_nvidia_is_added_and_used(
    index: Path, in_use: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = index / "nvidia-cufft-cu12"
    path = folder / "nvidia_cufft_cu12-99.1.2.3-py3-none-manylinux2014_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("nvidia/cufft/lib/libcufft.so.99", b"\x7fELF")
        archive.writestr(
            "nvidia_cufft_cu12-99.1.2.3.dist-info/METADATA", "Metadata-Version: 2.1\nName: x\nVersion: 1\n"
        )
    index_page(folder)
    assert call("refresh") == 0
    assert f"new: {path.name} (nvidia_wheels)" in capsys.readouterr().out
    row = Tables.bundled().pip_library("libcufft.so.99")
    assert row is not None
    assert (row.package, row.folder, row.last) == ("nvidia-cufft-cu12", "nvidia/cufft/lib", "99.1.2.3")
    path.with_name("nvidia_cufft_cu12-99.1.2.3-2-py3-none-manylinux1_x86_64.whl").write_bytes(
        path.read_bytes()
    )
    index_page(folder)
    assert call("refresh") == 0
    assert "nvidia_cufft" not in capsys.readouterr().out, "another wheel of the same release is not new"


@pytest.mark.slow
@pytest.mark.usefixtures("pip_asked_once")
def test_second_refresh_finds_nothing_new(
    index: Path, in_use: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("refresh")
    capsys.readouterr()
    assert call("refresh") == 0
    assert "Nothing new" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("pip_asked_once")
def test_new_wheel_for_another_python_changes_the_row(
    index: Path, in_use: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("refresh")
    capsys.readouterr()
    wheel(index / "tensorflow", "9.8.0", python="314")
    index_page(index / "tensorflow")
    assert call("refresh", "--format", "json") == 0
    said = json.loads(capsys.readouterr().out)
    assert [(c["what"], c["keys"]) for c in said["changes"]] == [
        ("tensorflow 9.8.0 linux-x86_64", ["pythons", "wheels"])
    ]
    row = Tables.bundled().tensorflow("9.8.0")
    assert row is not None
    assert row.pythons == ("3.13", "3.14")
    assert row.cuda == "12.5", "known rows stay"


@pytest.mark.usefixtures("pip_asked_once")
def test_undo_reverts_one_refresh_at_a_time(index: Path, in_use: Path) -> None:
    call("refresh")
    wheel(index / "tensorflow", "9.9.0")
    index_page(index / "tensorflow")
    call("refresh")
    assert Tables.bundled().tensorflow("9.9.0") is not None
    call("refresh", "--undo")
    assert Tables.bundled().tensorflow("9.9.0") is None
    assert Tables.bundled().tensorflow("9.8.0") is not None
    call("refresh", "--undo")
    assert Tables.bundled().tensorflow("9.8.0") is None
    assert call("refresh", "--undo") == 0


@pytest.mark.usefixtures("pip_asked_once")
def test_row_that_breaks_an_invariant_is_not_written(
    index: Path, in_use: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = index / "tensorflow" / "index.html"
    page.write_text(page.read_text().replace("#sha256=", "#md5="))
    assert call("refresh") == 1
    assert "has no sha256" in capsys.readouterr().err
    assert not in_use.exists()


def test_unreachable_index_exits_3_and_names_the_next_step(
    in_use: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "nowhere").as_uri())
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    assert call("refresh") == 3
    assert "hint:" in capsys.readouterr().err


@pytest.mark.usefixtures("pip_asked_once")
def test_verify_confirms_a_release_that_is_as_in_the_table(
    index: Path, in_use: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("refresh")
    capsys.readouterr()
    assert call("verify", "9.8.0") == 0
    assert "tensorflow 9.8.0 linux-x86_64: as in the table" in capsys.readouterr().out


@pytest.mark.usefixtures("pip_asked_once")
def test_verify_shows_what_differs(index: Path, in_use: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call("refresh")
    capsys.readouterr()
    wheel(index / "tensorflow", "9.8.0", cuda=False)
    index_page(index / "tensorflow")
    assert call("verify", "9.8.0") == 1
    assert "gpu: the table has true, the wheel says false" in capsys.readouterr().out


@pytest.mark.usefixtures("pip_asked_once")
def test_verify_of_an_unknown_release_names_the_nearest(
    index: Path, in_use: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("refresh")
    capsys.readouterr()
    assert call("verify", "9.7.0") == 2
    assert "9.8.0" in capsys.readouterr().err


@pytest.mark.online
@pytest.mark.parametrize("version", ["1.4.0", "1.14.0", "2.3.0", "2.10.1", "2.16.1", "2.21.0"])
def test_bundled_rows_agree_with_the_index(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tables, "bundled", staticmethod(lambda: Tables(BUNDLED)))
    assert call("verify", version) == 0
