"""What goes together in a case: each part against the TensorFlow build that is meant, from the tables.

In: a `Picture`. Out: `Part` rows (what the case has, what the build needs, whether that fits), and findings for those
that do not fit. Every case is asked the questions that `plan` asks, with whatever is known of it: where several
builds can be meant, a part fits or does not only where all of them agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.facts import (
    PROSE,
    CudaVersion,
    CudnnVersion,
    Fact,
    LibraryLoaded,
    OtherGpu,
    Package,
    PythonVersion,
    Requirement,
    Symptom,
    TensorFlowBuild,
    TensorFlowVersion,
)
from doctor.findings import Part
from doctor.remedies.fitness import situation

if TYPE_CHECKING:
    from doctor.compat import Answer
    from doctor.picture import Picture
    from doctor.tables import TensorFlowRelease

SEVERAL = 8
"""Builds that are asked where the release is not known: the oldest and the newest of those that can be meant."""


def parts(picture: Picture) -> tuple[Part, ...]:
    """What goes together in a case; empty where no TensorFlow release is known or can be bounded."""
    builds = _builds(picture)
    known = picture.tensorflow
    if not builds or (known is not None and f"{known.version}+" in known.source.text):
        return ()  # 2.15.0+nv24.2 and the like: another build than those of the tables
    asked: tuple[Callable[[Picture, Sequence[TensorFlowRelease]], Iterator[Part]], ...] = (
        _platform, _package, _companions, _python, _gpu, _driver, _cuda, _cudnn,
    )  # fmt: skip
    return tuple(part for ask in asked for part in ask(picture, builds))


def _builds(picture: Picture) -> Sequence[TensorFlowRelease]:
    builds = [build for build in picture.builds if build.platform == picture.table_platform] or list(picture.builds)
    if len(builds) > SEVERAL:
        return [*builds[: SEVERAL // 2], *builds[-SEVERAL // 2 :]]
    return builds


_PLAIN = re.compile(r"pip3? install [^\n]{0,60}tensorflow")
NO_DEVICE_SEEN = ("gpu-list-empty", "cpu-only-listed", "gpu-not-used", "uses-cpu", "gpu-not-found", "no-known-devices", "no-gpu-said")
"""Symptoms: the GPU is not there for TensorFlow, whatever the reason."""
_NAMES = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu")


def stated_absent(picture: Picture, what: str) -> list[Symptom]:
    """What says that CUDA, cuDNN or the GPU ("cuda", "cudnn", "gpu") is not there; none where a version of it is stated, too."""
    known = {"cuda": picture.cuda, "cudnn": picture.cudnn, "gpu": picture.gpus}[what]
    return [] if known else [s for s in picture.facts.symptoms("stated-absent") if s.get("what") == what]


def _named(picture: Picture) -> dict[str, Fact]:
    """The distributions of TensorFlow that a report says are installed, and what says so."""
    facts = picture.facts
    named: dict[str, Fact] = {}
    for package in facts.of(Package):
        named.setdefault(package.name, package)
    for asked in facts.symptoms("stated-package"):
        if asked.get("loose") and not facts.has(*NO_DEVICE_SEEN):
            continue  # "TensorFlow from pip" may be either distribution
        named.setdefault(asked.get("name"), asked)
    for version in facts.of(TensorFlowVersion):  # a plain "tensorflow 1.14" names the program, not the distribution
        if version.package not in (None, "tensorflow"):
            named.setdefault(str(version.package), version)
    return {name: fact for name, fact in named.items() if name.startswith("tensorflow")}


def _package(picture: Picture, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    """The distribution: the one without CUDA, the one that ended, two at once, an image without CUDA."""
    known, facts = picture.tensorflow, picture.facts
    if facts.kind != "report" or known is None or picture.facts.has("own-build"):
        return
    named, side = _named(picture), picture.table_platform
    version = known.version.split("+")[0]
    installed = {p.name: p for p in facts.of(Package) if p.name in _NAMES and p.version}
    last = picture.tables.tensorflow("2.12.0", "tensorflow-gpu", "any")
    if "tensorflow-gpu" in named and _release(version) >= (2, 12):
        yield Part("package", f"tensorflow-gpu {version}", "tensorflow", False, (named["tensorflow-gpu"].source,),
                   (last.ref,) if last is not None else (), "tensorflow-gpu ended with 2.11.0, and 2.12.0 of it only fails",
                   "tf-gpu-package-removed", rank=_rank(picture))  # fmt: skip
        return
    if len(installed) > 1 and len({p.version for p in installed.values()}) > 1:
        both = list(installed.values())
        yield Part("package", " and ".join(f"{p.name} {p.version}" for p in both), "one of them", False, tuple(p.source for p in both),
                   (), "they write into the same folder, and what was installed last overwrites a part of the other",
                   "tf-conflicting-packages")  # fmt: skip
        return
    images = [i for i in facts.symptoms("image-tag") if "gpu" not in i.get("tag")]
    plain = picture.tables.tensorflow(version, "tensorflow", side)
    why: tuple[Fact, str, str] | None = None
    if images and len(images) == len(facts.symptoms("image-tag")):
        why = images[0], "an image whose tag has no -gpu in it holds a build for the CPU", "container-no-gpu"
    elif "tensorflow-cpu" in named and len(named) == 1:
        why = named["tensorflow-cpu"], "tensorflow-cpu is built without CUDA", "tf-cpu-only"
    elif facts.has("conda-cpu-build"):
        why = facts.symptoms("conda-cpu-build")[0], "conda's mkl and eigen builds are without CUDA", "tf-cpu-only"
    elif set(named) == {"tensorflow"} and "conda" not in picture.environments and plain is not None and plain.gpu is False and (side != "windows-amd64" or _release(version) <= (2, 10)):
        why = named["tensorflow"], f"{plain.requirement} is built without CUDA", "tf-cpu-only"
    if why is not None:
        fact, reason, code = why
        yield Part("package", fact.source.text[:60], "a build with CUDA", False, (fact.source,),
                   (plain.ref,) if plain is not None else (), reason, code, rank=_rank(picture))  # fmt: skip


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _companions(picture: Picture, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    """Other Python packages in a report's lists, by the table of those that break a release."""
    from doctor.tables.ordering import order
    from doctor.tables.ranges import within

    known, store = picture.tensorflow, picture.tables.store
    if known is None or picture.facts.kind != "report" or not store.has("dependencies"):
        return
    listed = {p.name: p for p in picture.facts.of(Package) if p.version}
    for row in store.all("dependencies"):
        package = listed.get(row["package"])
        if package is None or package.version is None or not within(known.version.split("+")[0], row["tensorflow"], order):
            continue
        fits = within(package.version, row["pin"], order)
        reason = f"TensorFlow {known.version} with {row['package']} {package.version}: {row['reason']}"
        yield Part("package", f"{row['package']} {package.version}", f"{row['package']}{row['pin']}", fits, (package.source,),
                   (f"dependencies {row['package']}: {row['source']}",), "" if fits else reason,
                   "" if fits else "python-dependency-conflict")  # fmt: skip


