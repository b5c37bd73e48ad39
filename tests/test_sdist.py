"""Tests the source distribution: it contains only the files of this checkout, is small, and can be
installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 15 << 20
REPORT = b"Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution of this checkout, built without the network."""
    folder = tmp_path_factory.mktemp("sdist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)],
        check=True,
        timeout=300,
        cwd=ROOT,
    )
    (path,) = folder.glob("*.tar.gz")
    return path


def clean() -> dict[str, str]:
    """Return the environment variables, without variables that lead to this checkout."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "TFGPU_", "VIRTUAL_ENV"))
    }


def made(folder: Path, *, pip: bool) -> Path:
    """Make a new environment. Returns its interpreter."""
    venv.create(folder, symlinks=os.name != "nt", with_pip=pip)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def works(python: Path, folder: Path) -> None:
    """Assert that the installed command prints its version and explains a report."""
    program = python.with_name("tfgpu-doctor.exe" if os.name == "nt" else "tfgpu-doctor")
    version = subprocess.run(
        [program, "--version"], capture_output=True, timeout=60, cwd=folder, env=clean(), check=True
    )
    assert b"tables of 20" in version.stdout
    done = subprocess.run(
        [program, "explain", "-"],
        input=REPORT,
        capture_output=True,
        timeout=60,
        cwd=folder,
        env=clean(),
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert b"cudnn-init-oom" in done.stdout


def test_source_archive_is_small(sdist: Path) -> None:
    assert sdist.stat().st_size < LIMIT


def test_names_in_the_source_archive_are_valid_on_every_system(sdist: Path) -> None:
    """uv refuses an archive that contains any other name."""
    with tarfile.open(sdist) as archive:
        assert not [name for name in archive.getnames() if not re.fullmatch(r"[\w./+,~@=-]+", name, re.ASCII)]


def test_source_archive_contains_only_files_of_this_clone(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    kept = [member for member in members if member.name.partition("/")[2] != "PKG-INFO"]
    assert {"doctor/cli.py", "compat_tables/tensorflow.json", "tests/conftest.py"} <= {
        m.name.partition("/")[2] for m in kept
    }
    for member in kept:
        path = ROOT / member.name.partition("/")[2]
        assert member.isreg() or member.issym(), member.name
        if member.isreg():
            assert ROOT in path.resolve().parents, member.name
            assert path.stat().st_size == member.size, member.name
        else:
            assert not PurePosixPath(member.linkname).is_absolute(), member.name


def test_pip_installs_the_source_archive_without_the_network(sdist: Path, tmp_path: Path) -> None:
    """It uses the pip, the hatchling and the packages in this environment."""
    target = tmp_path / "installed"
    words = [
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "--target",
        str(target),
        str(sdist),
    ]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, timeout=300, cwd=tmp_path)
    where = "import doctor.cli; print(doctor.__file__); doctor.cli.main(['--version'])"
    env = {**clean(), "PYTHONPATH": str(target)}
    done = subprocess.run(
        [sys.executable, "-c", where],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=env,
        check=True,
        timeout=60,
    )
    assert str(target) in done.stdout
    assert "tables of 20" in done.stdout


@pytest.mark.online
@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_the_newest_installers_install_the_source_archive(
    installer: str, sdist: Path, tmp_path: Path
) -> None:
    tools = made(tmp_path / "tools", pip=True)
    subprocess.run(
        [tools, "-m", "pip", "install", "--quiet", "--upgrade", installer],
        check=True,
        timeout=300,
        env=clean(),
    )
    python = made(tmp_path / "env", pip=False)
    command = {
        "pip": [tools, "-m", "pip", "--python", python, "install", "--quiet", sdist],
        "uv": [tools.with_name(f"uv{tools.suffix}"), "pip", "install", "--quiet", "--python", python, sdist],
    }
    subprocess.run(command[installer], check=True, timeout=600, cwd=tmp_path, env=clean())
    works(python, tmp_path)
