"""The types of facts: what was seen, and where.

A probe of this machine and a reader of pasted text produce the same types, so each rule is written
once. Every fact carries its `Source`. Three states are distinct: seen (a fact of its type), looked for and
absent (`Absent`), could not look (`Unreadable`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeVar

from doctor import lazy
from doctor.values import dataclass, field, replace

EVIDENCE_LIMIT = 400
"""The most characters of a quoted line that are kept: enough for every decisive message, bounded for hostile
input."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact comes from.

    where: a report's name, a file of the machine, a package, a call ("libcuda.so.1: cuInit"). line: 1-based
    line in `where`, None if there are no lines. text: the line or value itself, as seen (cut at
    EVIDENCE_LIMIT characters).
    """

    where: str
    line: int | None = None
    text: str = ""

    def __str__(self) -> str:
        return self.where if self.line is None else f"{self.where}:{self.line}"


@dataclass(frozen=True, slots=True)
class Fact:
    """Anything seen; `source` says where."""

    source: Source


# `rank` of a fact for which a case may have several values: the lowest wins.
MEASURED = 0  # a program printed it, or a probe read it
FORM = 1  # a field of a report form says so
PROSE = 2  # a sentence or a command says so
INFERRED = 3  # it follows from something else
OF_WORKING_RUN = 4  # a version with which somebody says it works: counts only if nothing else is stated


def normalised(name: str) -> str:
    """A distribution's name in the form in which names are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


# --- software versions ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TensorFlowVersion(Fact):
    """A TensorFlow release in use. `package` is the distribution where known ("tensorflow-gpu").

    `inferred`: nothing states the release, it follows from something else (a log's file names, a path).
    `location`: the folder of the package on a machine.
    """

    version: str
    package: str | None = None
    inferred: bool = False
    location: str | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class TensorFlowBuild(Fact):
    """The installed build's own data: whether it has CUDA, and its CUDA and cuDNN. `capabilities`: its GPUs
    in its own spelling ("sm_80", "compute_90")."""

    gpu: bool | None = None
    cuda: str | None = None
    cudnn: str | None = None
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Package(Fact):
    """An installed Python distribution, by its normalised name (keras, numpy, nvidia-cudnn-cu12 ...)."""

    name: str
    version: str | None = None
    manager: str = "pip"
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Requirement(Fact):
    """A distribution that somebody requested from an installer; it may not be installed."""

    name: str
    specifier: str = ""


@dataclass(frozen=True, slots=True)
class Dependency(Fact):
    """A requirement of an installed distribution: `of` ("tensorflow", "tensorflow[and-cuda]") needs `name`."""

    of: str
    name: str
    specifier: str = ""


@dataclass(frozen=True, slots=True)
class PythonVersion(Fact):
    """The Python in use. `bits` is 32 or 64 where known, `executable` its path on a machine."""

    version: str
    bits: int | None = None
    executable: str | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class CudaVersion(Fact):
    """An installed CUDA toolkit or runtime (never the one in nvidia-smi's header, which the driver offers)."""

    version: str
    location: str | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class CudnnVersion(Fact):
    """An installed cuDNN."""

    version: str
    location: str | None = None
    rank: int = 0


# --- hardware and driver -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DriverVersion(Fact):
    """A version of the NVIDIA driver; `part`: kernel (the loaded module), user (libcuda, NVML) or any."""

    version: str
    part: str = "any"
    rank: int = 0


@dataclass(frozen=True, slots=True)
class DriverCuda(Fact):
    """The highest CUDA version that the driver offers (cuDriverGetVersion, nvidia-smi's header)."""

    version: str


@dataclass(frozen=True, slots=True)
class Gpu(Fact):
    """An NVIDIA GPU. Memory in MiB, compute capability as "8.6", `pci_id` as "10de:2484"."""

    name: str | None = None
    compute_capability: str | None = None
    memory_mib: int | None = None
    pci_id: str | None = None
    index: int | None = None
    bus_id: str | None = None
    uuid: str | None = None
    multiprocessors: int | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class OtherGpu(Fact):
    """A graphics device of another vendor (amd, intel, apple)."""

    name: str
    vendor: str


@dataclass(frozen=True, slots=True)
class GpuMemory(Fact):
    """Memory of one GPU at one moment, in MiB."""

    index: int
    total_mib: int | None = None
    used_mib: int | None = None
    free_mib: int | None = None


@dataclass(frozen=True, slots=True)
class GpuProcess(Fact):
    """A process that holds GPU memory (MiB); `name` only where the user may see it."""

    pid: int
    name: str | None = None
    memory_mib: int | None = None
    index: int | None = None


