"""The machine for which to plan, reduced to what a plan depends on."""

from __future__ import annotations

from collections.abc import Hashable

from doctor.case import Case
from doctor.case.best import best
from doctor.compat import Judgement, Situation, judge
from doctor.facts import (
    Absent,
    CudaVersion,
    CudnnVersion,
    Facts,
    Glibc,
    Platform,
    PythonVersion,
    Source,
    Symptom,
)
from doctor.plan.version_request import VersionRequest, newest_final
from doctor.remedies.fitness import no_gpu_meant
from doctor.tables import Tables, TensorFlowRelease
from doctor.tables.systems import system_row
from doctor.tables.versions import minor
from doctor.values import cached_property, dataclass


@dataclass(frozen=True)
class PlanContext:
    """Everything that a plan depends on. `version_request` contains the user's request; everything else
    describes the machine and is derived from the facts only once."""

    facts: Facts
    tables: Tables
    version_request: VersionRequest

    @cached_property
    def case(self) -> Case:
        """The case that the facts describe."""
        return Case(self.facts, self.tables)

    @cached_property
    def kind(self) -> str:
        """The platform: linux, wsl, windows or macos; linux if unknown."""
        return self.case.platform or "linux"

    @cached_property
    def platform(self) -> str:
        """The platform's name in the tables."""
        return self.case.table_platform

    @property
    def side(self) -> str:
        """The platform whose driver numbers apply: linux, windows or wsl (under WSL2 the driver is the
        Windows one)."""
        return self.kind if self.kind in ("windows", "wsl") else "linux"

    @cached_property
    def system(self) -> dict[str, str] | None:
        """The table row for the Linux distribution, or None if there is none."""
        return system_row(self.tables, self.case.os.name) if self.case.os else None

    @property
    def seen_python(self) -> PythonVersion | None:
        """The Python that was found on the machine, or None if none was found or if no wheels are made for it
        (free-threaded, PyPy)."""
        return None if self.facts.has("python-without-wheels") else self.case.python

    @cached_property
    def python(self) -> str | None:
        """The Python version ("3.12"): the requested one, else the one found, else the distribution's own;
        None if unknown."""
        if self.version_request.python:
            return minor(self.version_request.python)
        if self.seen_python is not None:
            return minor(self.seen_python.version)
        return self.system.get("python") if self.system else None

    @cached_property
    def own_python(self) -> str | None:
        """The version of the existing Python interpreter on which to base a new environment: the one found,
        else the distribution's own, else the requested one; None if unknown."""
        if self.seen_python is not None:
            return minor(self.seen_python.version)
        return (self.system or {}).get("python") or self.python

    @cached_property
    def newest(self) -> str:
        """The newest final release, which a request for "latest" means."""
        return newest_final(self.tables)

    @cached_property
    def releases(self) -> tuple[TensorFlowRelease, ...]:
        """Every release for the platform, oldest first."""
        return self.tables.releases(self.platform)

    def judge(self, build: TensorFlowRelease, situation: Situation) -> Judgement:
        """Return the judgement by doctor.compat. It is cached because several routes need the same
        judgement."""
        key = (build.package, build.version, situation)
        if key not in self._judged:
            self._judged[key] = judge(build, situation, self.tables)
        return self._judged[key]

    @cached_property
    def _judged(self) -> dict[tuple[str, str, Situation], Judgement]:
        return {}

    @property
    def python_is_asked(self) -> bool:
        """Whether the user requested a Python version; if not, `python` is the installed one."""
        return self.version_request.python is not None

    @cached_property
    def glibc(self) -> str | None:
        """The glibc version: the one found, else the distribution's own; None if unknown."""
        fact = self.facts.first(Glibc)
        if fact is not None:
            return fact.version
        return self.system["glibc"] if self.system else None

    @property
    def capabilities(self) -> tuple[str, ...]:
        """The known compute capabilities of the GPUs."""
        return self.case.capabilities

    @property
    def gpu_absent(self) -> bool:
        """Whether the machine was examined and has no NVIDIA GPU."""
        return not self.case.gpus and self.facts.absent("nvidia gpu") is not None

    @property
    def for_cpu(self) -> bool:
        """Whether the plan for the CPU comes first: because it was requested, or because the machine has no
        GPU and is not a cluster's login node."""
        return self.version_request.cpu or no_gpu_meant(self.case)

    @property
    def driver(self) -> str | None:
        """The driver version, or None if unknown."""
        return self.case.driver.version if self.case.driver else None

    @property
    def driver_absent(self) -> bool:
        """Whether there is a GPU but a search found no driver."""
        if self.driver is not None or not self.case.gpus:
            return False
        return any(
            self.facts.absent(what) is not None
            for what in ("nvidia driver", "nvidia kernel module", "libcuda")
        )

    @cached_property
    def cuda(self) -> str | None:
        """The version of the CUDA toolkit outside all environments: the requested one, else the one found on
        the machine."""
        if self.version_request.cuda:
            return self.version_request.cuda
        return self.system_cuda.version if self.system_cuda else None

    @cached_property
    def cudnn(self) -> str | None:
        """The cuDNN version outside all environments: the requested one, else the one found on the
        machine."""
        if self.version_request.cudnn:
            return self.version_request.cudnn
        return self.system_cudnn.version if self.system_cudnn else None

    @cached_property
    def system_cuda(self) -> CudaVersion | None:
        """The CUDA version that was found on the machine outside environments. CUDA libraries from pip or
        conda work only in their own environment."""
        return best([fact for fact in self.facts.of(CudaVersion) if not self._in_environment(fact)])

    @cached_property
    def system_cudnn(self) -> CudnnVersion | None:
        """The cuDNN version that was found on the machine outside environments."""
        return best([fact for fact in self.facts.of(CudnnVersion) if not self._in_environment(fact)])

    @property
    def cudnn_absent(self) -> bool:
        """Whether the machine was examined and has no cuDNN outside environments."""
        if self.cudnn is not None:
            return False
        return self.facts.absent("cudnn") is not None or bool(self.facts.of(CudnnVersion))

    def _in_environment(self, fact: CudaVersion | CudnnVersion) -> bool:
        """Whether a library belongs to a Python or conda environment."""
        places = [place.replace("\\", "/") for place in (fact.source.where, fact.location or "")]
        if any(
            word in place
            for place in places
            for word in ("/site-packages/", "/dist-packages/", "/conda-meta/")
        ):
            return True
        return any(place.startswith(f"{prefix}/") for place in places for prefix in self._conda_prefixes)

    @cached_property
    def _conda_prefixes(self) -> frozenset[str]:
        """The folders of the conda environments from which facts come."""
        found = (fact.source.where.replace("\\", "/").partition("/conda-meta") for fact in self.facts)
        return frozenset(prefix for prefix, meta, _ in found if meta and prefix)

    @property
    def musl(self) -> bool:
        """Whether the C library is musl (Alpine Linux), with which no TensorFlow wheel runs."""
        return any(symptom.kind == "musl-libc" for symptom in self.facts.of(Symptom))

    @property
    def windows_on_arm(self) -> bool:
        """Whether this is Windows on an Arm processor, where WSL2 runs Linux for Arm."""
        return self.kind == "windows" and any(
            p.machine in ("aarch64", "arm64") for p in self.facts.of(Platform)
        )

    @property
    def container(self) -> bool:
        """Whether the machine is a container, which uses the host's driver and kernel."""
        return self.case.container

    @property
    def conda(self) -> bool:
        """Whether the environment in use is a conda environment."""
        return "conda" in self.case.environments

    @property
    def decisive(self) -> tuple[Hashable, ...]:
        """A key made from everything on which the choice of a release depends: equal keys give equal
        choices."""
        return (
            self.version_request,
            self.kind,
            self.platform,
            self.python,
            self.glibc,
            self.capabilities,
            self.gpu_absent,
            self.for_cpu,
            self.driver,
            self.driver_absent,
            self.cuda,
            self.cudnn,
            self.container,
            self.conda,
            self.musl,
            self.windows_on_arm,
            self.case.os.name if self.case.os else None,
        )

    def evidence(self, aspect: str) -> Source:
        """Return the evidence for the value of one aspect: python, driver, gpu, cuda, cudnn, system or
        tensorflow."""
        request, case = self.version_request, self.case
        if aspect == "tensorflow" and request.tensorflow:
            return Source(request.source, request.line, request.text or request.tensorflow)
        if aspect == "python" and request.python_source is not None:
            return request.python_source
        asked = {"python": request.python, "cuda": request.cuda, "cudnn": request.cudnn}.get(aspect)
        if asked:
            return Source(f"--{aspect}", None, asked)
        fact = {
            "python": self.seen_python,
            "driver": case.driver,
            "gpu": case.gpus[0] if case.gpus else None,
            "cuda": self.system_cuda,
            "cudnn": self.system_cudnn,
            "system": case.os or case.platform_fact,
        }.get(aspect)
        if fact is not None:
            return fact.source
        if aspect == "python" and self.system and "python" in self.system:
            return Source("the distribution's own python3", None, self.system["source"])
        absent = self.facts.first(Absent)
        return absent.source if absent is not None else Source("the request", None, "not given")
