"""Checks which versions fit: compares each part of a case with its TensorFlow build, using the tables.

In: a `Case`. Out: `Part` rows (what the case has, what the build needs, whether it fits), with the finding
code of each misfit. It asks the tables the same questions as `plan`. If several builds are possible, an
answer counts only if it is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.facts import (
    PROSE,
    CudaVersion,
    CudnnVersion,
    DriverVersion,
    OtherGpu,
    Package,
    PythonVersion,
    TensorFlowBuild,
    TensorFlowVersion,
)
from doctor.findings import Part
from doctor.judge.answers import (
    NO_DEVICE_SEEN,
    agreed,
    capability_number,
    is_fit,
    minor_release,
    release_rank,
    span,
)
from doctor.remedies.fitness import situation
from doctor.tables import dotted
from doctor.tables.ordering import order
from doctor.tables.versions import driver_at_least, minor
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.compat import Answer
    from doctor.tables import TensorFlowRelease

COMPARED = (DriverVersion, CudnnVersion, PythonVersion, TensorFlowVersion, Package)
"""The types of facts that doctor.judge.contrast compares."""
SEVERAL = 8
"""The number of builds to check if the release is unknown: half of them are the oldest possible builds, half
the newest."""


def parts(case: Case) -> tuple[Part, ...]:
    """Return the parts of a case, and whether each fits; nothing if the TensorFlow release is unknown and
    nothing limits which one it may be."""
    found = _parts(case)
    if len({fact.source.line for fact in case.facts if isinstance(fact, COMPARED)}) < 2:
        return found
    from doctor.judge.contrast import contrasted

    return tuple(contrasted(case, found, _parts))


def _parts(case: Case) -> tuple[Part, ...]:
    builds = _builds(case)
    known = case.tensorflow
    named: tuple[Part, ...] = ()
    if case.named:
        from doctor.judge.packages import product_parts

        named = tuple(product_parts(case))
    if case.facts.has("nvidia-image") and case.facts.kind == "report":
        from doctor.judge.containers import container_parts

        return (*named, *container_parts(case))  # the container has NVIDIA's own build
    if case.of_another_publisher:
        return named
    if not builds:
        if known is not None or named:
            from doctor.judge.packages import companion_parts

            return (*named, *companion_parts(case), *_elsewhere_only(case))
        from doctor.judge.pairs import pair_parts

        return tuple(pair_parts(case))
    from doctor.judge.libraries import cuda_parts, cudnn_parts
    from doctor.judge.packages import companion_parts, package_parts

    asked: tuple[Callable[[Case, Sequence[TensorFlowRelease]], Iterator[Part]], ...] = (
        _platform, package_parts, companion_parts, _python, _system, _gpu, _driver, cuda_parts, cudnn_parts,
    )  # fmt: skip
    found = (*named, *(part for ask in asked for part in ask(case, builds)))
    if any(part.code == "tf-no-wheel" for part in found) and not case.facts.has(*NO_DEVICE_SEEN):
        # for a release that is not installed, a missing library is not a fault
        found = tuple(replace(part, code="") if part.have == "none" else part for part in found)
    return found


def _elsewhere_only(case: Case) -> Iterator[Part]:
    """Yield the platform part for a release that has wheels, but none for the platform of the case."""
    known, here = case.tensorflow, case.table_platform
    if known is None or case.platform_fact is None or case.facts.kind != "report":
        return  # on a machine the release is installed, so its source had a wheel
    if case.facts.has("own-build", "tensorflow-of-conda"):
        return
    releases = case.tables.versions("tensorflow", here)
    everywhere = case.tables.versions("tensorflow")
    last = max(releases, key=order, default="")
    if known.version not in everywhere or not last or order(known.version) <= order(last):
        return
    row = case.tables.tensorflow(last, "tensorflow", here)
    yield Part(
        "platform", here, f"TensorFlow {last} or older", False, (case.platform_fact.source, known.source),
        (row.ref,) if row is not None else (),
        reason=f"TensorFlow {known.version} has no wheel for {here}; {last} is the last release with one",
        code="tf-no-wheel", rank=max(known.rank, case.platform_fact.rank),
    )  # fmt: skip


def _builds(case: Case) -> Sequence[TensorFlowRelease]:
    builds = [build for build in case.builds if build.platform == case.table_platform] or list(case.builds)
    if len(builds) > SEVERAL:
        return [*builds[: SEVERAL // 2], *builds[-SEVERAL // 2 :]]
    return builds


def _platform(case: Case, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    build = builds[-1]
    if any(b.gpu is not False for b in builds) or case.build is None:
        return
    from doctor.judge.packages import named_distributions

    if any(b.gpu for b in case.facts.of(TensorFlowBuild)) or "tensorflow-gpu" in named_distributions(case):
        return  # conda's build, or a second package, has CUDA, although PyPI's package of this name does not
    source = [fact.source for fact in (case.platform_fact, case.tensorflow) if fact is not None]
    kind = case.platform or "linux"
    windows = kind == "windows"
    needs = (
        "TensorFlow 2.10 or older, or WSL2"
        if windows and minor_release(build.version) >= (2, 11)
        else "a build with CUDA"
    )
    reason = f"{build.requirement} for {build.platform} is built without CUDA"
    ended = windows and build.package == "tensorflow" and minor_release(build.version) >= (2, 11)
    code = "tf-windows-native" if ended else "tf-cpu-only"
    yield Part(
        "platform",
        build.platform,
        needs,
        False,
        tuple(source),
        (build.ref,),
        reason,
        code,
        rank=release_rank(case),
    )


def _python(case: Case, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    python = case.python
    if case.bound:
        return  # another language's binding runs without Python
    narrow = [
        *(p for p in case.facts.of(PythonVersion) if p.bits == 32),
        *case.facts.symptoms("python-32bit"),
    ]
    if narrow and case.facts.kind == "report" and case.build is not None:
        yield Part("python", "32-bit", "a 64-bit Python", False, (narrow[0].source,), (case.build.ref,),
                   "every TensorFlow wheel is for a 64-bit Python", "tf-no-wheel", rank=PROSE)  # fmt: skip
        return
    if python is None or case.build is None or not case.build.pythons:
        return
    build = case.build
    minor = ".".join(python.version.split(".")[:2])
    if "." not in minor:
        return
    fits: bool | None = minor in build.pythons
    if fits and not all(minor in other.pythons for other in _elsewhere(case, build)):
        fits = None  # the platform is unknown, and on another platform there is no wheel for this Python
    needs = f"Python {span(build.pythons)}"
    reason = f"{build.requirement} has wheels for Python {', '.join(build.pythons)}"
    yield Part("python", python.version, needs, fits, (python.source,), (build.ref,), reason,
               "tf-no-wheel" if fits is False else "", rank=max(python.rank, release_rank(case)))  # fmt: skip


def _system(case: Case, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    """Yield the part about a Linux distribution whose glibc is too old for the build. Since 1.15 the wheels'
    tags state the glibc that they need, so pip refuses them; before, pip installs them and the import
    fails."""
    from doctor.tables.systems import system_row

    build, known = case.build, case.os
    failed = case.facts.kind == "report" and case.facts.has("import-fails-said", "install-fails-said")
    if not failed or build is None or known is None or case.platform != "linux":
        return  # where TensorFlow runs, its build fits
    row = None if case.container else system_row(case.tables, known.name)
    if row is None or build.glibc is None or dotted(row["glibc"]) >= dotted(build.glibc):
        return
    refused = minor_release(build.version) >= (1, 15)
    yield Part(
        "system", f"{known.name} (glibc {row['glibc']})", f"glibc {build.glibc} or newer", False,
        (known.source,), (build.ref,), f"{build.requirement} uses functions of glibc {build.glibc}",
        "tf-no-wheel" if refused else "tf-import-failed", rank=max(known.rank, release_rank(case)),
    )  # fmt: skip


def _elsewhere(case: Case, build: TensorFlowRelease) -> list[TensorFlowRelease]:
    """Return the builds of the same release for Linux and Windows, if a report mentions no platform;
    otherwise nothing."""
    if case.platform is not None or case.facts.kind != "report":
        return []
    rows = (
        case.tables.tensorflow(build.version, build.package, side)
        for side in ("linux-x86_64", "windows-amd64")
    )
    return [row for row in rows if row is not None and row.pythons]


def _gpu(case: Case, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    from doctor import compat

    gpu_builds = [b for b in builds if b.gpu and b.compute_capabilities]
    if not gpu_builds:
        known = case.tensorflow
        if known is not None and builds[-1].gpu and builds[-1].cuda:  # conda's: only its CUDA is known
            from doctor.judge.pairs import newer_than_cuda

            for gpu in case.gpus:
                yield from newer_than_cuda(case, gpu, builds[-1].cuda, known)
        return
    if bool(case.stated_absent("gpu")) or bool(case.facts.of(OtherGpu)):
        from doctor.judge.pairs import without_gpu

        yield from without_gpu(case, gpu_builds[-1])
    if case.facts.has("own-build"):  # whoever compiles TensorFlow chooses the compute capabilities
        return
    for gpu in case.gpus:
        possible = case.capabilities_of(gpu)
        if not possible:
            continue
        answers = [
            compat.runs_on_gpu(build, situation(case, capabilities=(capability,), driver=None), case.tables)
            for capability in possible
            for build in gpu_builds
        ]
        answer = agreed(answers)
        kernels = gpu_builds[-1].compute_capabilities
        listed = kernels.compiled if kernels else ()
        codes = {_misfit(answer, capability, listed) for capability in possible}
        if len(codes) > 1:
            continue
        rows = answer.refs if answer is not None else ()
        reason = answer.reason if answer is not None else ""
        slow = answer is not None and answer.verdict == "slow"
        through = ", newer GPUs through PTX" if slow else ""
        yield Part(
            "gpu",
            f"{gpu.name or 'GPU'} ({' or '.join(possible)})",
            f"compute capability {span(listed)}{_and_later(possible, listed)}{through}" if listed else "",
            is_fit(answer),
            (gpu.source,),
            rows,
            reason,
            codes.pop(),
            slow=slow,
            rank=max(gpu.rank, release_rank(case)),
        )


def _and_later(capabilities: Sequence[str], compiled: Sequence[str]) -> str:
    """Return the text " and later 8.x" if a build for 8.0 also runs on a GPU with 8.6, otherwise "": machine
    code runs on a GPU with the same major number and a higher minor number (CUDA C++ Programming Guide,
    "Binary Compatibility")."""
    last = capability_number(compiled[-1])
    later = [number for number in map(capability_number, capabilities) if number > last]
    return f" and later {last[0]}.x" if later and all(number[0] == last[0] for number in later) else ""


def _misfit(answer: Answer | None, capability: str, compiled: Sequence[str]) -> str:
    """Return the finding code for a GPU that cannot run a build, or can run it only after a compilation; ""
    for any other GPU. compiled: the compute capabilities for which the build has machine code."""
    if answer is None or answer.verdict not in ("no", "slow"):
        return ""
    # a card is too new only if it is newer than the newest machine code of the build
    newest = max(map(capability_number, compiled), default=(0, 0))
    newer = answer.verdict == "slow" or capability_number(capability) > newest
    return "gpu-arch-too-new" if newer else "gpu-arch-too-old"


def _driver_of_toolkit(case: Case) -> Iterator[Part]:
    """Yield the misfit of the driver and the CUDA toolkit that conda installed for its own build, if the
    driver is older than the toolkit's first release needs."""
    driver, cuda = case.driver, case.cuda
    if driver is None or cuda is None or "cudatoolkit" not in cuda.source.text.lower():
        return
    side = situation(case).side
    floor = case.tables.driver_floor(minor(cuda.version), side)
    if floor is not None and not driver_at_least(driver.version, floor.driver):
        yield Part(
            "driver", driver.version, f"{floor.driver} or newer", False, (driver.source, cuda.source),
            (floor.ref,), f"CUDA {cuda.version} needs driver {floor.driver} or newer", "driver-too-old",
            rank=max(driver.rank, cuda.rank),
        )  # fmt: skip


