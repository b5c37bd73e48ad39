"""Tests the single-file program that scripts/build_pyz makes: it works like the installed tool, even if no
package is installed and no file can be written."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.debian_11 import distribution, reason_against, run_inside

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "scripts" / "build_pyz"
LOGS = sorted(p for p in (ROOT / "tests/data/logs").rglob("*") if p.suffix in (".txt", ".log"))
MACHINES = sorted(p for p in (ROOT / "tests/data/machines").iterdir() if p.is_dir())
SPOKEN = [
    ["tables", "tensorflow", "2.15.1"],
    ["tables", "gpu", "RTX 3080"],
    ["tables", "driver"],
    ["tables", "cuda"],
    ["tables", "cudnn"],
    ["plan", "--os", "Ubuntu 20.04", "--gpu", "GTX 1080", "--driver", "470.82"],
    ["plan", "--os", "Windows 11", "--gpu", "RTX 3070"],
    ["devices", "--visible=-1,0"],
    ["code"],
    ["code", "gpu-hidden"],
    ["snippet"],
    ["snippet", "memory-growth", "--tensorflow", "1.15"],
]
PLAIN = [
    ["code", "gpu-hidden"],
    ["code"],
    ["snippet", "memory-growth", "--tensorflow", "1.15"],
    ["--version"],
    ["--help"],
]

pytestmark = [
    pytest.mark.online,  # the file is made from wheels of the registry
    pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX folders that reject new files"),
]


@pytest.fixture(scope="session")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The single-file program, made as for a release."""
    file = tmp_path_factory.mktemp("built") / "tfgpu-doctor.pyz"
    done = subprocess.run(
        [sys.executable, str(BUILD), str(file)], capture_output=True, text=True, timeout=300, check=False
    )
    if "could not fetch" in done.stderr:
        pytest.skip("no package registry can be reached, and no folder contains the wheels")
    assert done.returncode == 0, done.stderr
    return file


