"""Finds components that a report mentions (a GPU, a driver, a CUDA release) and that no TensorFlow release
can use together.

In: a `Case` whose TensorFlow release is unknown. Out: `Part` rows, only for incompatibilities that no
official release resolves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import PROSE, CudaVersion, Gpu, OtherGpu, TensorFlowVersion
from doctor.findings import Part
from doctor.judge.answers import capability_number
from doctor.remedies.fitness import situation
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.tables import TensorFlowRelease


def pair_parts(case: Case) -> Iterator[Part]:
    """Yield parts that do not fit one another, or do not fit any release for this platform."""
    if case.facts.kind != "report" or case.facts.has("own-build"):
        return
    builds = [build for build in case.tables.gpu_builds(case.table_platform) if build.compute_capabilities]
    if not builds:
        return
    yield from without_gpu(case, builds[0])
    yield from _gpus(case, [b for b in builds if dotted(b.version) >= _oldest_release(case)])
    yield from _driver(case)
    yield from _cuda(case, builds)


def without_gpu(case: Case, build: TensorFlowRelease) -> Iterator[Part]:
    """Yield the misfit for a report that says that there is no NVIDIA GPU and mentions none."""
    others = [*case.stated_absent("gpu"), *case.facts.of(OtherGpu)]
    plugged = case.facts.has("plugin-device")  # the plugin uses that device
    if case.facts.kind == "report" and others and not (case.gpus or case.driver or plugged):
        yield Part("gpu", "no NVIDIA GPU", "an NVIDIA GPU", False, (others[0].source,), (build.ref,),
                   "TensorFlow's CUDA builds use only NVIDIA's GPUs", "gpu-absent", rank=PROSE)  # fmt: skip


def _oldest_release(case: Case) -> tuple[int, ...]:
    """Return the oldest TensorFlow release that a report of unknown date may be about: 1.5 (January 2018) if
    the driver, Python or system in the report is as new as that release or newer (NVIDIA driver 390, Python
    3.7, Ubuntu 18.04)."""
    facts = (case.driver, (390,)), (case.python, (3, 7))
    later = [known for known, first in facts if known is not None and dotted(known.version) >= first]
    system = re.search(r"Ubuntu (\d\d)", case.os.name) if case.os is not None else None
    return (1, 5) if later or (system is not None and int(system[1]) >= 18) else (0,)


def _gpus(case: Case, builds: list[TensorFlowRelease]) -> Iterator[Part]:
    oldest = min(builds, key=_lowest)
    for gpu in case.gpus:
        if not gpu.compute_capability:
            continue
        number = capability_number(gpu.compute_capability)
        have = f"{gpu.name or 'GPU'} ({gpu.compute_capability})"
        if number < _lowest(oldest):
            lowest = ".".join(map(str, _lowest(oldest)))
            yield Part("gpu", have, f"compute capability {lowest} or higher", False, (gpu.source,),
                       (oldest.ref,),
                       f"no release from {builds[0].version} on has code for a GPU below compute capability"
                       f" {lowest}",
                       "gpu-arch-too-old", rank=gpu.rank)  # fmt: skip
            continue
        if case.cuda is not None:
            yield from newer_than_cuda(case, gpu, case.cuda.version, case.cuda)


def newer_than_cuda(
    case: Case, gpu: Gpu, cuda: str, stated: CudaVersion | TensorFlowVersion
) -> Iterator[Part]:
    """Yield the misfit of a GPU and an older CUDA version, which has no code for it. stated: the fact that
    shows the CUDA version."""
    capability = gpu.compute_capability or ""
    first = case.tables.architecture(capability)
    if first is None or first.first_cuda is None or "." not in cuda:
        return
    number = capability_number(capability)
    same = [a for a in case.tables.architectures() if _runs_code(a.capabilities, number)]
    needs = min((a.first_cuda for a in same if a.first_cuda), key=dotted, default=first.first_cuda)
    if dotted(cuda)[:2] < dotted(needs):
        yield Part("gpu", f"{gpu.name or 'GPU'} ({capability})", f"CUDA {needs} or newer", False,
                   (gpu.source, stated.source), (first.ref,),
                   f"CUDA {cuda} has no code for compute capability {capability}",
                   "gpu-arch-too-new", rank=max(gpu.rank, stated.rank))  # fmt: skip


def _lowest(build: TensorFlowRelease) -> tuple[int, int]:
    kernels = build.compute_capabilities
    return min(map(capability_number, (*kernels.compiled, *kernels.ptx))) if kernels else (99, 0)


def _runs_code(capabilities: tuple[str, ...], number: tuple[int, int]) -> bool:
    """Whether machine code for one of these compute capabilities runs on a GPU of compute capability
    `number`: the code must have the same major number and at most the same minor number."""
    known = map(capability_number, capabilities)
    return any(major == number[0] and minor <= number[1] for major, minor in known)


def _driver(case: Case) -> Iterator[Part]:
    from doctor import compat

    driver, side = case.driver, situation(case).side
    if driver is None:
        return
    for capability in case.capabilities:
        answer = compat.driver_serves_gpu(capability, driver.version, case.tables, side)
        if answer.verdict == "no":
            code = "driver-too-new" if "last driver branch" in answer.reason else "driver-too-old"
            yield Part("driver", driver.version, "", False, (driver.source,), answer.refs, answer.reason,
                       code, rank=driver.rank)  # fmt: skip
            return


def _cuda(case: Case, builds: list[TensorFlowRelease]) -> Iterator[Part]:
    """Yield the part for a CUDA version whose libraries no official release loads, such as 9.1."""
    from doctor import compat

    cuda = case.cuda
    elsewhere = case.facts.has("tensorflow-of-conda", "image-tag") or case.environments & {"conda", "docker"}
    asked = any("cudart" in name for name in case.loaded)  # this build loads the library of this CUDA
    if cuda is None or elsewhere or asked or "." not in cuda.version:
        return
    known = sorted(dotted(build.cuda)[:2] for build in builds if build.cuda)
    if not known or not known[0] <= dotted(cuda.version)[:2] <= known[-1]:
        return  # TensorFlow releases older or newer than those of the tables may load its libraries
    answers = [compat.runs_with_cuda(build, cuda.version, case.tables) for build in builds]
    if all(answer.verdict == "no" for answer in answers):
        yield Part("cuda", cuda.version, "", False, (cuda.source,), answers[0].refs[:3],
                   f"no official release for {builds[0].platform} loads the libraries of CUDA {cuda.version}",
                   "cuda-version-mismatch", rank=cuda.rank)  # fmt: skip
