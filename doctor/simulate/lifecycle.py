"""Starts and ends a simulation, and creates its folder and its environment variables.

All files of a simulation are in one folder: the libraries, the ledger of GPU memory, the machine's
description, the kernel's files. However the simulation ends, a watchdog process removes the folder and ends
the processes that were started in the simulation. If the watchdog is killed, the simulation cleans up; if
both are killed, the next simulation cleans up. Both hold a lock on a file in the folder, which shows whether
one of them is alive.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from doctor import resources
from doctor.folders import temporary_folder
from doctor.simulate.compilation import SimulationError, build
from doctor.simulate.damage import damage
from doctor.simulate.files import write_kernel_files
from doctor.simulate.machine import CONTEXT_MIB, SimulatedMachine, cudnn_release
from doctor.simulate.scenario import Damage, Scenario
from doctor.simulate.toolkit import write_toolkit
from doctor.simulate.watchdog import MARK, end_processes
from doctor.values import dataclass

if TYPE_CHECKING:
    import subprocess

IN_FORCE = "TFGPU_DOCTOR_SIMULATION"
_IN_USE = "in-use"
_LEDGER_BYTES = 512 * 24  # MAX_HOLDINGS entries of the ledger, sources/ledger.c


@dataclass(frozen=True)
class Simulation:
    """A running simulation.

    folder: the folder with all its files. libraries: the folder with the CUDA libraries. driver_libraries:
    the folder with libcuda and NVML. environment: the complete environment for a child process.
    """

    machine: SimulatedMachine
    folder: Path
    libraries: Path
    driver_libraries: Path
    environment: dict[str, str]


@contextlib.contextmanager
def environment(scenario: Scenario, base: Mapping[str, str] | None = None) -> Iterator[Simulation]:
    """Start a simulation. Yields a Simulation, in whose environment processes run on the simulated machine.

    base: the environment variables to extend (by default this process's own). Nothing is left behind when the
    block ends or this process is killed. Raises SimulationError if the libraries cannot be built, a
    simulation is already running, or memory cannot be held.
    """
    base = dict(os.environ if base is None else base)
    if base.get(IN_FORCE):
        raise SimulationError(f"a simulation is already running ({base[IN_FORCE]}): end it first")
    machine = scenario.machine
    _remove_abandoned()
    built = build(
        ["libcuda.so.1", "libnvidia-ml.so.1", "files.so", "memory_holder", *machine.libraries.sonames]
    )
    folder = Path(tempfile.mkdtemp(prefix=MARK, dir=temporary_folder()))
    with _watchdog(folder):
        simulation = _lay_out(folder, scenario, built, base)
        kernel_driver = machine.driver if scenario.kernel_driver == "" else scenario.kernel_driver
        write_kernel_files(folder / "root", machine.gpus, kernel_driver, nodes=scenario.device_nodes)
        with _held(simulation, scenario.held_mib):
            for wrong in scenario.damages:
                _damage(simulation, wrong)
            yield simulation


def _lay_out(folder: Path, scenario: Scenario, built: Path, base: dict[str, str]) -> Simulation:
    machine = scenario.machine
    # in a cuda-compat package's folder, because programs recognise the package by its path
    driver_libraries = folder / ("usr/local/cuda/compat" if scenario.compatibility_package else "driver")
    libraries = folder / "cuda"
    libraries.mkdir()
    driver_libraries.mkdir(parents=True)
    for soname in machine.libraries.sonames:
        if soname.startswith("libcudnn.so."):
            # as in NVIDIA's archive: the link's target has the release in its name
            release = f"libcudnn.so.{cudnn_release(machine)}"
            shutil.copy(built / soname, libraries / release)
            (libraries / soname).symlink_to(release)
        else:
            shutil.copy(built / soname, libraries / soname)
    # TensorFlow reads libcuda's version from the name of the link's target (cuda_diagnostics.cc)
    for stem in ("libcuda", "libnvidia-ml"):
        shutil.copy(built / f"{stem}.so.1", driver_libraries / f"{stem}.so.{machine.driver}")
        (driver_libraries / f"{stem}.so.1").symlink_to(f"{stem}.so.{machine.driver}")
    for name in ("files.so", "memory_holder"):
        shutil.copy(built / name, folder / name)
    (folder / "ledger").write_bytes(bytes(_LEDGER_BYTES))
    description = folder / "machine"
    description.write_text(
        f"# A machine simulated by tfgpu-doctor: there is no GPU.\n{machine.text()}ledger = {folder}/ledger\n"
    )
    search = [str(driver_libraries), str(libraries), *filter(None, [base.get("LD_LIBRARY_PATH")])]
    preload = [str(folder / "files.so"), *filter(None, [base.get("LD_PRELOAD")])]
    added = {
        IN_FORCE: str(description),
        "TFGPU_DOCTOR_SIMULATION_FILES": str(folder / "root"),
        "LD_LIBRARY_PATH": ":".join(search),
        "LD_PRELOAD": ":".join(preload),
    }
    if scenario.toolkit:
        write_toolkit(folder / "toolkit", machine.libraries.ptxas or machine.libraries.cuda)
        # XLA finds ptxas on PATH up to 2.15, and through its flag in later releases; if the flag is given
        # twice, the last one (the user's) counts
        added["PATH"] = os.pathsep.join([str(folder / "toolkit" / "bin"), base.get("PATH", os.defpath)])
        added["XLA_FLAGS"] = f"--xla_gpu_cuda_data_dir={folder}/toolkit {base.get('XLA_FLAGS', '')}".strip()
    if scenario.hide_toolkit:
        added["TFGPU_DOCTOR_SIMULATION_NO_TOOLKIT"] = "1"
        added["PATH"] = _without_ptxas(base.get("PATH", os.defpath))
    return Simulation(
        machine, folder, libraries, driver_libraries, {**base, **added, **dict(scenario.variables)}
    )


def _without_ptxas(path: str) -> str:
    return os.pathsep.join(
        part for part in path.split(os.pathsep) if not os.access(Path(part) / "ptxas", os.X_OK)
    )


def _damage(simulation: Simulation, wrong: Damage) -> None:
    """Damage a library, if the simulated TensorFlow release loads it."""
    for folder in (simulation.libraries, simulation.driver_libraries):
        for link in folder.glob(f"{wrong.stem}.so.*"):
            if link.is_symlink():  # damage the file under the name that TensorFlow loads
                target = Path(os.readlink(link))
                link.unlink()
                (folder / target).rename(link)
        for file in folder.glob(f"{wrong.stem}.so.*"):
            damage(file, wrong.kind)


@contextlib.contextmanager
def _watchdog(folder: Path) -> Iterator[None]:
    """Start the watchdog. At the end, notify it by closing the pipe, and wait until it has cleaned up."""
    import subprocess

    source = resources.text("doctor.simulate", "watchdog.py")
    lock = _lock(folder)
    reading, writing = os.pipe()
    try:
        watchdog = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", source, str(folder)],
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={},
            pass_fds=(lock,),
        )
    except OSError:
        os.close(writing)
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        os.close(reading)
    try:
        yield
    finally:
        os.close(writing)
        _wait(watchdog)
        if folder.exists():  # the watchdog was killed
            _clean(folder)
        os.close(lock)


def _lock(folder: Path) -> int:
    """Create the file that marks the folder as in use. It is already locked when it gets its name. Returns
    its descriptor."""
    import fcntl

    descriptor = os.open(folder / "in-use.new", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    (folder / "in-use.new").rename(folder / _IN_USE)
    return descriptor


def _remove_abandoned() -> None:
    """Clean up after simulations of this user that were killed together with their watchdogs."""
    import fcntl

    for mark in temporary_folder().glob(f"{MARK}*/{_IN_USE}"):
        with contextlib.suppress(OSError):
            if mark.stat().st_uid != os.getuid():
                continue
            with open(mark) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _clean(mark.parent)


def _clean(folder: Path) -> None:
    end_processes(str(folder))
    shutil.rmtree(folder, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process ends by itself; Ctrl-C does not stop the wait."""
    while process.poll() is None:
        with contextlib.suppress(KeyboardInterrupt):
            process.wait()


@contextlib.contextmanager
def _held(simulation: Simulation, held_mib: tuple[int, ...]) -> Iterator[None]:
    """Run a process that holds memory of the GPUs while the block runs."""
    import subprocess

    if not any(held_mib):
        yield
        return
    amounts = [str(max(0, mib - CONTEXT_MIB)) for mib in held_mib]
    # all GPUs in PCI bus order, whichever of them the user's command may see
    environment = {k: v for k, v in simulation.environment.items() if k != "CUDA_VISIBLE_DEVICES"}
    environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    holder = subprocess.Popen(
        [str(simulation.folder / "memory_holder"), *amounts],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    try:
        if _line(holder.stdout) != "held":
            amount = " and ".join(map(str, held_mib))
            raise SimulationError(f"{amount} MiB cannot be held on the simulated GPU: {_line(holder.stderr)}")
        yield
    finally:
        holder.kill()
        holder.communicate()


def _line(stream: IO[bytes] | None) -> str:
    return stream.readline().decode(errors="replace").strip() if stream else ""
