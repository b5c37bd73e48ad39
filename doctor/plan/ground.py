"""The machine that a plan is made for, reduced to what decides."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass

from doctor.compat import Judgement, Situation, judge
from doctor.facts import Absent, CudaVersion, CudnnVersion, Facts, Glibc, Platform, Source, Symptom
from doctor.picture import Picture, best
from doctor.plan.wish import Wish, newest_final
from doctor.remedies.fitness import no_gpu_meant
from doctor.tables import Tables, TensorFlowRelease
from doctor.tables.versions import minor
from doctor.values import cached_property

_REBUILDS = ("centos", "rocky", "alma", "red hat", "redhat", "rhel", "oracle")


@dataclass(frozen=True)
class Ground:
    """What decides about plans, read from facts once. `wish` names what has to be kept; the rest is the machine's."""

    facts: Facts
    tables: Tables
    wish: Wish

    @cached_property
    def picture(self) -> Picture:
        """The reconciled facts."""
        return Picture(self.facts, self.tables)

    @cached_property
    def kind(self) -> str:
        """linux, wsl, windows or macos; linux where nothing tells."""
        return self.picture.platform or "linux"

    @cached_property
    def platform(self) -> str:
        """The platform as the tables name it."""
        return self.picture.table_platform

    @property
    def side(self) -> str:
        """Whose driver numbers count: linux, windows or wsl (under WSL2 the driver is the Windows one)."""
        return self.kind if self.kind in ("windows", "wsl") else "linux"

    @cached_property
    def system(self) -> dict[str, str] | None:
        """The row of the Linux distribution, or None."""
        return system_row(self.tables, self.picture.os.name) if self.picture.os else None

    @cached_property
    def python(self) -> str | None:
        """The Python that is there ("3.12"): asked for, seen, or the distribution's own."""
        if self.wish.python:
            return minor(self.wish.python)
        if self.picture.python is not None:
            return minor(self.picture.python.version)
        return self.system.get("python") if self.system else None

    @cached_property
    def own_python(self) -> str | None:
        """The Python that a new environment can be made with as it stands there: seen, or the distribution's own; the one
        that is asked for where neither is known. None where nothing is."""
        if self.picture.python is not None:
            return minor(self.picture.python.version)
        return (self.system or {}).get("python") or self.python

    @cached_property
    def newest(self) -> str:
        """The newest final release, which the wish "latest" means."""
        return newest_final(self.tables)

    @cached_property
    def releases(self) -> tuple[TensorFlowRelease, ...]:
        """Every release for the platform, oldest first."""
        return self.tables.releases(self.platform)

    def judge(self, build: TensorFlowRelease, situation: Situation) -> Judgement:
        """compat's judgement, kept: several routes ask the same."""
        key = (build.package, build.version, situation)
        if key not in self._judged:
            self._judged[key] = judge(build, situation, self.tables)
        return self._judged[key]

    @cached_property
    def _judged(self) -> dict[tuple[str, str, Situation], Judgement]:
        return {}

    @property
    def python_is_asked(self) -> bool:
        """Whether the Python is a demand rather than what happens to be there."""
        return self.wish.python is not None

    @cached_property
    def glibc(self) -> str | None:
        """The C library's version, seen or the distribution's own."""
        fact = self.facts.first(Glibc)
        if fact is not None:
            return fact.version
        return self.system["glibc"] if self.system else None

    @property
    def capabilities(self) -> tuple[str, ...]:
        """The compute capabilities of the GPUs that are known."""
        return self.picture.capabilities

    @property
    def gpu_absent(self) -> bool:
        """Whether the machine was looked at and has no NVIDIA GPU."""
        return not self.picture.gpus and self.facts.absent("nvidia gpu") is not None

    @property
    def for_cpu(self) -> bool:
        """Whether the plan is for the CPU first: it is asked for, or the machine has no GPU and is not a cluster's login node."""
        return self.wish.cpu or no_gpu_meant(self.picture)

    @property
    def driver(self) -> str | None:
        """The driver's version; only where there is a GPU for it or nobody looked."""
        return self.picture.driver.version if self.picture.driver else None

    @property
    def driver_absent(self) -> bool:
        """Whether a GPU is there and a driver was looked for and is not."""
        if self.driver is not None or not self.picture.gpus:
            return False
        return any(self.facts.absent(what) is not None for what in ("nvidia driver", "nvidia kernel module", "libcuda"))

    @cached_property
    def cuda(self) -> str | None:
        """A CUDA toolkit outside of every environment: given, or found on the machine."""
        if self.wish.cuda:
            return self.wish.cuda
        return self.system_cuda.version if self.system_cuda else None

    @cached_property
    def cudnn(self) -> str | None:
        """A cuDNN outside of every environment: given, or found on the machine."""
        if self.wish.cudnn:
            return self.wish.cudnn
        return self.system_cudnn.version if self.system_cudnn else None

    @cached_property
    def system_cuda(self) -> CudaVersion | None:
        """The CUDA that was found on the machine; what pip or conda brought into an environment serves that one alone."""
        return best([fact for fact in self.facts.of(CudaVersion) if not self._in_environment(fact)])

    @cached_property
    def system_cudnn(self) -> CudnnVersion | None:
        """The cuDNN that was found on the machine, outside of every environment."""
        return best([fact for fact in self.facts.of(CudnnVersion) if not self._in_environment(fact)])

    @property
    def cudnn_absent(self) -> bool:
        """Whether the machine was looked at and has no cuDNN outside of its environments."""
        if self.cudnn is not None:
            return False
        return self.facts.absent("cudnn") is not None or bool(self.facts.of(CudnnVersion))

    def _in_environment(self, fact: CudaVersion | CudnnVersion) -> bool:
        """Whether a library belongs to an environment of pip's or conda's."""
        places = [place.replace("\\", "/") for place in (fact.source.where, fact.location or "")]
        if any(word in place for place in places for word in ("/site-packages/", "/dist-packages/", "/conda-meta/")):
            return True
        return any(place.startswith(f"{prefix}/") for place in places for prefix in self._conda_prefixes)

    @cached_property
    def _conda_prefixes(self) -> frozenset[str]:
        """The folders of conda environments that something was seen in."""
        found = (fact.source.where.replace("\\", "/").partition("/conda-meta") for fact in self.facts)
        return frozenset(prefix for prefix, meta, _ in found if meta and prefix)

    @property
    def musl(self) -> bool:
        """Whether the C library is musl (Alpine Linux), on which no wheel of TensorFlow runs."""
        return any(symptom.kind == "musl-libc" for symptom in self.facts.of(Symptom))

    @property
    def windows_on_arm(self) -> bool:
        """Whether this is Windows on an Arm processor: WSL2 runs Linux for Arm there."""
        return self.kind == "windows" and any(p.machine in ("aarch64", "arm64") for p in self.facts.of(Platform))

    @property
    def container(self) -> bool:
        """Whether this is inside a container, where driver and kernel are the host's."""
        return self.picture.container

    @property
    def conda(self) -> bool:
        """Whether the environment in use is conda's."""
        return "conda" in self.picture.environments

    @property
    def decisive(self) -> tuple[Hashable, ...]:
        """All of this that the choice of a release depends on: grounds alike in it get the same one."""
        return (
            *(self.wish, self.kind, self.platform, self.python, self.glibc, self.capabilities, self.gpu_absent, self.for_cpu),
            *(self.driver, self.driver_absent, self.cuda, self.cudnn, self.container, self.conda, self.musl, self.windows_on_arm),
            self.picture.os.name if self.picture.os else None,
        )

    def evidence(self, aspect: str) -> Source:
        """Where the value of one aspect comes from: python, driver, gpu, cuda, cudnn, system, tensorflow."""
        wish = self.wish
        picture = self.picture
        if aspect == "tensorflow" and wish.tensorflow:
            return Source(wish.source, wish.line, wish.text or wish.tensorflow)
        if aspect == "python" and wish.python_source is not None:
            return wish.python_source
        asked = {"python": wish.python, "cuda": wish.cuda, "cudnn": wish.cudnn}.get(aspect)
        if asked:
            return Source(f"--{aspect}", None, asked)
        fact = {
            "python": picture.python,
            "driver": picture.driver,
            "gpu": picture.gpus[0] if picture.gpus else None,
            "cuda": self.system_cuda,
            "cudnn": self.system_cudnn,
            "system": picture.os or picture.platform_fact,
        }.get(aspect)
        if fact is not None:
            return fact.source
        if aspect == "python" and self.system and "python" in self.system:
            return Source("the distribution's own python3", None, self.system["source"])
        absent = self.facts.first(Absent)
        return absent.source if absent is not None else Source("the call", None, "not given")


def system_row(tables: Tables, name: str) -> dict[str, str] | None:
    """The row of a distribution by the name that people or os-release give it: "Ubuntu 24.04 LTS", "Rocky Linux 9.3"."""
    low = name.lower()
    wanted = "red hat enterprise linux" if any(word in low for word in _REBUILDS) else low
    number = re.search(r"\d+(?:\.\d+)?", low)
    if number is None or not tables.store.has("systems"):
        return None
    for row in tables.store.all("systems"):
        if row["name"].lower() in wanted and (row["version"] == number[0] or row["version"] == number[0].split(".")[0]):
            return row
    return None
