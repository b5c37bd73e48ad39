"""Collects facts about a machine: everything that decides whether TensorFlow uses its GPU. TensorFlow is not
started.

`examine` runs the probes below, each guarded and timed. A probe that crashes, lacks permission or takes too
long becomes an Unreadable fact, and the other probes continue. The probes use only files, the environment
and, on a live machine, two small child processes: one queries the driver, the other the target Python's
sys.path.

The values of `Absent.what`: "nvidia gpu", "nvidia kernel module", "nvidia driver", "libcuda", "nvml", "device
nodes", "cuda", "cudnn", "tensorflow", "python".

The kinds of Symptom that the probes create, with their detail keys in brackets. A kind has the same name as
in doctor.logs.signatures if a log can show the same problem:

    simulated-gpu                  a GPU that this tool simulates is in use [simulation]
    simulated-libraries            the simulation replaced the environment's own CUDA libraries [missing,
                                   asked]
    secure-boot-enabled            Secure Boot is on: an unsigned kernel module is refused
    driver-module-not-loaded       nvidia.ko is built for the running kernel but is not loaded
    driver-module-for-other-kernel nvidia.ko is built only for other kernels [running, built]
    gpu-bound-to-other-driver      an NVIDIA GPU is reserved for a virtual machine [driver, bus]
    gpu-not-driven                 NVIDIA's module is loaded but drives no GPU, although one is present [bus]
    gpu-without-driver             NVIDIA's driver drives another GPU, but not the GPU at this address [bus]
    cuda-compat-on-path            libcuda.so.1 would come from a forward-compatibility folder [path, version]
    cuda-stub-on-path              libcuda.so.1 would be the toolkit's stub for linking [path]
    variable-misspelt              a variable's name is close to CUDA_VISIBLE_DEVICES [name]
    nix                            Nix or Guix built the Python interpreter in use [maker]
    wsl1                           WSL 1, which has no GPU
    wsl-no-windows-driver          WSL 2 without the Windows driver's libraries
    wsl-linux-driver               a Linux driver's libcuda is found before the Windows driver's [path]
    wsl-library-not-searched       /usr/lib/wsl/lib exists, but the loader does not search it
    gpu-switched-off               a program keeps the GPU off to save power [by, path]
    device-node-missing            the GPU's device node exists, but another node that CUDA needs does not
                                   [path]
    fabric-manager-missing         NVSwitches without a matching fabric manager [state: missing, stopped,
                                   other; version]
    start-would-serve              the program would find the libraries if it were started in another way
                                   [missing, kind, name, file, modules, value: the LD_LIBRARY_PATH of that
                                   way; of, of_kind, of_file: the way that fails]
    start-needed                   the program finds the libraries only if it is started in one particular
                                   way [missing, kind, name, file, value]
    hung-driver                    a call to NVML, libcuda or nvidia-smi did not return [call, seconds]
    driver-call-crashed            the process that called NVML or libcuda was killed [call, signal]
    cuda-devices                   how many devices libcuda lists [count; buses: their bus addresses, if all
                                   are known]
    caller-uses-gpu                a process that started tfgpu-doctor, such as a notebook kernel, uses a GPU
                                   [pids]
    compute-mode-exclusive         one process at a time may use the GPU [gpu]
    compute-mode-prohibited        no process may use the GPU [gpu]
    mig-enabled                    the GPU is divided into MIG instances [gpu, names, instances: how many
                                   compute instances, undivided: the numbers of the GPU instances]
    persistence-mode-off           the driver unloads when no process uses the GPU [gpu]
    ecc-errors                     uncorrected memory errors since the driver was loaded [gpu, count]
    xid                            the kernel log contains an Xid error [xid, bus]
    gpu-lost                       the kernel log says that a GPU is lost, or that it cannot be woken
    gpu-rejected-by-driver         the kernel log says that the driver could not start a GPU
    nvrm-api-mismatch              the kernel log says that module and libraries differ in version
    kernel-modules                 the kind of NVIDIA's loaded kernel modules [kind: open or closed]
    open-modules-required          the kernel log says that this GPU needs NVIDIA's open kernel modules
    kernel-module-rejected         the kernel refused a module not signed with a key that it trusts [key]
    module-build-failed            DKMS or akmods could not build the module [version, running, headers, tool]
    smi-no-driver, smi-no-devices  nvidia-smi's own error messages
    cpu-without-avx                the CPU has no AVX
    musl-libc                      the system's C library is musl
    glibc-too-old                  a library requires a newer glibc [library, needs, by]
    jetson                         an NVIDIA Jetson board [model]
    login-node                     Slurm is installed, but this process is not in a job
    python-without-wheels          no TensorFlow wheel fits this Python: it is free-threaded, or PyPy [build]
    tensorflow-library-fails       TensorFlow's own library would not load [file, error, culprit; elsewhere:
                                   the culprit's place in the Nix or Guix store]
    tensorflow-leftover            remains of a half-removed TensorFlow installation [path; kind=hollow: a
                                   module folder without __init__.py]
    tensorflow-files-missing       a distribution is listed, but its module does not exist [packages]
    tensorflow-without-metadata    the module exists, but no distribution lists it
    tensorflow-several             several distributions contain the module [packages, owner]
    stray-tensorflow-module        another file or folder named tensorflow would be imported first [path]
    plugin-device                  another vendor's plugin or build is installed, and so is its device [name]
    addon-mismatch                 an add-on was compiled for another TensorFlow release [addon, version,
                                   wants, there]
    pip-over-conda                 pip installed TensorFlow over conda's package [name, pip, conda]
    xla-tools-missing              XLA would not find its compiler tools [lacks, elsewhere: a folder that
                                   contains them, sure: "yes" if the files there are complete]
    cudnn-part-broken              a sub-library of cuDNN is missing or unloadable [path, library, problem]
    path-assumed                   Windows' PATH is unknown and assumed to contain a toolkit's folder
                                   [folder]
    msvc-runtime                   the Visual C++ runtime is missing or too old [dll]

The deep check (doctor.probe.deep) adds the symptoms in TensorFlow's log, under their names in doctor.logs,
and:

    deep-import-failed             `import tensorflow` raised an exception [error]
    deep-crashed                   TensorFlow's process was killed [stage, signal]
    illegal-instruction            TensorFlow's process was killed by SIGILL
    deep-hung                      the process did not end in time [stage, seconds]
    deep-failed                    the process ended too early, or printed too much [stage, error]
    gpu-list-empty                 TensorFlow lists no GPU
    growth-set                     TensorFlow lists GPUs, and the check enabled memory growth in its process
    deep-operation                 a matmul or convolution on a GPU gave the right result [gpu, op, seconds]
    deep-operation-wrong           the operation gave a wrong result [gpu, op, seconds]
    deep-operation-simulated       the operation ran on a simulated GPU: its result means nothing [gpu, op,
                                   seconds]
    deep-operation-failed          the operation raised an exception [gpu, op, error]
    deep-memory                    the peak of the GPU memory in use [gpu, peak_mib]
    deep-disagrees                 a library was not loaded from the place that the static probes predicted
                                   [library, static, deep]
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from doctor.facts import (
    DriverVersion,
    Fact,
    Facts,
    LibraryLoaded,
    LibraryNotLoaded,
    Source,
    Unreadable,
)
from doctor.probe import calls, driver, hardware, interpreter, libraries, packages, system
from doctor.probe.inside import reason
from doctor.probe.interpreter import Environment, NoPythonError
from doctor.probe.loader import Loader
from doctor.probe.machine import Machine
from doctor.probe.merging import merged, printable
from doctor.probe.packages import Installed
from doctor.probe.resolution import Resolution
from doctor.probe.running import end_children
from doctor.probe.ways import Ways
from doctor.tables import Tables
from doctor.values import dataclass, field, replace

__all__ = ["Examination", "Machine", "NoPythonError", "examine", "look"]

DEADLINE = 60.0
"""Seconds after which unfinished probes are abandoned, for example on a file system that hangs."""
T = TypeVar("T")


@dataclass
class Examination:
    """The result of `look`: the facts, each probe's duration in seconds, and what a deep check needs."""

    facts: Facts
    times: dict[str, float] = field(default_factory=dict)
    environment: Environment | None = None
    installed: Installed | None = None


