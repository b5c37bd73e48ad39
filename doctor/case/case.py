"""One answer to each question about a case, from facts that may contradict each other.

In: `Facts` of a machine or report, and the tables. Out: `Case`. The rules read its properties, and JSON shows
them under "facts". If several facts answer one question, the most reliable wins: a program's output before a
field of a form, a form before a sentence, a sentence before an inference; among equally reliable facts, the
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from doctor.case.best import best, in_company
from doctor.case.builds import common, installed, of_conda, opening, opens_runtime_of, row_of
from doctor.case.libraries import component, not_loaded
from doctor.case.platforms import before_apple_silicon, decisive
from doctor.case.runs import of_another
from doctor.case.seen import seen
from doctor.case.versions import agreeing, cuda_of, cudnn_of, driver_of
from doctor.facts import (
    INFERRED,
    MEASURED,
    PROSE,
    CudaCallFailed,
    CudaVersion,
    CudnnVersion,
    DriverCuda,
    DriverVersion,
    EnvironmentKind,
    EnvVar,
    Fact,
    Facts,
    Gpu,
    GpuRegistered,
    LibraryLoaded,
    LibraryNotLoaded,
    OperatingSystem,
    Package,
    Platform,
    PythonVersion,
    Symptom,
    TensorFlowVersion,
)
from doctor.tables.ordering import order
from doctor.values import cached_property, dataclass

if TYPE_CHECKING:
    from doctor.case.named import Meant
    from doctor.tables import Tables, TensorFlowRelease

_TENSORFLOW_PACKAGES = (
    *("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tensorflow-intel", "tensorflow-macos"),
    *("tf-nightly", "tf-nightly-gpu"),
)


CONTAINERS = frozenset(
    ("docker", "kubernetes", "singularity", "podman", "lxc", "nspawn", "snap", "container")
)
"""Kinds of environments that get a GPU only if the host passes it in."""


@dataclass(frozen=True)
class Case:
    """The facts of one machine or report, and one answer to each question about it. The module's docstring
    says which fact wins if several facts answer one question."""

    facts: Facts
    tables: Tables

    @cached_property
    def answers(self) -> dict[Any, Any]:
        """A cache of answers about this case (doctor.tables.store.remembered)."""
        return {}

    @cached_property
    def seen(self) -> frozenset[type[Fact] | str]:
        """The names of everything that was observed; see `doctor.case.seen`."""
        return seen(self)

    # --- where

    @cached_property
    def platform_fact(self) -> Platform | None:
        """The fact that decides the platform."""
        return decisive(self.facts.of(Platform))

    @cached_property
    def platform(self) -> str | None:
        """linux, windows, wsl, macos, or None if unknown."""
        return self.platform_fact.kind if self.platform_fact else None

    @cached_property
    def table_platform(self) -> str:
        """The platform's name in the TensorFlow table; Linux on x86_64 if unknown. A Mac with an unknown
        processor counts as Apple silicon, unless its Python or TensorFlow is older than the wheels for Apple
        silicon."""
        machine = next((p.machine for p in self.facts.of(Platform) if p.machine), None)
        if self.platform == "windows":
            return "windows-amd64"
        if self.platform == "macos":
            return (
                "macos-x86_64"
                if machine == "x86_64"
                or (machine is None and before_apple_silicon(self.python, self.tensorflow, self.tables))
                else "macos-arm64"
            )
        if machine is None and self.gpus:
            from doctor.tables.arm import only_with_arm

            if any(only_with_arm(self.tables.store, g.name, g.compute_capability) for g in self.gpus):
                return "linux-aarch64"
        return "linux-aarch64" if machine in ("aarch64", "arm64") else "linux-x86_64"

    @cached_property
    def environments(self) -> frozenset[str]:
        """The kinds of environments: docker, conda, colab, slurm ..."""
        kinds = frozenset(e.kind for e in self.facts.of(EnvironmentKind))
        measured = self.platform_fact is not None and self.platform_fact.rank == MEASURED
        if measured and self.platform in ("windows", "macos", "wsl"):
            # the notebook services run Linux, so this report only mentions them
            return kinds - {"colab", "kaggle"}
        return kinds

    @property
    def container(self) -> bool:
        """Whether the case is about the inside of a container."""
        return bool(self.environments & CONTAINERS)

    @cached_property
    def os(self) -> OperatingSystem | None:
        """The operating system."""
        return best(self.facts.of(OperatingSystem))

    @cached_property
    def env(self) -> dict[str, EnvVar]:
        """The environment variables by name; the last setting of a variable counts."""
        return {e.name: e for e in self.facts.of(EnvVar)}

    # --- versions

    @cached_property
    def releases(self) -> list[TensorFlowVersion]:
        """Every TensorFlow release that the facts and the lists of packages state."""
        packages = [
            TensorFlowVersion(p.source, p.version, p.name)
            for p in self.facts.of(Package)
            if p.name in _TENSORFLOW_PACKAGES and p.version
        ]
        return [*self.facts.of(TensorFlowVersion), *packages]

    @cached_property
    def tensorflow(self) -> TensorFlowVersion | None:
        """The TensorFlow release in use."""
        beside = [*self.facts.of(PythonVersion), *self.facts.of(CudaVersion), *self.facts.of(CudnnVersion)]
        return best(in_company(self.releases, beside)) or self._brought()

    @cached_property
    def named(self) -> tuple[Meant, ...]:
        """The bindings, programs and hosted notebooks that a report mentions and the tables contain."""
        if not self.facts.has("named"):
            return ()
        from doctor.case.named import meant  # few reports name such a product

        stated = best(self.facts.of(TensorFlowVersion))
        python = best(self.facts.of(PythonVersion))
        return meant(
            self.facts, self.tables, stated.version if stated else "", python.version if python else ""
        )

    def _brought(self) -> TensorFlowVersion | None:
        one = self.bringing
        if one is None:
            return None
        package = one.one("package") if one.one("table") == "programs" else None
        rank = PROSE if one.fact.get("version") else INFERRED
        return TensorFlowVersion(one.fact.source, one.one("exactly"), package, inferred=True, rank=rank)

    @cached_property
    def bringing(self) -> Meant | None:
        """The binding, program or notebook that decides the TensorFlow release, because no other fact gives
        the release and all such names in the report agree; otherwise None."""
        stated = self.facts.of(TensorFlowVersion) or any(
            p.name in _TENSORFLOW_PACKAGES and p.version for p in self.facts.of(Package)
        )
        exact = [one for one in self.named if one.one("exactly")]
        return exact[0] if not stated and len({one.one("exactly") for one in exact}) == 1 else None

    @property
    def bound(self) -> bool:
        """Whether the program uses TensorFlow through a binding for another language."""
        return self.bringing is not None and self.bringing.one("table") == "bindings"

    def extra_listed(self, build: TensorFlowRelease) -> bool | None:
        """Whether pip's list of packages contains the libraries of the build's extra and-cuda, or None if the
        list contains no package from NVIDIA. The compiler (nvidia-cuda-nvcc) does not count: PyTorch installs
        all of these packages except the compiler."""
        listed = {p.name for p in self.facts.of(Package) if p.name.startswith("nvidia-")}
        wanted = {name for name in build.extras.get("and-cuda", ()) if "nvcc" not in name}
        return wanted <= listed if listed else None

    def hosted(self, field: str) -> tuple[Meant, str] | None:
        """Return the hosted notebook that the report mentions and the value of `field` for it, or None if
        unknown."""
        return next(
            ((one, one.one(field)) for one in self.named if one.one("table") == "hosted" and one.one(field)),
            None,
        )

    @cached_property
    def python(self) -> PythonVersion | None:
        """The Python version in use."""
        stated = best(self.facts.of(PythonVersion))
        hosted = self.hosted("python") if stated is None else None
        return PythonVersion(hosted[0].fact.source, hosted[1], rank=INFERRED) if hosted else stated

    @cached_property
    def cuda(self) -> CudaVersion | None:
        """The installed CUDA version."""
        return cuda_of(self)

    @cached_property
    def cudnn(self) -> CudnnVersion | None:
        """The installed cuDNN version."""
        return cudnn_of(self)

    @cached_property
    def driver(self) -> DriverVersion | None:
        """The NVIDIA driver; the version of the loaded kernel module takes precedence over that of the
        libraries."""
        return driver_of(self)

    @cached_property
    def drivers_agree(self) -> list[Fact]:
        """Evidence in a report that the driver's kernel module and libraries have the same version."""
        return agreeing(self)

    @cached_property
    def driver_cuda(self) -> DriverCuda | None:
        """The highest CUDA version that the driver supports."""
        return self.facts.first(DriverCuda)

    # --- GPUs

    @cached_property
    def gpus(self) -> tuple[Gpu, ...]:
        """The NVIDIA GPUs, without duplicates, with the data from all facts; the compute capability comes
        from the tables if no fact has it. GPUs that another driver holds are left out, unless that would
        leave none."""
        found = self.facts.of(Gpu)
        if not found:
            return ()
        from doctor.case.cards import cards

        apart = {s.get("bus") for s in self.facts.symptoms("gpu-bound-to-other-driver", "gpu-without-driver")}
        return cards([gpu for gpu in found if gpu.bus_id not in apart] or found, self.tables)

    @cached_property
    def capabilities(self) -> tuple[str, ...]:
        """The compute capabilities of the GPUs, without duplicates."""
        return tuple(dict.fromkeys(g.compute_capability for g in self.gpus if g.compute_capability))

    def capabilities_of(self, gpu: Gpu) -> tuple[str, ...]:
        """The compute capability of a GPU, or those of all cards with its name, lowest first; empty if its
        name is unknown."""
        if gpu.compute_capability:
            return (gpu.compute_capability,)
        rows = self.tables.gpu(gpu.name) if gpu.name else ()
        return tuple(sorted({row.capability for row in rows if row.capability}, key=order))

    def stated_absent(self, what: str) -> list[Symptom]:
        """Return the statements that CUDA, cuDNN or the GPU (what: "cuda", "cudnn" or "gpu") is missing, or
        [] if another fact shows that it is present."""
        known = {"cuda": self.cuda, "cudnn": self.cudnn, "gpu": self.gpus}[what]
        return [] if known else [s for s in self.facts.symptoms("stated-absent") if s.get("what") == what]

    @cached_property
    def registered(self) -> list[GpuRegistered]:
        """The GPU devices that TensorFlow created in the run that the case is about (see
        `in_another_run`)."""
        return [] if self.in_another_run else self.facts.of(GpuRegistered)

    @cached_property
    def in_another_run(self) -> list[GpuRegistered]:
        """The GPU devices that another run in the report created (doctor.case.runs)."""
        return of_another(self.facts)

    @cached_property
    def taken(self) -> list[Symptom]:
        """TensorFlow's message about the GPUs that it uses, if nothing shows a failure. TensorFlow prints the
        message after it has loaded its libraries and before it creates the devices (gpu_device.cc, "Adding
        visible gpu devices")."""
        failed = bool(self.in_another_run or self.not_loaded or self.facts.of(CudaCallFailed))
        if failed or self.facts.has(
            "gpu-skipped", "cpu-only-listed", "gpu-list-empty", "gpu-not-found", "traceback"
        ):
            return []
        return [shown for shown in self.facts.symptoms("gpu-shown") if shown.get("taken")]

    # --- libraries

    @cached_property
    def loaded(self) -> frozenset[str]:
        """The names of the loaded libraries, in lower case."""
        return frozenset(lib.name.lower() for lib in self.facts.of(LibraryLoaded))

    @cached_property
    def not_loaded(self) -> tuple[LibraryNotLoaded, ...]:
        """Libraries that did not load, without duplicates and without those that no GPU device needs
        (TensorRT, CUPTI and their dependencies)."""
        return not_loaded(self.facts)

    def component(self, name: str) -> str:
        """Return the component of a library: driver, cudnn, cuda, tensorflow, system or other."""
        return component(name, self.tables)

    def missing(self, component: str) -> list[LibraryNotLoaded]:
        """Return the libraries of a component that the loader did not find and that did not load later."""
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
        """The row of the TensorFlow build in use, or None if the release is unknown or in no table."""
        known = self.tensorflow
        if known is None or (self.facts.kind == "report" and self.of_another_publisher):
            return None
        row = row_of(known, self.tables, self.table_platform, lambda: self._opening)
        if self.facts.kind == "machine":
            return installed(known, row, self.facts, self.tables, self.table_platform)
        row = of_conda(known, row, self.facts, self.tables, self.table_platform) or row
        return row if row is None or opens_runtime_of(row, self.facts) else None

    @property
    def of_another_publisher(self) -> bool:
        """Whether the version has a local part, such as 2.15.0+nv24.2, or comes in NVIDIA's container: the
        tables do not contain this build."""
        known = self.tensorflow
        if self.facts.has("nvidia-image"):
            return True
        return known is not None and f"{known.version}+" in known.source.text

    @cached_property
    def _opening(self) -> tuple[Sequence[TensorFlowRelease], ...]:
        return opening(self.facts, self.tables)

    @cached_property
    def builds(self) -> tuple[TensorFlowRelease, ...]:
        """The possible builds: the known one, else all builds that load every library in the case and print
        the messages of its log."""
        if self.build is not None:
            return (self.build,)
        from doctor.case.span import narrowed, printing

        contained: list[Sequence[TensorFlowRelease]] = []
        if self.named:
            from doctor.case.named import taking

            contained = taking(self.named, self.tables, self.table_platform)
        possible = common((*self._opening, *contained))
        return tuple(narrowed(possible, printing(self))) if possible else ()

    @cached_property
    def span(self) -> tuple[str, str] | None:
        """The oldest and the newest TensorFlow release that the case may be about; None if it names the
        release, or if nothing bounds it."""
        if self.tensorflow is not None:
            return None
        from doctor.case.span import span

        return span(self)

    @cached_property
    def api(self) -> str | None:
        """The release for which code must be written: the one in the case, or the span of the possible
        releases ("1.13.1 to 2.0.4"; doctor.remedies.code.eras). None if too little is known: no code for
        sessions works from before 1.13, which has no tf.compat.v1, to TensorFlow 2."""
        if self.tensorflow is not None:
            return self.tensorflow.version
        ends = self.span
        if ends is None or (order(ends[0]) < order("1.13") and order(ends[1]) >= order("2")):
            return None
        return ends[0] if ends[0] == ends[1] else " to ".join(ends)

    @property
    def wanted_cuda(self) -> tuple[str, ...]:
        """The CUDA versions for which the possible builds were made."""
        return tuple(dict.fromkeys(b.cuda for b in self.builds if b.gpu and b.cuda))
