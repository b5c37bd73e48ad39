"""Tests NVIDIA's own user-space driver from Debian's packages: it loads on this machine, and fails because
its kernel module is missing."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from doctor.facts import CudaCallFailed, DriverCuda, DriverMismatch, DriverVersion, Fact, Symptom
from doctor.probe import calls, examine
from doctor.probe.driver import kernel_version
from doctor.probe.machine import Machine
from tests.probe.machines import Folder
from tests.probe.test_verdicts import with_wheels

pytestmark = [
    pytest.mark.slow,
    pytest.mark.online,
    pytest.mark.skipif(
        not (shutil.which("apt-get") and shutil.which("dpkg")), reason="Debian's tools are needed"
    ),
    pytest.mark.skipif(kernel_version(Machine.here()) is not None, reason="this machine has its own driver"),
]

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = "deb [signed-by={keyring}] http://deb.debian.org/debian bookworm main contrib non-free\n"
BRANCHES = {
    "535": ("libcuda1", "libnvidia-ml1", "nvidia-smi"),
    "470": ("libnvidia-tesla-470-cuda1", "libnvidia-tesla-470-ml1"),
}


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The unpacked packages of each branch; nothing is installed."""
    base = tmp_path_factory.mktemp("apt")
    for name in ("lists/partial", "cache/archives/partial"):
        (base / name).mkdir(parents=True)
    (base / "sources.list").write_text(SUITES.format(keyring=KEYRING))
    options = [
        f"-oDir::Etc::SourceList={base}/sources.list",
        "-oDir::Etc::SourceParts=-",
        f"-oDir::State::Lists={base}/lists",
        f"-oDir::Cache={base}/cache",
    ]

    def apt(*words: str, cwd: Path) -> None:
        done = subprocess.run(
            ["apt-get", *options, *words], cwd=cwd, capture_output=True, text=True, timeout=600
        )
        if done.returncode:
            pytest.skip(f"Debian's archive did not answer: {done.stderr.strip().splitlines()[-1:]}")

    apt("update", cwd=base)
    folders = {}
    for branch, packages in BRANCHES.items():
        folder = base / branch
        folder.mkdir()
        apt("download", *packages, cwd=folder)
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, folder / "root"], check=True, timeout=120)
        folders[branch] = folder / "root"
    return folders


def libraries(root: Path) -> Path:
    """The folder that contains the driver's libraries under the names for which a loader searches:
    libcuda.so.1 and libnvidia-ml.so.1."""
    here = root / "found"
    if not here.exists():
        here.mkdir()
        for name in ("libcuda.so", "libnvidia-ml.so"):
            (real,) = [path for path in root.rglob(f"{name}.[0-9]*.*") if not path.is_symlink()]
            (here / real.name).symlink_to(real)
            (here / f"{name}.1").symlink_to(real.name)
    return here


def here_with(root: Path) -> Machine:
    """Return this machine, with a loader that finds the libraries from the packages first."""
    return dataclasses.replace(
        Machine.here(), env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(libraries(root))}
    )


@pytest.mark.parametrize("branch", BRANCHES)
def test_the_real_driver_reports_a_missing_kernel_module(branch: str, drivers: dict[str, Path]) -> None:
    facts: list[Fact] = list(calls.ask(here_with(drivers[branch])))
    refused = {fact.call: fact.error for fact in facts if isinstance(fact, CudaCallFailed)}
    assert refused["nvmlInit"] == "NVML_ERROR_DRIVER_NOT_LOADED"
    assert refused["cuInit"] in (
        "CUDA_ERROR_NO_DEVICE",
        "CUDA_ERROR_UNKNOWN",
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    )
    offered = [fact.version for fact in facts if isinstance(fact, DriverCuda)]
    assert offered == [{"535": "12.2", "470": "11.4"}[branch]]


@pytest.mark.parametrize("branch", BRANCHES)
def test_its_version_is_read_from_its_files(branch: str, drivers: dict[str, Path]) -> None:
    facts = examine(here_with(drivers[branch]))
    versions = {fact.version for fact in facts.of(DriverVersion) if fact.part == "user"}
    assert len(versions) == 1
    assert versions.pop().startswith(f"{branch}.")


def machine_with(tmp_path: Path, root: Path) -> Folder:
    """Return a machine with a GPU, TensorFlow and its CUDA wheels, and with the real libraries and their
    answers."""
    machine = with_wheels(Folder(tmp_path / "machine").gpu(driver=None), "2.15.1")
    for path in libraries(root).iterdir():
        target = tmp_path / "machine/usr/lib/x86_64-linux-gnu" / path.name
        if path.name.endswith(".so.1"):
            target.symlink_to(os.readlink(path))
        else:
            shutil.copy(path.resolve(), target)
    asked = here_with(root)
    kept: list[str] = []

    def run(argv: list[str], timeout: float, env: dict[str, str]) -> object:
        assert Machine.here().runner is not None
        ran = Machine.here().runner(argv, timeout, env)  # type: ignore[misc]
        cookie = argv[argv.index("-c") + 2]
        kept.extend(piece for piece in ran.out.split(cookie)[1::2])
        return ran

    list(calls.ask(dataclasses.replace(asked, runner=run)))  # type: ignore[arg-type]
    machine.record["answers"] = {"driver": {"status": 0, "out": "\n".join(kept)}}
    return machine


def test_the_real_libraries_without_a_module_are_driver_not_loaded(
    drivers: dict[str, Path], tmp_path: Path
) -> None:
    diagnosis = machine_with(tmp_path, drivers["535"]).diagnosis()
    assert diagnosis.verdict.code == "driver-not-loaded"


def test_the_real_libraries_beside_another_module_are_a_mismatch(
    drivers: dict[str, Path], tmp_path: Path
) -> None:
    machine = machine_with(tmp_path, drivers["535"])
    diagnosis = machine.kernel_module("550.54.14").diagnosis()
    assert diagnosis.facts.of(DriverMismatch)[0].kernel == "550.54.14"
    assert diagnosis.verdict.code == "driver-library-mismatch"


def test_the_real_nvidia_smi_is_understood(drivers: dict[str, Path]) -> None:
    named = [path for path in drivers["535"].rglob("nvidia-smi") if path.is_file() and not path.is_symlink()]
    program = max(named, key=lambda path: path.stat().st_size)  # the others are completions and man pages
    machine = here_with(drivers["535"])
    machine = dataclasses.replace(
        machine, env={**machine.env, "PATH": f"{program.parent}:{machine.env['PATH']}"}
    )
    said = [fact.kind for fact in calls.ask(machine) if isinstance(fact, Symptom)]
    assert "smi-no-driver" in said