def _driver(case: Case, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    from doctor import compat
    from doctor.compat.answer import worst
    from doctor.compat.situation import trap_answers
    from doctor.tables import DriverFloor

    driver = case.driver
    in_wsl = case.platform == "wsl" and case.facts.kind == "report"
    if in_wsl and driver is not None and driver.part == "user":
        driver = None  # a Linux driver's package inside WSL, where only the Windows driver counts
    gpu_builds = [b for b in builds if b.gpu]
    if not gpu_builds:
        yield from _driver_of_toolkit(case)
        return
    side = situation(case).side
    lowest = compat.driver_minimum(gpu_builds[-1], case.tables, side, case.capabilities)
    floor = lowest.rows[-1] if lowest.rows else None
    needs = f"{floor.driver} or newer" if isinstance(floor, DriverFloor) else ""
    if driver is None:
        if needs and len({b.cuda for b in gpu_builds}) == 1:
            yield Part("driver", "", needs, None, (), lowest.refs)
        return
    answer = agreed([compat.runs_on_driver(build, driver.version, case.tables, side) for build in gpu_builds])
    code = "driver-too-old"
    for gpu in case.gpus:
        several = [
            worst(
                [
                    compat.driver_serves_gpu(capability, driver.version, case.tables, side),
                    *trap_answers(build, situation(case, capabilities=(capability,)), case.tables, "driver"),
                ]
            )
            for capability in case.capabilities_of(gpu)
            for build in gpu_builds
        ]
        serves = agreed(several)
        if serves is not None and serves.verdict == "no" and answer is not None and answer.verdict != "no":
            code = "driver-too-new" if "last driver branch" in serves.reason else "driver-too-old"
            answer = serves
    fits = is_fit(answer)
    if fits and case.facts.has("tensorflow-of-conda") and not case.facts.of(CudaVersion):
        # conda has builds of a release for several CUDA versions, and prefers the newest
        fits, answer = None, None
    yield Part("driver", driver.version, needs, fits, (driver.source,), answer.refs if answer else (),
               answer.reason if answer else "", code if fits is False else "",
               rank=max(driver.rank, release_rank(case)))  # fmt: skip
