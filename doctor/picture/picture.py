"""One answer to each question about a case: the facts of a machine or report, reconciled.

In: `Facts` and the tables. Out: `Picture`, whose properties are what rules ask for and what JSON shows
under "facts". Where several facts answer one question the best told wins: what a program printed over a
form's field, a form over a sentence, a sentence over an inference; among equals the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from doctor.facts import (
    INFERRED,
    MEASURED,
    PROSE,
    CudaCallFailed,
    CudaVersion,
    CudnnMismatch,
    CudnnVersion,
    DriverCuda,
    DriverMismatch,
    DriverVersion,
    EnvironmentKind,
    EnvVar,
    Fact,
    Facts,
    Gpu,
    GpuRegistered,
    LibraryLoaded,
    LibraryNotLoaded,
    LibraryWanted,
    OperatingSystem,
    Package,
    Platform,
    PythonVersion,
    Symptom,
    TensorFlowBuild,
    TensorFlowVersion,
)
from doctor.picture.builds import common, opening, opens_runtime_of
from doctor.picture.cards import cards
from doctor.tables.arm import only_with_arm
from doctor.values import cached_property

if TYPE_CHECKING:
    from doctor.tables import Tables, TensorFlowRelease

R = TypeVar(
    "R",
    TensorFlowVersion,
    PythonVersion,
    CudaVersion,
    CudnnVersion,
    DriverVersion,
    OperatingSystem,
    Platform,
    covariant=False,
)

_TENSORFLOW_PACKAGES = (
    "tensorflow",
    "tensorflow-gpu",
    "tensorflow-cpu",
    "tensorflow-intel",
    "tensorflow-macos",
    "tf-nightly",
    "tf-nightly-gpu",
)


CONTAINERS = frozenset(("docker", "kubernetes", "singularity", "podman", "lxc", "nspawn", "container"))
"""Kinds of surroundings into which a host has to pass its GPU."""


def best(facts: Sequence[R]) -> R | None:
    """The best told of several answers; the longer version where one only says more than the other."""
    if not facts:
        return None
    lowest = min(f.rank for f in facts)
    chosen = next(f for f in facts if f.rank == lowest)
    version = getattr(chosen, "version", None)
    if version is not None:
        for other in facts:
            longer = getattr(other, "version", "")
            if longer.startswith(version + ".") and other.rank <= lowest + 1:
                return other
    return chosen


@dataclass(frozen=True)
class Picture:
    """The reconciled view of one case."""

    facts: Facts
    tables: Tables

    @cached_property
    def answers(self) -> dict[Any, Any]:
        """What was found out about this case and is asked for again (doctor.tables.store.remembered)."""
        return {}

    @cached_property
    def seen(self) -> frozenset[type[Fact] | str]:
        """The types of the facts, and the kinds of the symptoms."""
        return frozenset((*map(type, self.facts), *(symptom.kind for symptom in self.facts.of(Symptom))))

    # --- where

    @cached_property
    def platform_fact(self) -> Platform | None:
        """The fact that decides the platform."""
        found = self.facts.of(Platform)
        if not found:
            return None
        kinds: dict[str, int] = {}
        for fact in found:
            kinds[fact.kind] = min(fact.rank, kinds.get(fact.kind, fact.rank))
        if ("wsl" in kinds and kinds["wsl"] <= kinds.get("windows", 9)) or (
            "wsl" in kinds and "linux" in kinds and kinds["linux"] <= kinds.get("windows", 9)
        ):
            kind = "wsl"
        else:
            order = ("windows", "macos", "linux", "wsl")
            kind = min(kinds, key=lambda k: (kinds[k], order.index(k) if k in order else 9))
        return next(p for p in found if p.kind == kind and p.rank == kinds[kind])

    @cached_property
    def platform(self) -> str | None:
        """linux, windows, wsl, macos, or None where nothing tells."""
        return self.platform_fact.kind if self.platform_fact else None

    @cached_property
    def table_platform(self) -> str:
        """The platform as the TensorFlow table names it; Linux on x86_64 where nothing tells.

        A Mac whose processor is not told has Apple silicon, unless its Python or its TensorFlow is from before the wheels for that.
        """
        machine = next((p.machine for p in self.facts.of(Platform) if p.machine), None)
        if self.platform == "windows":
            return "windows-amd64"
        if self.platform == "macos":
            return "macos-x86_64" if machine == "x86_64" or (machine is None and self._before_apple_silicon()) else "macos-arm64"
        if machine is None and any(only_with_arm(self.tables.store, g.name, g.compute_capability) for g in self.gpus):
            return "linux-aarch64"
        return "linux-aarch64" if machine in ("aarch64", "arm64") else "linux-x86_64"

    def _before_apple_silicon(self) -> bool:
        """Whether the Python or the TensorFlow of the case has wheels for Intel Macs and none for Apple silicon."""
        arm, intel = (self.tables.releases(f"macos-{kind}", "tensorflow") for kind in ("arm64", "x86_64"))
        if self.python is not None:
            minor = ".".join(self.python.version.split(".")[:2])
            if not any(minor in row.pythons for row in arm) and any(minor in row.pythons for row in intel):
                return True
        version = self.tensorflow.version if self.tensorflow is not None else ""
        return all(row.version != version for row in arm) and any(row.version == version for row in intel)

    @cached_property
    def environments(self) -> frozenset[str]:
        """The kinds of surroundings: docker, conda, colab, slurm ..."""
        kinds = frozenset(e.kind for e in self.facts.of(EnvironmentKind))
        measured = self.platform_fact is not None and self.platform_fact.rank == MEASURED
        if measured and self.platform in ("windows", "macos", "wsl"):  # the notebook services run Linux: they are only spoken of
            return kinds - {"colab", "kaggle"}
        return kinds

    @property
    def container(self) -> bool:
        """Whether this is inside a container."""
        return bool(self.environments & CONTAINERS)

    @cached_property
    def os(self) -> OperatingSystem | None:
        """The operating system."""
        return best(self.facts.of(OperatingSystem))

    @cached_property
    def env(self) -> dict[str, EnvVar]:
        """Environment variables, by name; the last setting counts."""
        return {e.name: e for e in self.facts.of(EnvVar)}

    # --- versions

    @cached_property
    def tensorflow(self) -> TensorFlowVersion | None:
        """The TensorFlow in use."""
        found = self.facts.of(TensorFlowVersion)
        packages = [
            TensorFlowVersion(p.source, p.version, p.name)
            for p in self.facts.of(Package)
            if p.name in _TENSORFLOW_PACKAGES and p.version
        ]
        return best([*found, *packages])

    @cached_property
    def python(self) -> PythonVersion | None:
        """The Python in use."""
        return best(self.facts.of(PythonVersion))

    @cached_property
    def cuda(self) -> CudaVersion | None:
        """The CUDA that is installed."""
        packages = [
            CudaVersion(p.source, p.version)
            for p in self.facts.of(Package)
            if p.version and p.name in ("cudatoolkit", "cuda-runtime")
        ]
        return best([*self.facts.of(CudaVersion), *packages]) or self._opened_cuda()

    def _opened_cuda(self) -> CudaVersion | None:
        """The release that the SONAMEs of opened libraries name, up to CUDA 10 where they hold both numbers."""
        for lib in self.facts.of(LibraryLoaded):
            number = re.match(r"lib(?:cudart|cublas|cufft|curand)\.so\.(\d+\.\d+)$", lib.name)
            if number and number[1] != "11.0":  # libcudart.so.11.0 is the name in every CUDA 11
                return CudaVersion(lib.source, number[1], lib.path, INFERRED)
        return None

    @cached_property
    def cudnn(self) -> CudnnVersion | None:
        """The cuDNN that is installed."""
        loaded = [CudnnVersion(m.source, m.loaded) for m in self.facts.of(CudnnMismatch)]
        packages = [
            CudnnVersion(p.source, p.version)
            for p in self.facts.of(Package)
            if p.version and (p.name == "cudnn" or p.name.startswith("nvidia-cudnn-cu"))
        ]
        told = best([*loaded, *self.facts.of(CudnnVersion), *packages])
        if told is not None:
            return told
        for lib in self.facts.of(LibraryLoaded):
            number = re.match(r"libcudnn\.so\.(\d+(?:\.\d+)?)$|cudnn64_(\d)\.dll$", lib.name)
            if number:
                return CudnnVersion(lib.source, number[1] or number[2], lib.path, INFERRED)
        return None

    @cached_property
    def driver(self) -> DriverVersion | None:
        """The NVIDIA driver; the running kernel module before the libraries."""
        found = self.facts.of(DriverVersion)
        kernel = [d for d in found if d.part == "kernel"]
        whole = [d for d in found if d.part == "any"]
        whole = [d for d in whole if "." in d.version] or whole  # a branch alone ("525") may be one that is only wished for
        told = best(kernel) or best(whole)
        if told is None or told.rank >= PROSE:
            for mismatch in self.facts.of(DriverMismatch):
                if mismatch.kernel:
                    return DriverVersion(mismatch.source, mismatch.kernel, "kernel")
        return told or best(found)

    @cached_property
    def drivers_agree(self) -> list[Fact]:
        """What a report shows of TensorFlow's finding that kernel module and libraries of the driver are of one version.

        TensorFlow looks only where cuInit failed, and says so in a line of its own after the two versions
        (stream_executor/cuda/cuda_diagnostics.cc), which many excerpts no longer hold.
        """
        said: list[Fact] = [*self.facts.symptoms("driver-versions-agree")]
        if said or self.facts.kind != "report":
            return said
        parts = {d.part: d for d in self.facts.of(DriverVersion) if d.part != "any"}
        user, kernel = parts.get("user"), parts.get("kernel")
        return [user, kernel] if user and kernel and user.version == kernel.version else []

    @cached_property
    def driver_cuda(self) -> DriverCuda | None:
        """The highest CUDA that the driver offers."""
        return self.facts.first(DriverCuda)

    # --- GPUs

    @cached_property
    def gpus(self) -> tuple[Gpu, ...]:
        """The NVIDIA GPUs, each once, with what all facts say of it; capability from the tables where untold."""
        return cards(self.facts.of(Gpu), self.tables)

    @cached_property
    def capabilities(self) -> tuple[str, ...]:
        """The compute capabilities of the GPUs, each once."""
        return tuple(dict.fromkeys(g.compute_capability for g in self.gpus if g.compute_capability))

    @cached_property
    def registered(self) -> list[GpuRegistered]:
        """The GPU devices that TensorFlow made in the run that the case is about (see `in_another_run`)."""
        return [] if self.in_another_run else self.facts.of(GpuRegistered)

    @cached_property
    def in_another_run(self) -> list[GpuRegistered]:
        """The GPU devices of a report in which a run got none at all: before the cure, or elsewhere.

        A process looks for GPUs once. One that skipped them, listed none, or whose cuInit failed makes no device later.
        NO_DEVICE alone is left out: of several processes that print into one log some are meant to see no GPU.
        """
        made = [device for device in self.facts.of(GpuRegistered) if device.count]
        if not made or self.facts.kind != "report":
            return []
        without = self.facts.has("gpu-skipped", "cpu-only-listed", "gpu-list-empty", "cudart-stub") or any(
            failed.call == "cuInit" and failed.error != "CUDA_ERROR_NO_DEVICE" for failed in self.facts.of(CudaCallFailed)
        )
        return made if without else []

    # --- libraries

    @cached_property
    def loaded(self) -> frozenset[str]:
        """Names of libraries that opened."""
        return frozenset(lib.name.lower() for lib in self.facts.of(LibraryLoaded))

    @cached_property
    def not_loaded(self) -> tuple[LibraryNotLoaded, ...]:
        """Libraries that did not open, each once; those that no GPU device needs (TensorRT, CUPTI ...) left out."""
        optional = {wanted.name for wanted in self.facts.of(LibraryWanted) if not wanted.needed}
        seen: dict[str, LibraryNotLoaded] = {}
        for lib in self.facts.of(LibraryNotLoaded):
            if not lib.name.lower().startswith(("libnvinfer", "nvinfer")) and lib.name not in optional:
                seen.setdefault(lib.name.lower(), lib)
        return tuple(seen.values())

    def component(self, name: str) -> str:
        """driver, cudnn, cuda or other: what a library belongs to."""
        lowered = name.lower()
        if lowered.startswith(("libcuda.", "nvcuda", "libnvidia-")):
            return "driver"
        if "cudnn" in lowered:
            return "cudnn"
        if lowered.startswith(
            ("libcu", "cu", "libnvjitlink", "libnvrtc", "nvrtc", "libnpp", "libnccl", "libnvtoolsext", "nvtoolsext")
        ):
            return "cuda"
        return "cuda" if self.tables.library(name) is not None else "other"

    def missing(self, component: str) -> list[LibraryNotLoaded]:
        """Libraries of a component that are absent to the loader and that did not open later either."""
        return self._missing.get(component, [])

    @cached_property
    def _missing(self) -> dict[str, list[LibraryNotLoaded]]:
        missing: dict[str, list[LibraryNotLoaded]] = {}
        for lib in self.not_loaded:
            if lib.name.lower() not in self.loaded and lib.cause != "broken":
                missing.setdefault(self.component(lib.name), []).append(lib)
        return missing

    # --- the build

    @cached_property
    def build(self) -> TensorFlowRelease | None:
        """The row of the TensorFlow build in use; None where the release is not known or not in the table."""
        known = self.tensorflow
        if known is None:
            return None
        version = known.version.split("+")[0]
        package = (
            known.package if known.package in ("tensorflow", "tensorflow-gpu") and known.rank == MEASURED else None
        )
        row = self.tables.tensorflow(version, package, self.table_platform)
        if row is None and package is not None:
            row = self.tables.tensorflow(version, None, self.table_platform)
        if row is None:  # a pre-release, or more parts than the table knows: the minor release stands for it
            minor = re.match(r"\d+\.\d+", version)
            row = self.tables.tensorflow(minor[0], None, self.table_platform) if minor else None
            if row is not None and any(row not in builds for builds in self._opening):
                row = None  # a nightly from before the libraries of its minor release were changed
        if self.facts.kind == "machine":
            return self._installed(known, row)
        return row if row is None or opens_runtime_of(row, self.facts) else None

    def _installed(self, known: TensorFlowVersion, row: TensorFlowRelease | None) -> TensorFlowRelease | None:
        """The build on a machine: the wheel's row, or what it states itself where somebody else built it."""
        said = self.facts.first(TensorFlowBuild)
        if said is None:
            return row if "+" not in known.version else None
        from doctor.tables import own_builds

        if row is not None and own_builds.of_wheel(row, known.version, said.gpu, said.cuda, said.cudnn, said.capabilities):
            return row
        return own_builds.build(
            self.tables,
            known.package,
            known.version,
            self.table_platform,
            gpu=said.gpu,
            cuda=said.cuda,
            cudnn=said.cudnn,
            capabilities=said.capabilities,
        )

    @cached_property
    def _opening(self) -> tuple[Sequence[TensorFlowRelease], ...]:
        return opening(self.facts, self.tables)

    @cached_property
    def builds(self) -> tuple[TensorFlowRelease, ...]:
        """The builds that can be meant: the known one, else all that open every library named in the case."""
        return (self.build,) if self.build is not None else common(self._opening)

    @property
    def wanted_cuda(self) -> tuple[str, ...]:
        """The CUDA versions that the possible builds were made for."""
        return tuple(dict.fromkeys(b.cuda for b in self.builds if b.gpu and b.cuda))
