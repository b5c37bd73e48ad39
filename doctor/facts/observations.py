"""Facts about what happened: loaded libraries, failed calls, symptoms, and what people wrote."""

from __future__ import annotations

from doctor.facts.base import Fact
from doctor.values import dataclass


@dataclass(frozen=True, slots=True)
class LibraryNotLoaded(Fact):
    """A library that the loader did not load. error: the loader's message; cause: absent, broken or unknown.

    culprit: the file at fault if it is another file (a dependency of the library).
    """

    name: str
    error: str = ""
    cause: str = "absent"
    culprit: str | None = None


@dataclass(frozen=True, slots=True)
class LibraryLoaded(Fact):
    """A library that the loader loaded. path: its file, if known."""

    name: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class LibraryFile(Fact):
    """A library file on disk, even if the loader would not find it.

    name: the SONAME or DLL name; version: the full version if known; searched: whether the loader of the
    environment in use searches the file's folder (None: unknown); problem: why the file would not load.
    """

    name: str
    path: str
    version: str | None = None
    searched: bool | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LibraryWanted(Fact):
    """A library that the TensorFlow build tries to load. needed: whether a GPU device needs the library."""

    name: str
    needed: bool = True


@dataclass(frozen=True, slots=True)
class GpuRegistered(Fact):
    """A GPU device that TensorFlow created; the memory is in MiB. count: the number of devices, if only their
    number was printed."""

    index: int | None = None
    memory_mib: int | None = None
    name: str | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class CudaCallFailed(Fact):
    """A CUDA or NVML call that failed. call: the function ("cuInit"); error: the symbolic name of its status
    ("CUDA_ERROR_NO_DEVICE")."""

    call: str
    error: str


@dataclass(frozen=True, slots=True)
class CudnnMismatch(Fact):
    """TensorFlow's message that the loaded cuDNN does not fit. loaded: the version at run time; compiled: the
    version with which TensorFlow was compiled."""

    loaded: str
    compiled: str

    @property
    def range(self) -> str:
        """The versions that fit, as text: "8.1 or a later 8.x"."""
        major, *rest = self.compiled.split(".")[:2]
        return f"{'.'.join((major, *rest))} or a later {major}.x"


@dataclass(frozen=True, slots=True)
class DriverMismatch(Fact):
    """The observation that the driver's kernel module and user-space libraries have different versions."""

    kernel: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Symptom(Fact):
    """An observation for which there is no specific type. kind: its name, which is that of a signature in
    doctor.logs.signatures; a probe that makes the same observation on a machine uses the same name. detail:
    further (name, value) pairs from the message."""

    kind: str
    detail: tuple[tuple[str, str], ...] = ()

    def get(self, key: str, default: str = "") -> str:
        """Return the value of one detail, or the default."""
        return next((value for name, value in self.detail if name == key), default)


@dataclass(frozen=True, slots=True)
class Likelihood(Fact):
    """A cause that the sentences in a report suggest. code: the code of its finding; probability: from 0 to
    1, by the prose model; source: the sentence that suggests it most."""

    code: str
    probability: float


@dataclass(frozen=True, slots=True)
class SentenceKind(Fact):
    """The kind of a sentence in a report. kind: "asks" (whether versions fit, what to install), "cause",
    "states" (an environment), "works", "elsewhere" (it works on another machine or with other versions),
    "other", or an observation: "no device", "low use", "import", "installation", "memory", "crash", "slow"
    (first start), "wrong numbers". probability: from 0 to 1, as estimated by the sentence model."""

    kind: str
    probability: float


@dataclass(frozen=True, slots=True)
class Prose(Fact):
    """The text that people wrote in a report. lines: the lines of its sentences; size: their length in
    characters (a Chinese, Japanese or Korean character counts as 1.7); source: the first sentence.
    """

    lines: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Words(Fact):
    """The words at the start of a report in which a person wrote, programs' output included. hashes: the
    CRC-32 of each word in lower case, with each digit as 0, in the order of the text."""

    hashes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Noise(Fact):
    """A line that alarms people but is harmless. meaning: why it is harmless."""

    kind: str
    meaning: str


@dataclass(frozen=True, slots=True)
class OwnReport(Fact):
    """Marks facts that were read from a report of this tool. form: Markdown or JSON, which contain every
    fact, or text, which contains only the listed facts."""

    form: str


@dataclass(frozen=True, slots=True)
class RestatedFinding(Fact):
    """A finding that a report of this tool states without the facts behind it. severity: None if the report
    does not state it."""

    code: str
    severity: str | None = None
    confidence: str = "certain"
