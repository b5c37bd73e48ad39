"""Facts about installed software, the operating system and the environment."""

from __future__ import annotations

from doctor.facts.base import Fact
from doctor.values import dataclass


@dataclass(frozen=True, slots=True)
class TensorFlowVersion(Fact):
    """A TensorFlow release in use. package: the distribution if known ("tensorflow-gpu").

    inferred: whether the release is not stated but follows from something else (a log's file names, a path).
    location: the folder of the package on a machine.
    """

    version: str
    package: str | None = None
    inferred: bool = False
    location: str | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class TensorFlowBuild(Fact):
    """The data that the installed build declares about itself. gpu: whether it has CUDA; cuda, cudnn: their
    versions; capabilities: the targets of its code, in the build's spelling ("sm_80", "compute_90")."""

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
    """A Python distribution that somebody asked an installer for; it may not be installed."""

    name: str
    specifier: str = ""


@dataclass(frozen=True, slots=True)
class Dependency(Fact):
    """A requirement of an installed distribution. of: the distribution ("tensorflow",
    "tensorflow[and-cuda]"); name: the package that it requires."""

    of: str
    name: str
    specifier: str = ""


@dataclass(frozen=True, slots=True)
class PythonVersion(Fact):
    """The Python version in use. bits: 32 or 64 if known; executable: the interpreter's path on a machine."""

    version: str
    bits: int | None = None
    executable: str | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class CudaVersion(Fact):
    """An installed CUDA toolkit or runtime; never the CUDA version in nvidia-smi's header, which is the
    highest that the driver supports."""

    version: str
    location: str | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class CudnnVersion(Fact):
    """An installed cuDNN release."""

    version: str
    location: str | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class OperatingSystem(Fact):
    """An operating system, by the name that people use ("Ubuntu 20.04", "Windows 10")."""

    name: str
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Platform(Fact):
    """A platform. kind: linux, windows, wsl or macos; machine: the processor (x86_64, aarch64, arm64) if
    known."""

    kind: str
    machine: str | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Kernel(Fact):
    """The running kernel's release, as `uname -r` prints it."""

    release: str


@dataclass(frozen=True, slots=True)
class Glibc(Fact):
    """The version of glibc, the C library ("2.36")."""

    version: str


@dataclass(frozen=True, slots=True)
class EnvironmentKind(Fact):
    """A kind of environment that affects TensorFlow or the GPU: venv, conda, docker, colab, kaggle, slurm,
    jetson, singularity, kubernetes ..."""

    kind: str


@dataclass(frozen=True, slots=True)
class EnvVar(Fact):
    """An environment variable that affects TensorFlow or the GPU."""

    name: str
    value: str
