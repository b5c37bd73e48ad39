"""Facts about what happened: libraries, calls that failed, symptoms, what people wrote."""

from __future__ import annotations

from doctor.facts.base import Fact
from doctor.values import dataclass


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

    `name` is the SONAME or DLL name, `version` the full version if known; `searched` says whether the loader
    of the environment in use searches its folder (None: unknown), `problem` why it would not load.
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


@dataclass(frozen=True, slots=True)
class GpuRegistered(Fact):
    """A GPU device that TensorFlow created; memory in MiB. `count`: the number of devices, if only that was
    printed."""

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
    """TensorFlow's message that cuDNN does not fit: `loaded` is the version at run time, `compiled` the
    version that TensorFlow was compiled with."""

    loaded: str
    compiled: str

    @property
    def range(self) -> str:
        """The versions that fit: "8.1 or newer of 8.x"."""
        major, *rest = self.compiled.split(".")[:2]
        return f"{'.'.join((major, *rest))} or newer of {major}.x"


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
class SentenceKind(Fact):
    """What a sentence of a report is: asks (whether versions fit, what to install), symptom, cause, states
    (an environment), works or other; `probability` from 0 to 1 by the model of sentences."""

    kind: str
    probability: float


@dataclass(frozen=True, slots=True)
class Prose(Fact):
    """The text that people wrote in a report: the lines of its sentences, and their length in characters
    (a Chinese, Japanese or Korean one counts as 1.7 letters).

    `source` is the first sentence.
    """

    lines: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Noise(Fact):
    """A line that alarms people but is harmless; `meaning` says why it is harmless."""

    kind: str
    meaning: str


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