def examine(machine: Machine, python: str | None = None, tables: Tables | None = None) -> Facts:
    """The facts about a machine. `python`: an interpreter or an environment's folder; by default the one in
    use.

    Raises NoPythonError if `python` does not exist.
    """
    return look(machine, python, tables).facts


def look(machine: Machine, python: str | None = None, tables: Tables | None = None) -> Examination:
    """Like `examine`, but also returns the probes' durations and the environment."""
    interpreter.find(machine, python)  # a wrong --python raises NoPythonError; no other problem ends the call
    try:
        return _Probes(Ways.of(machine, python), python, tables or Tables.bundled()).run()
    except BaseException:
        end_children()
        raise


class _Probes:
    """Runs the probes, and collects their facts and durations."""

    def __init__(self, ways: Ways, python: str | None, tables: Tables) -> None:
        self.ways, self.machine, self.python, self.tables = ways, ways.machine, python, tables
        self.found: dict[str, list[Fact]] = {}
        self.times: dict[str, float] = {}
        self.environment = Environment(None, "", problem="the probe did not run")
        self.installed = Installed()
        self.driver: driver.Driver | None = None

    def run(self) -> Examination:
        """Run the probes in two threads: one for hardware and driver, one for the environment and its
        libraries."""
        threads = [
            threading.Thread(target=self._examine_environment, daemon=True),
            threading.Thread(target=self._examine_driver, daemon=True),
        ]
        end = time.monotonic() + DEADLINE
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        late = [name for name in ORDER if name in self.found and name not in self.times]
        for name in late:
            self.found[name] = [_unreadable(name, f"not finished after {DEADLINE:.0f} s")]
        if self.machine.env is not self.ways.machine.env and "environment variables" not in late:
            self.found["environment variables"] = list(system.variables(self.machine))
        lost = {f.name for f in self.found.get("libraries", ()) if isinstance(f, LibraryNotLoaded)}
        facts = [
            fact  # drop driver libraries that the system's loader finds, but not this program's
            for name in ORDER
            for fact in self.found.get(name, ())
            if not (name == "driver libraries" and isinstance(fact, LibraryLoaded) and fact.name in lost)
        ]
        return Examination(
            Facts(tuple(map(printable, merged(facts))), "machine", self.machine.name),
            dict(self.times),
            self.environment,
            self.installed,
        )

    def _guard(self, name: str, probe: Callable[[], Iterable[Fact]]) -> None:
        """Run one probe. Keep what it found before a failure, and add the failure as a fact."""
        found = self.found.setdefault(name, [])
        start = time.monotonic()
        try:
            for fact in probe():
                found.append(fact)
        except OSError as problem:
            found.append(_unreadable(name, reason(problem), str(problem.filename or name)))
        except Exception as problem:  # noqa: BLE001
            # a defect in one probe must not discard what the others found
            found.append(_unreadable(name, f"the probe failed: {type(problem).__name__}: {problem}"))
        self.times[name] = time.monotonic() - start

    def _examine_environment(self) -> None:
        machine = self.machine
        self._guard("python", self._python)
        self._guard("tensorflow", self._packages)
        if machine.system == "linux":
            self._guard("libraries", self._libraries)
        elif machine.system == "windows":
            self._guard("libraries", self._dlls)

    def _examine_driver(self) -> None:
        machine = self.machine
        self._guard("system", lambda: system.operating_system(machine))
        self._guard("surroundings", lambda: system.surroundings(machine))
        self._guard("cpu", lambda: system.cpu(machine))
        self._guard("environment variables", lambda: system.variables(machine))
        self._guard("pci", lambda: hardware.gpus(machine, self.tables))
        self._guard("kernel driver", lambda: driver.kernel_side(machine))
        self._guard("driver libraries", self._driver_libraries)
        self._guard("driver calls", self._calls)

    def _python(self) -> Iterable[Fact]:
        try:
            self.environment = interpreter.examine(self.machine, self.python, self.ways.python)
        except OSError as problem:
            self.environment = replace(self.environment, problem=f"{problem.filename}: {problem.strerror}")
            raise
        return self.environment.facts

    def _packages(self) -> Iterable[Fact]:
        self.installed, facts = packages.examine(self.machine, self.environment)
        return facts

    def _libraries(self) -> Iterable[Fact]:
        builds = self.found.get("tensorflow", [])
        facts = libraries.examine(self.machine, self.environment, self.installed, builds, self.tables)
        way = self.ways.better(facts, self.environment, self.installed)
        if way is not None:  # the program is usually started in this other way
            self.machine = way
            facts = libraries.examine(way, self.environment, self.installed, builds, self.tables)
        return self.ways.explained(facts, self.environment, self.installed)

    def _dlls(self) -> Iterable[Fact]:
        from doctor.probe.dll import examine as examine_dlls

        return examine_dlls(
            self.machine, self.environment, self.installed, self.found.get("tensorflow", []), self.tables
        )

    def _driver_libraries(self) -> Iterable[Fact]:
        if self.machine.system != "linux":
            return
        loader = Loader(self.machine, self.machine.env)
        yield from system.glibc(self.machine, loader.glibc, loader.c_library)
        of_kernel = self.found["kernel driver"]
        kernel = next((f for f in of_kernel if isinstance(f, DriverVersion)), None)
        failed = [f for f in of_kernel if isinstance(f, Unreadable) and f.what == "kernel driver"]
        unseen = {f.source.where: f.reason for f in failed}
        facts, self.driver = driver.user_side(self.machine, loader, kernel, unseen)
        yield from facts

    def _calls(self) -> Iterable[Fact]:
        """Query the driver, unless the other probes show that there is none."""
        machine = self.machine
        if machine.system == "macos":
            return ()
        state = self.driver
        nothing = state is not None and state.kernel is None and not any(map(_found, state.libraries))
        if nothing and not machine.recorded and machine.which("nvidia-smi") is None:
            return ()
        return calls.ask(machine)


ORDER = (
    "system",
    "surroundings",
    "cpu",
    "environment variables",
    "pci",
    "kernel driver",
    "driver libraries",
    "driver calls",
    "python",
    "tensorflow",
    "libraries",
)
"""The names of the probes, in the order in which the result lists their facts."""


def _found(library: Resolution) -> bool:
    """Whether the search found the library or a broken file with its name, or could not examine a place."""
    return library.path is not None or library.cause != "absent"


def _unreadable(name: str, reason: str, where: str = "") -> Unreadable:
    return Unreadable(Source(where or f"probe of {name}"), name, reason)