@lru_cache(maxsize=None)
def pythons() -> dict[int, str]:
    """Return every Python on this machine, one for each minor version."""
    found = {}
    for minor in range(8, 16):
        for name in (
            shutil.which(f"python3.{minor}"),
            *map(str, Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python")),
        ):
            if (
                name
                and subprocess.run([name, "-c", "pass"], capture_output=True, check=False).returncode == 0
            ):
                found[minor] = name
    return found or {sys.version_info.minor: sys.executable}


def run(command: list[str], where: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run a program in a folder, with only the given environment variables."""
    return subprocess.run(command, cwd=where, env=variables, capture_output=True, timeout=120, check=False)


UNSHARE = shutil.which("unshare") if hasattr(os, "geteuid") and os.geteuid() == 0 else None
OFFLINE = [UNSHARE, "--net"] if UNSHARE else []
"""The command that starts a program without a network, if this machine allows that."""


def bare(python: str, file: Path, where: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run the file with a Python that does not even load `site`, without a network, a home folder, a
    temporary folder or a PATH."""
    nowhere = str(where / "nowhere")
    command = [*OFFLINE, python, "-S", "-B", str(file), *words]
    return run(command, where, HOME=nowhere, TMPDIR=nowhere, TFGPU_DOCTOR_TABLES="")


def read_only(folder: Path) -> Path:
    folder.mkdir()
    folder.chmod(0o555)
    return folder


def test_the_file_is_small_plain_and_the_same_each_time(one_file: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.pyz"
    variables = {**os.environ, "SOURCE_DATE_EPOCH": "1", "TZ": "Asia/Tokyo"}
    subprocess.run(
        [sys.executable, str(BUILD), str(again)], env=variables, capture_output=True, timeout=300, check=True
    )
    assert again.read_bytes() == one_file.read_bytes()
    assert one_file.stat().st_size < 3_000_000
    names = zipfile.ZipFile(one_file).namelist()
    assert not [name for name in names if name.endswith((".so", ".pyd", ".pyc", ".dylib"))]
    owners = {name.split("/")[1] for name in names if name.startswith("licenses/")}
    assert owners >= {
        "tfgpu-doctor",
        "packaging",
        "rich",
        "requests",
        "urllib3",
        "idna",
        "certifi",
        "charset_normalizer",
    }


@pytest.fixture(scope="session")
def installed(
    tmp_path_factory: pytest.TempPathFactory,
) -> list[tuple[list[str], subprocess.CompletedProcess[bytes]]]:
    """Some calls, each with the installed tool's answer."""
    where = tmp_path_factory.mktemp("installed")
    known = {"HOME": str(where / "nowhere"), "TFGPU_DOCTOR_TABLES": "", "PYTHONPATH": str(ROOT)}
    logs = [str(path) for path in LOGS]
    calls = [
        ["explain", *logs, "--format", "json"],
        *([*words, "--format", "json"] for words in SPOKEN),
        *PLAIN,
    ]
    calls += [["check", "--root", str(machine), "--format", "json"] for machine in MACHINES]
    return [(words, run([sys.executable, "-m", "doctor", *words], where, **known)) for words in calls]


@pytest.mark.slow
@pytest.mark.parametrize("minor", range(8, 16))
def test_it_says_what_the_installed_tool_says(
    one_file: Path,
    tmp_path: Path,
    minor: int,
    installed: list[tuple[list[str], subprocess.CompletedProcess[bytes]]],
) -> None:
    python = pythons().get(minor)
    if python is None:
        pytest.skip(f"there is no Python 3.{minor}")
    where = read_only(tmp_path / "here")
    for words, theirs in installed:
        ours = bare(python, one_file, where, *words)
        assert ours.returncode == theirs.returncode, (words, ours.stderr)
        assert ours.stdout == theirs.stdout, words
        assert ours.stderr == theirs.stderr == b"", words
    checked = bare(python, one_file, where, "check", "--format", "json")
    assert checked.returncode in (0, 1, 3), checked.stderr
    report: dict[str, Any] = json.loads(checked.stdout)
    assert report["findings"]
    assert list(where.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(bool(reason_against()), reason=reason_against() or "-")
def test_debian_11_s_own_python_says_the_same_without_a_network(
    one_file: Path, installed: list[tuple[list[str], subprocess.CompletedProcess[bytes]]]
) -> None:
    folder = distribution()
    home = folder / "home/nobody"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    python = ["/usr/bin/env", "-i", "HOME=/home/nobody", "TFGPU_DOCTOR_TABLES=", "/usr/bin/python3"]
    seen = (ROOT / "tests/data", one_file.parent)

    def inside(*words: str) -> subprocess.CompletedProcess[str]:
        return run_inside(folder, [*python, *words], 120, seen=seen, network=False)

    assert inside("--version").stdout.startswith("Python 3.9.")
    assert "unreachable" in inside("-c", "import socket; socket.create_connection(('1.1.1.1', 53))").stderr
    for words, theirs in installed:
        ours = inside(str(one_file), *words)
        assert ours.returncode == theirs.returncode, (words, ours.stderr)
        assert ours.stdout.encode() == theirs.stdout, words
        assert ours.stderr == "", words
    checked = inside(str(one_file), "check", "--format", "json")
    assert checked.returncode in (0, 1, 3), checked.stderr
    assert json.loads(checked.stdout)["findings"]
    assert list(home.iterdir()) == []


def test_a_file_without_its_tables_gives_no_verdict(one_file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pyz"
    with zipfile.ZipFile(one_file) as whole, zipfile.ZipFile(broken, "w") as part:
        for name in whole.namelist():
            if name != "compat_tables/tensorflow.json":
                part.writestr(name, whole.read(name))
    log = next(path for path in LOGS if b"libcudart" in path.read_bytes())
    done = bare(sys.executable, broken, tmp_path, "explain", str(log), "--format", "json")
    assert (done.returncode, done.stdout) == (70, b"")
    assert b"tensorflow.json" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_python_that_is_too_old_is_reported(one_file: Path, tmp_path: Path) -> None:
    old = [
        str(p) for v in ("2.7", "3.6", "3.7") for p in Path.home().glob(f".pyenv/versions/{v}.*/bin/python")
    ]
    if not old:
        pytest.skip("there is no Python before 3.8")
    for python in old:
        done = run([python, str(one_file), "check"], tmp_path)
        assert done.returncode == 3
        assert done.stderr.startswith(b"tfgpu-doctor: Python 3.8 or later is needed; this is ")


def test_the_page_is_served_and_judges(one_file: Path, tmp_path: Path) -> None:
    command = [next(iter(pythons().values())), "-S", "-B", str(one_file), "serve", "--no-browser"]
    with subprocess.Popen(
        command, cwd=tmp_path, env={}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as served:
        try:
            assert served.stdout is not None
            address = served.stdout.readline().strip()
            for name in ("", "app.js", "style.css", "icon.svg"):
                with urllib.request.urlopen(address + name, timeout=30) as answer:
                    assert (answer.status, len(answer.read()) > 100) == (200, True)
        finally:
            served.send_signal(signal.SIGINT)
        _out, err = served.communicate(timeout=30)
    assert (served.returncode, err) == (0, "")


def test_what_fleet_sends_is_for_python_3_8(one_file: Path, tmp_path: Path) -> None:
    """The single-file program makes the program that `fleet` sends to a node. The oldest supported Python
    runs `check` with that program from standard input."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from doctor.fleet import sent\n"
        "print(sent.least(), file=sys.stderr)\n"
        "sys.stdout.buffer.write(sent.payload(['check', '--format', 'json'], watch=False))\n"
    )
    made = run([sys.executable, "-S", "-B", "-c", code, str(one_file)], tmp_path)
    assert (made.returncode, made.stderr) == (0, b"8\n")
    start = "import sys; f = sys.stdin.buffer; exec(f.read(int(f.readline())))"
    done = subprocess.run(
        [next(iter(pythons().values())), "-I", "-B", "-c", start],
        cwd=tmp_path,
        env={},
        input=made.stdout,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 1, 3), done.stderr
    assert json.loads(done.stdout)["findings"]
