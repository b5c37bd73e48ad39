"""Tests the wheel: it contains the whole package and nothing else, and every command runs from it without the
checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from typing import TypeAlias

ROOT = Path(__file__).resolve().parent.parent
REPORT = b"""\
2024-03-01 10:00:00.000000: E tensorflow/stream_executor/cuda/cuda_dnn.cc:328] Could not create cudnn \
handle: CUDNN_STATUS_INTERNAL_ERROR
tensorflow.python.framework.errors_impl.UnknownError: Failed to get convolution algorithm. This is probably \
because cuDNN failed to initialize
"""
COMPILER = any(shutil.which(name) for name in ("cc", "gcc", "clang"))

pytestmark = pytest.mark.slow
Run: TypeAlias = "Callable[..., subprocess.CompletedProcess[bytes]]"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(build, check=True, timeout=300, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run the command outside the checkout, from an environment that contains the wheel and its
    requirements."""
    env = tmp_path_factory.mktemp("env")
    venv.create(env, symlinks=os.name != "nt")
    purelib = Path(sysconfig.get_path("purelib", "venv", {"base": str(env), "platbase": str(env)}))
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(purelib),
        str(wheel),
    ]
    subprocess.run(install, check=True, timeout=300, cwd=env)
    # the requirements of the wheel: the packages of this environment, without its .pth files (of an editable
    # install)
    (purelib / "beside.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    python = Path(sysconfig.get_path("scripts", "venv", {"base": str(env)})) / (
        "python.exe" if os.name == "nt" else "python"
    )
    somewhere = tmp_path_factory.mktemp("somewhere")

    def run(
        *arguments: str, input: bytes = b"", command: tuple[str, ...] = ("-m", "doctor"), **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "TFGPU_", "VIRTUAL_ENV"))
        }
        return subprocess.run(
            [str(python), *command, *arguments],
            input=input,
            capture_output=True,
            timeout=300,
            cwd=somewhere,
            env={**kept, "TFGPU_DOCTOR_TABLES": "", **env},
            check=False,
        )

    return run


def test_wheel_contains_exactly_the_files_of_the_package(wheel: Path) -> None:
    here = {
        path.relative_to(ROOT).as_posix()
        for folder in ("doctor", "compat_tables")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
    shared = {name.partition(".data/data/")[2] for name in names if ".data/data/" in name}
    assert {name for name in names if ".data/" not in name} == here
    assert {Path(name).parts[1] for name in shared} == {"man", "bash-completion", "zsh", "fish"}


def test_the_installed_package_is_the_one_that_runs(installed: Run) -> None:
    done = installed(
        command=("-c", "import doctor, compat_tables; print(doctor.__file__, *compat_tables.__path__)")
    )
    assert done.returncode == 0, done.stderr
    assert str(ROOT) not in done.stdout.decode()


def test_every_module_imports(installed: Run) -> None:
    """Modules whose names begin with an underscore are left out: they run in the examined interpreter.
    Packages from an extra may be missing."""
    every = (
        "import importlib, pkgutil, doctor\nfor module in pkgutil.walk_packages(doctor.__path__,"
        " 'doctor.'):\n    try:\n        if not module.name.rpartition('.')[2].startswith('_'):"
        " importlib.import_module(module.name)\n    except ModuleNotFoundError as error:\n        assert"
        " (module.name, error.name.partition('.')[0]) == ('doctor.mcp', 'mcp'), error\n"
    )
    done = installed(command=("-c", every))
    assert done.returncode == 0, done.stderr.decode()


COMMANDS: dict[str, tuple[tuple[str, ...], int, bytes]] = {
    "version": (("--version",), 0, b"tables of 20"),
    "help": (("--help",), 0, b"explain"),
    "check": (("check", "--exit-zero"), 0, b""),
    "explain": (("explain", "-"), 1, b"cudnn-init-oom"),
    "explain as html": (("explain", "-", "--format", "html"), 1, b"</html>"),
    "explain as markdown": (("explain", "-", "--format", "markdown"), 1, b"cudnn-init-oom"),
    "plan": (
        ("plan", "--os", "linux", "--gpu", "RTX 3080", "--driver", "535.183.01", "--python", "3.11"),
        0,
        b"[and-cuda]",
    ),
    "install": (
        (
            "install",
            "--dry-run",
            "--os",
            "linux",
            "--gpu",
            "RTX 3080",
            "--driver",
            "535.183.01",
            "--python",
            "3.11",
        ),
        0,
        b"and-cuda",
    ),
    "tables of a release": (("tables", "tensorflow", "2.15.1"), 0, b"12.2"),
    "tables of a GPU": (("tables", "gpu", "RTX 3080"), 0, b"8.6"),
    "code": (("code",), 0, b"gpu-hidden"),
    "code of a page": (("code", "gpu-hidden"), 0, b"CUDA_VISIBLE_DEVICES"),
    "snippet": (("snippet", "memory-growth"), 0, b"set_memory_growth"),
    "devices": (("devices", "--visible", "1,0", "--count", "2"), 0, b"GPU:0"),
    "faults": (("simulate", "--list-faults"), 0, b"driver-mismatch"),
    "reproduce": (("reproduce", "--help"), 0, b"--simulate"),
    "bench": (("bench", "--help"), 0, b"--quick"),
    "serve": (("serve", "--help"), 0, b"--port"),
}


@pytest.mark.parametrize(("arguments", "code", "says"), COMMANDS.values(), ids=COMMANDS)
def test_command_runs_from_the_wheel(
    installed: Run, arguments: tuple[str, ...], code: int, says: bytes
) -> None:
    done = installed(*arguments, input=REPORT)
    assert done.returncode == code, done.stderr.decode()
    assert says in done.stdout
    assert b"Traceback" not in done.stderr


def test_tables_are_verified_against_an_index_from_the_wheel(installed: Run, tmp_path: Path) -> None:
    """The wheel contains the code that reads wheels. If the index does not exist, there is a message that
    says so."""
    index = (tmp_path / "nowhere").as_uri()
    done = installed(
        "tables", "verify", "2.15.1", PIP_INDEX_URL=index, PIP_EXTRA_INDEX_URL="", PIP_CONFIG_FILE=os.devnull
    )
    assert done.returncode == 3, done.stderr.decode()
    assert b"tensorflow" in done.stderr


@pytest.mark.skipif(
    not COMPILER, reason="the simulated GPU is built with a C compiler, and there is none (apt install gcc)"
)
def test_simulate_and_reproduce_work_from_the_wheel(installed: Run, tmp_path: Path) -> None:
    done = installed(
        "reproduce",
        "cudnn-init-oom",
        "--backend",
        "native",
        "--simulate",
        "--format",
        "json",
        XDG_CACHE_HOME=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)