def brings_cuda(picture: Picture) -> list[Fact]:
    """What shows that pip or conda brought CUDA's libraries for this TensorFlow."""
    facts = picture.facts
    packages = [p for p in facts.of(Package) if p.name.startswith("nvidia-cud") or p.name in ("cudatoolkit", "cudnn")]
    asked = [r for r in facts.of(Requirement) if "and-cuda" in r.name]
    return [*facts.symptoms("and-cuda-installed"), *asked, *packages]


def _same(answers: Sequence[Answer]) -> Answer | None:
    """The answer that all builds give; None where they differ."""
    verdicts = {answer.verdict for answer in answers}
    return answers[-1] if len(verdicts) == 1 else None


def _fits(answer: Answer | None) -> bool | None:
    return None if answer is None or answer.verdict == "unknown" else answer.verdict != "no"


def _platform(picture: Picture, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    build = builds[-1]
    if any(b.gpu is not False for b in builds) or picture.build is None:
        return
    if any(b.gpu for b in picture.facts.of(TensorFlowBuild)) or "tensorflow-gpu" in _named(picture):
        return  # conda's builds, and a package beside it, have what PyPI's of this name has not
    source = [fact.source for fact in (picture.platform_fact, picture.tensorflow) if fact is not None]
    kind = picture.platform or "linux"
    windows = kind == "windows"
    needs = "TensorFlow 2.10 at most, or WSL2" if windows and _release(build.version) >= (2, 11) else "a build with CUDA"
    reason = f"{build.requirement} for {build.platform} is built without CUDA"
    ended = windows and build.package == "tensorflow" and _release(build.version) >= (2, 11)
    code = "tf-windows-native" if ended else "tf-cpu-only"
    yield Part("platform", build.platform, needs, False, tuple(source), (build.ref,), reason, code, rank=_rank(picture))


def _python(picture: Picture, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    python = picture.python
    narrow = [*(p for p in picture.facts.of(PythonVersion) if p.bits == 32), *picture.facts.symptoms("python-32bit")]
    if narrow and picture.facts.kind == "report" and picture.build is not None:
        yield Part("python", "32-bit", "a 64-bit Python", False, (narrow[0].source,), (picture.build.ref,),
                   "every wheel of TensorFlow is for a 64-bit Python", "tf-no-wheel", rank=PROSE)  # fmt: skip
        return
    if python is None or picture.build is None or not picture.build.pythons:
        return
    build = picture.build
    minor = ".".join(python.version.split(".")[:2])
    if "." not in minor:
        return
    fits = minor in build.pythons
    needs = f"Python {_span(build.pythons)}"
    reason = f"{build.requirement} has wheels for Python {', '.join(build.pythons)}"
    yield Part("python", python.version, needs, fits, (python.source,), (build.ref,), reason,
               "" if fits else "tf-no-wheel", rank=max(python.rank, _rank(picture)))  # fmt: skip


def _span(versions: Sequence[str]) -> str:
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def _gpu(picture: Picture, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    from doctor import compat

    gpu_builds = [b for b in builds if b.gpu and b.compute_capabilities]
    if not gpu_builds:
        return
    others: list[Fact] = [*stated_absent(picture, "gpu"), *picture.facts.of(OtherGpu)]
    if picture.facts.kind == "report" and others and not picture.gpus and picture.driver is None:
        yield Part("gpu", "none of NVIDIA", "an NVIDIA GPU", False, (others[0].source,), (gpu_builds[-1].ref,),
                   "TensorFlow's CUDA builds compute on NVIDIA's GPUs only", "gpu-absent", rank=PROSE)  # fmt: skip
    for gpu in picture.gpus:
        capability = gpu.compute_capability
        if not capability:
            continue
        here = situation(picture, capabilities=(capability,), driver=None)
        answers = [compat.runs_on_gpu(build, here, picture.tables) for build in gpu_builds]
        answer = _same(answers)
        kernels = gpu_builds[-1].compute_capabilities
        listed = kernels.compiled if kernels else ()
        needs = f"compute capability {_span(listed)}" if listed else ""
        fits = _fits(answer)
        code = ""
        if answer is not None and answer.verdict in ("no", "slow"):
            newer = not listed or _number(capability) > _number(listed[0])
            code = "gpu-arch-too-new" if newer else "gpu-arch-too-old"
        have = f"{gpu.name or 'GPU'} ({capability})"
        rows = answer.refs if answer is not None else ()
        reason = answer.reason if answer is not None else ""
        yield Part("gpu", have, needs, fits, (gpu.source,), rows, reason, code,
                   slow=answer is not None and answer.verdict == "slow", rank=max(gpu.rank, _rank(picture)))  # fmt: skip


def _number(capability: str) -> tuple[int, int]:
    first, _, second = capability.rstrip("af").partition(".")
    return int(first), int(second or 0)


def _driver(picture: Picture, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    from doctor import compat
    from doctor.tables import DriverFloor

    driver = picture.driver
    gpu_builds = [b for b in builds if b.gpu]
    if not gpu_builds:
        return
    side = situation(picture).side
    lowest = compat.driver_minimum(gpu_builds[-1], picture.tables, side, picture.capabilities)
    floor = lowest.rows[-1] if lowest.rows else None
    needs = f"{floor.driver} or newer" if isinstance(floor, DriverFloor) else ""
    if driver is None:
        if needs and len({b.cuda for b in gpu_builds}) == 1:
            yield Part("driver", "", needs, None, (), lowest.refs)
        return
    answer = _same([compat.runs_on_driver(build, driver.version, picture.tables, side) for build in gpu_builds])
    code = "driver-too-old"
    for capability in picture.capabilities:
        serves = compat.driver_serves_gpu(capability, driver.version, picture.tables, side)
        if serves.verdict == "no" and answer is not None and answer.verdict != "no":
            code = "driver-too-new" if "last driver branch" in serves.reason else "driver-too-old"
            answer = serves
    fits = _fits(answer)
    yield Part("driver", driver.version, needs, fits, (driver.source,), answer.refs if answer else (),
               answer.reason if answer else "", code if fits is False else "",
               rank=max(driver.rank, _rank(picture)))  # fmt: skip


def _cuda(picture: Picture, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    from doctor import compat

    gpu_builds = [b for b in builds if b.gpu]
    if not gpu_builds:
        return
    wanted = tuple(dict.fromkeys(b.cuda for b in gpu_builds if b.cuda))
    needs = f"CUDA {' or '.join(wanted[:3])}" if wanted else ""
    brought = brings_cuda(picture)
    if brought and any(b.extras.get("and-cuda") for b in gpu_builds):
        yield Part("cuda", "from pip", needs, True, tuple(f.source for f in brought[:2]), (gpu_builds[-1].ref,),
                   "NVIDIA's packages bring the CUDA that this TensorFlow opens")  # fmt: skip
        return
    if picture.facts.kind == "machine":
        yield from _opened(picture, gpu_builds[-1], "cuda", needs)
        return
    cuda = picture.cuda
    if picture.facts.has("own-build"):  # it opens what it was compiled for
        return
    if cuda is None:
        absent = stated_absent(picture, "cuda")
        lacking = absent[0] if absent else _without_cuda(picture, gpu_builds)
        if lacking is not None:
            yield Part("cuda", "none", needs, False, (lacking.source,), (gpu_builds[-1].ref,),
                       f"{gpu_builds[-1].requirement} opens CUDA's libraries and does not bring them: the extra "
                       "[and-cuda], conda or a toolkit does", "cuda-missing", rank=PROSE)  # fmt: skip
        elif needs:
            yield Part("cuda", "", needs, None, (), (gpu_builds[-1].ref,))
        return
    answer = _same([compat.runs_with_cuda(build, cuda.version, picture.tables) for build in gpu_builds])
    fits = _fits(answer)
    if "." not in cuda.version and fits is False and any(w.split(".")[0] == cuda.version for w in wanted):
        fits, answer = None, None  # "CUDA 11" of a build for 11.2
    yield Part("cuda", cuda.version, needs, fits, (cuda.source,), answer.refs[:3] if answer else (),
               answer.reason if answer else "", "cuda-version-mismatch" if fits is False else "",
               rank=max(cuda.rank, _rank(picture)))  # fmt: skip


def _opened(picture: Picture, build: TensorFlowRelease, part: str, needs: str) -> Iterator[Part]:
    """On a machine the loader decides: whether it opens the libraries of this part that the build asks for."""
    opened = [lib for lib in picture.facts.of(LibraryLoaded) if picture.component(lib.name) == part]
    missing = picture.missing(part)
    known = picture.cuda if part == "cuda" else picture.cudnn
    if not (opened or missing):
        return
    facts: list[Fact] = [*missing[:2], *opened[:2]] if missing else [*opened[:2]]
    have = known.version if known is not None and not missing else ("opens" if opened and not missing else "none")
    yield Part(part, have, needs, not missing, tuple(f.source for f in facts), (build.ref,),
               f"{missing[0].name} does not open" if missing else "every library of it that the build asks for opens")


def _without_cuda(picture: Picture, builds: Sequence[TensorFlowRelease]) -> Fact | None:
    """A plain `pip install tensorflow` in a report that names no CUDA: no library of it came along."""
    facts = picture.facts
    if facts.kind != "report" or picture.loaded or facts.of(CudaVersion):
        return None
    if facts.of(CudnnVersion) or facts.has("stated-absent"):
        return None
    if facts.has("image-tag", "works-said") or any(device.count for device in picture.registered):
        return None
    if not (facts.has(*NO_DEVICE_SEEN) or picture.registered or all(b.extras.get("and-cuda") for b in builds)):
        return None
    if picture.environments & {"colab", "kaggle", "conda"} or picture.platform not in (None, "linux", "wsl"):
        return None
    if not all(b.extras.get("and-cuda") or b.version.startswith("2.") for b in builds):
        return None
    named: list[Fact] = [r for r in facts.of(Requirement) if r.name in ("tensorflow", "tensorflow-gpu")]
    named += [s for s in facts.symptoms("stated-package") if not s.get("extra")]
    listed = [p for p in facts.of(Package) if p.manager == "pip"]
    if len(listed) > 2:  # a list of packages, in which NVIDIA's would stand; not a line such as "TensorFlow 2.16.1"
        named += [p for p in listed if p.name in ("tensorflow", "tensorflow-gpu")]
    asked = [v for v in facts.of(TensorFlowVersion) if _PLAIN.search(v.source.text) and "and-cuda" not in v.source.text]
    plain: list[Fact] = [*named, *asked]
    return plain[0] if plain else None


def _cudnn(picture: Picture, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    from doctor import compat

    gpu_builds = [b for b in builds if b.gpu and b.cudnn]
    if not gpu_builds:
        return
    wanted = tuple(dict.fromkeys(b.cudnn for b in gpu_builds if b.cudnn))
    needs = f"cuDNN {' or '.join(wanted[:3])}"
    if picture.facts.kind == "machine":
        yield from _opened(picture, gpu_builds[-1], "cudnn", needs)
        return
    cudnn = picture.cudnn
    if cudnn is None:
        if brings_cuda(picture):
            return
        absent = stated_absent(picture, "cudnn")
        if absent:
            yield Part("cudnn", "none", needs, False, (absent[0].source,), (gpu_builds[-1].ref,),
                       f"{gpu_builds[-1].requirement} opens cuDNN {gpu_builds[-1].cudnn}", "cudnn-missing", rank=PROSE)  # fmt: skip
            return
        yield Part("cudnn", "", needs, None, (), (gpu_builds[-1].ref,))
        return
    answer = _same(
        [compat.runs_with_cudnn(b, cudnn.version, picture.tables, picture.capabilities) for b in gpu_builds]
    )
    fits = _fits(answer)
    if answer is not None and fits is None and answer.verdict == "unknown" and "major version" in answer.reason:
        fits = True  # the major that the build opens: the minor that it was compiled with is not in the tables
    yield Part("cudnn", cudnn.version, needs, fits, (cudnn.source,), answer.refs if answer else (),
               answer.reason if answer else "", "cudnn-version-mismatch" if fits is False else "",
               rank=max(cudnn.rank, _rank(picture)))  # fmt: skip


def _rank(picture: Picture) -> int:
    """How well the TensorFlow release is known."""
    return picture.tensorflow.rank if picture.tensorflow is not None else PROSE