# --- the system ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OperatingSystem(Fact):
    """An operating system as people write it ("Ubuntu 20.04", "Windows 10")."""

    name: str
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Platform(Fact):
    """linux, windows, wsl or macos; `machine` is the processor (x86_64, aarch64, arm64) where known."""

    kind: str
    machine: str | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Kernel(Fact):
    """The running kernel's release, as `uname -r` prints it."""

    release: str


@dataclass(frozen=True, slots=True)
class Glibc(Fact):
    """The C library's version ("2.36")."""

    version: str


@dataclass(frozen=True, slots=True)
class EnvironmentKind(Fact):
    """A kind of environment that matters: venv, conda, docker, colab, kaggle, slurm, jetson, singularity,
    kubernetes ..."""

    kind: str


@dataclass(frozen=True, slots=True)
class EnvVar(Fact):
    """An environment variable that matters here."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class KernelModule(Fact):
    """A loaded kernel module: nvidia, nvidia_uvm, nouveau."""

    name: str


@dataclass(frozen=True, slots=True)
class DeviceNode(Fact):
    """A device file such as /dev/nvidia0, and whether this user may open it. group: the group whose members
    may open it; "" if unknown or none."""

    path: str
    accessible: bool = True
    group: str = ""


# --- libraries -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LibraryNotLoaded(Fact):
    """A library that the loader refused. `error` is the loader's text; `cause` is absent, broken or unknown.

    `culprit` names the file at fault if it is a different one (a dependency of the library).
    """

    name: str
    error: str = ""
    cause: str = "absent"
    culprit: str | None = None


@dataclass(frozen=True, slots=True)
class LibraryLoaded(Fact):
    """A library that was loaded, with its path if known."""

    name: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class LibraryFile(Fact):
    """A library file on disk, even if the loader would not find it.

    `name` is the SONAME or DLL name, `version` the full version where known; `searched` says whether the
    loader of the environment in use searches its folder (None: unknown), `problem` why it would not load.
    """

    name: str
    path: str
    version: str | None = None
    searched: bool | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LibraryWanted(Fact):
    """A library that the TensorFlow build loads, successfully or not; `needed`: for a GPU device."""

    name: str
    needed: bool = True


# --- what happened -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GpuRegistered(Fact):
    """A GPU device that TensorFlow created; memory in MiB. `count`: if only a number was printed."""

    index: int | None = None
    memory_mib: int | None = None
    name: str | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class CudaCallFailed(Fact):
    """A CUDA or NVML call that failed: `call` ("cuInit"), `error` the symbolic name
    ("CUDA_ERROR_NO_DEVICE")."""

    call: str
    error: str


@dataclass(frozen=True, slots=True)
class CudnnMismatch(Fact):
    """TensorFlow's message that cuDNN does not fit: `loaded` at run time, `compiled` against."""

    loaded: str
    compiled: str


@dataclass(frozen=True, slots=True)
class DriverMismatch(Fact):
    """Different versions of the driver's kernel module and user-space libraries."""

    kernel: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Symptom(Fact):
    """An observation without a type of its own: `kind` names it. The kinds are the names of the signatures in
    doctor.logs.signatures; a probe that sees the same on a machine uses the same name. `detail` holds further
    values from the message."""

    kind: str
    detail: tuple[tuple[str, str], ...] = ()

    def get(self, key: str, default: str = "") -> str:
        """The value of one detail, or the default."""
        for name, value in self.detail:
            if name == key:
                return value
        return default


@dataclass(frozen=True, slots=True)
class Likelihood(Fact):
    """A cause that the sentences of a report suggest: `code` of a finding, `probability` from 0 to 1 by the
    prose model. `source` is the strongest sentence."""

    code: str
    probability: float


@dataclass(frozen=True, slots=True)
class Prose(Fact):
    """The text that people wrote in a report: the lines of its sentences, and their length in characters.

    `source` is the first sentence.
    """

    lines: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Noise(Fact):
    """A line that alarms people but is harmless; `meaning` says why it is harmless."""

    kind: str
    meaning: str


# --- reports of this tool ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OwnReport(Fact):
    """Marks facts that were read from a report of this tool: `form` is Markdown or JSON (every fact) or text
    (the listed ones)."""

    form: str


@dataclass(frozen=True, slots=True)
class RestatedFinding(Fact):
    """A finding that a report of this tool states without its facts; `severity` if the report states it."""

    code: str
    severity: str | None = None
    confidence: str = "certain"


# --- the other two states ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Absent(Fact):
    """Looked for and absent: `what` is a name from the probes ("nvidia kernel module", "tensorflow")."""

    what: str


@dataclass(frozen=True, slots=True)
class Unreadable(Fact):
    """Could not look: `what` as in Absent, `reason` says why (permission, time-out, not readable)."""

    what: str
    reason: str


DECIDING = ("python", "python packages", "tensorflow", "libraries")
DECIDING_OF_DRIVER = ("libcuda", "nvidia driver", "driver libraries", "device nodes")
"""What the probes must have examined before a machine counts as healthy (values of `Unreadable.what`); the
driver's own only if it did not answer."""
HOSTS_DRIVER, RUNNING_KERNEL = "the host's driver", "the running kernel"
"""Values of `Unreadable.where`: an image, which gets a driver when it runs, and any files of a machine that
is not running."""
_VERSIONED = (TensorFlowVersion, PythonVersion, CudaVersion, CudnnVersion, DriverVersion, DriverCuda, Glibc)
_VERSION = lazy.compile(r"\s{0,9}[rRvV]?\d{1,9}(?!\d)")
_CAPABILITY = lazy.compile(r"\d{1,3}\.\d{1,3}[af]?")


def _checked(fact: Fact) -> Fact | None:
    """The fact in a form that is safe for rules: None if its version is invalid; an invalid compute
    capability is removed."""
    if isinstance(fact, _VERSIONED):
        return fact if _VERSION.match(fact.version) else None
    if (
        isinstance(fact, Gpu)
        and fact.compute_capability
        and not _CAPABILITY.fullmatch(fact.compute_capability)
    ):
        return replace(fact, compute_capability=None)
    return fact


F = TypeVar("F", bound=Fact)


@dataclass(frozen=True)
class Facts:
    """An immutable collection of facts about one machine or one report.

    `kind` is "machine" or "report"; `name` the report's name or the machine's; `lines` the number of lines of
    a report, 0 for a machine.
    """

    items: tuple[Fact, ...]
    kind: str = "report"
    name: str = "-"
    lines: int = 0
    _by_type: dict[type[Fact], list[Fact]] = field(init=False, repr=False, compare=False)
    _symptoms: dict[str, list[Symptom]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_type: dict[type[Fact], list[Fact]] = defaultdict(list)
        symptoms: dict[str, list[Symptom]] = defaultdict(list)
        for fact in map(_checked, self.items):
            if fact is None:
                continue
            by_type[type(fact)].append(fact)
            if isinstance(fact, Symptom):
                symptoms[fact.kind].append(fact)
        object.__setattr__(self, "_by_type", dict(by_type))
        object.__setattr__(self, "_symptoms", dict(symptoms))

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.items)

    def of(self, kind: type[F]) -> list[F]:
        """All facts of one type, in the order in which they were seen."""
        return self._by_type.get(kind, [])  # type: ignore[return-value]

    def first(self, kind: type[F]) -> F | None:
        """The first fact of one type, or None."""
        found = self.of(kind)
        return found[0] if found else None

    def symptoms(self, *kinds: str) -> list[Symptom]:
        """All symptoms of these kinds; with no kind, all of them."""
        if not kinds:
            return [s for group in self._symptoms.values() for s in group]
        if len(kinds) == 1:
            return list(self._symptoms.get(kinds[0], ()))
        if self._symptoms.keys().isdisjoint(kinds):  # as mostly
            return []
        return [s for kind in kinds if kind in self._symptoms for s in self._symptoms[kind]]

    def has(self, *kinds: str) -> bool:
        """Whether a symptom of one of these kinds was seen."""
        return not self._symptoms.keys().isdisjoint(kinds)

    def absent(self, what: str) -> Absent | None:
        """The record that `what` was looked for and is absent."""
        return next((a for a in self.of(Absent) if a.what == what), None)

    @property
    def unexamined(self) -> list[Unreadable]:
        """Decisive parts that could not be examined; none if TensorFlow itself was started and created a GPU
        device."""
        if any(made.count for made in self.of(GpuRegistered)):
            return []
        decides = DECIDING if self.has("cuda-devices") else (*DECIDING, *DECIDING_OF_DRIVER)
        return [fact for fact in self.of(Unreadable) if fact.what in decides]

    def plus(self, more: Iterable[Fact]) -> Facts:
        """A new collection with more facts at the end."""
        return Facts((*self.items, *more), self.kind, self.name, self.lines)
