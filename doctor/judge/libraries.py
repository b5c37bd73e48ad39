"""Checks whether CUDA and cuDNN fit the TensorFlow build: on a machine by what the loader loads, in a report
by the stated versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.case.libraries import in_unsearched_folders
from doctor.facts import (
    MEASURED,
    PROSE,
    CudaVersion,
    CudnnMismatch,
    CudnnVersion,
    Fact,
    LibraryLoaded,
    Package,
    Requirement,
    TensorFlowVersion,
)
from doctor.findings import Part
from doctor.judge.answers import NO_DEVICE_SEEN, agreed, is_fit, release_rank

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.tables import TensorFlowRelease, Trap


_PLAIN = lazy.compile(r"pip3? install [^\n]{0,60}tensorflow")


def brings_cuda(case: Case) -> list[Fact]:
    """Return evidence that pip or conda installed CUDA's libraries for this TensorFlow build."""
    facts = case.facts
    packages = [
        p for p in facts.of(Package) if p.name.startswith("nvidia-cud") or p.name in ("cudatoolkit", "cudnn")
    ]
    asked = [r for r in facts.of(Requirement) if "and-cuda" in r.name]
    return [*facts.symptoms("and-cuda-installed"), *asked, *packages]


def cuda_parts(case: Case, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    from doctor import compat

    gpu_builds = [b for b in builds if b.gpu]
    if not gpu_builds:
        return
    wanted = tuple(dict.fromkeys(b.cuda for b in gpu_builds if b.cuda))
    needs = f"CUDA {' or '.join(wanted[:3])}" if wanted else ""
    brought = brings_cuda(case)
    # conda's libraries have a version of their own, which is compared below
    of_pip = [f for f in brought if not (isinstance(f, Package) and f.manager != "pip")]
    if of_pip and any(b.extras.get("and-cuda") for b in gpu_builds):
        if not case.facts.has("and-cuda-installed") and case.extra_listed(gpu_builds[-1]) is False:
            # some of the libraries are installed, for another framework
            yield Part("cuda", "", needs, None, (), (gpu_builds[-1].ref,))
            return
        traps = _traps_of_pip(case, gpu_builds) if case.cuda is None else []
        yield Part(
            "cuda",
            "NVIDIA's packages from pip" + (", which this release does not find" if traps else ""),
            needs,
            not traps,
            tuple(f.source for f in of_pip[:2]),
            (gpu_builds[-1].ref, *(trap.ref for trap in traps)),
            (
                traps[0].reason
                if traps
                else "NVIDIA's pip packages contain the CUDA libraries that this TensorFlow loads"
            ),
            "library-path" if traps else "",
        )
        return
    unsearched = in_unsearched_folders(case, gpu_builds)
    if unsearched:
        yield Part(
            "cuda",
            "NVIDIA's packages from pip, which this release does not find",
            needs,
            False,
            tuple(package.source for package in unsearched[:2]),
            (gpu_builds[-1].ref,),
            f"{gpu_builds[-1].requirement} searches only its own folder for CUDA's libraries (RUNPATH"
            " $ORIGIN), and pip installs them into other folders",
            "library-path",
        )
        return
    if case.facts.kind == "machine":
        yield from _opened(case, gpu_builds[-1], "cuda", needs)
        return
    cuda = case.cuda
    if case.facts.has("own-build"):  # a self-made build loads the CUDA for which it was compiled
        return
    images = [
        one
        for one in case.facts.symptoms("stated-absent")
        if one.get("what") == "cuda" and one.get("looked") == "an image"
    ]  # the tag of such an image has a CUDA version, which people then state as theirs
    added = brought or any("install" in known.source.text for known in case.facts.of(CudaVersion))
    if cuda is None or (images and cuda.rank >= PROSE and not added):
        absent = images or case.stated_absent("cuda")
        lacking = absent[0] if absent else _without_cuda(case, gpu_builds)
        if lacking is not None:
            yield Part(
                "cuda",
                "none",
                needs,
                False,
                (lacking.source,),
                (gpu_builds[-1].ref,),
                f"{gpu_builds[-1].requirement} loads CUDA's libraries but does not contain them; the extra"
                f" [and-cuda], conda or a toolkit installs them",
                "cuda-missing",
                rank=MEASURED if isinstance(lacking, Package) else PROSE,
            )
        elif needs:
            yield Part("cuda", "", needs, None, (), (gpu_builds[-1].ref,))
        return
    answer = agreed([compat.runs_with_cuda(build, cuda.version, case.tables) for build in gpu_builds])
    fits = is_fit(answer)
    if "." not in cuda.version and fits is False and any(w.split(".")[0] == cuda.version for w in wanted):
        fits, answer = None, None  # "CUDA 11" in a report about a build for 11.2
    if case.facts.has("tensorflow-of-conda") and cuda.rank >= PROSE:
        # conda has builds of a release for several CUDA versions, and installs CUDA itself
        fits, answer = None, None
    yield Part("cuda", cuda.version, needs, fits, (cuda.source,), answer.refs[:3] if answer else (),
               answer.reason if answer else "", "cuda-version-mismatch" if fits is False else "",
               rank=max(cuda.rank, release_rank(case)))  # fmt: skip


def _traps_of_pip(case: Case, builds: Sequence[TensorFlowRelease]) -> list[Trap]:
    """Return the traps that keep every build from finding the libraries that pip installed for it; empty if
    any build finds them."""
    from doctor.compat import Situation, traps_of

    here = Situation(route="pip-and-cuda")
    known = [traps_of(build, here, case.tables, "libraries") for build in builds]
    return [traps[0] for traps in known] if all(known) else []


def _opened(case: Case, build: TensorFlowRelease, part: str, needs: str) -> Iterator[Part]:
    """Yield the part for CUDA or cuDNN (part: "cuda" or "cudnn") on a machine: it fits if the loader loads
    all of the build's libraries of this part."""
    opened = [lib for lib in case.facts.of(LibraryLoaded) if case.component(lib.name) == part]
    missing = case.missing(part)
    known = case.cuda if part == "cuda" else case.cudnn
    if not (opened or missing):
        return
    facts: list[Fact] = [*missing[:2], *opened[:2]] if missing else [*opened[:2]]
    have = known.version if known is not None else "none" if missing else "loaded"
    if known is not None and missing:
        have += f", without {missing[0].name}"
    yield Part(
        part,
        have,
        needs,
        not missing,
        tuple(f.source for f in facts),
        (build.ref,),
        (
            f"{missing[0].name} does not load"
            if missing
            else f"the loader loads every {'CUDA' if part == 'cuda' else 'cuDNN'} library that the build"
            " needs"
        ),
    )


def _without_cuda(case: Case, builds: Sequence[TensorFlowRelease]) -> Fact | None:
    """If a report does not mention CUDA, return the evidence of a plain `pip install tensorflow`, which
    installs no CUDA library. Returns None if there is no such evidence."""
    facts = case.facts
    if facts.kind != "report" or case.loaded or facts.of(CudaVersion):
        return None
    if facts.of(CudnnVersion) or facts.has("stated-absent"):
        return None
    if facts.has("image-tag", "works-said") or any(device.count for device in case.registered):
        return None
    if not (facts.has(*NO_DEVICE_SEEN) or case.registered or all(b.extras.get("and-cuda") for b in builds)):
        return None
    of_conda = facts.has("conda-install", "tensorflow-of-conda") or any(
        package.manager == "conda" for package in facts.of(Package)
    )
    if case.environments & {"colab", "kaggle"} or of_conda or case.platform not in (None, "linux", "wsl"):
        return None
    if not all(b.extras.get("and-cuda") or b.version.startswith("2.") for b in builds):
        return None
    named: list[Fact] = [r for r in facts.of(Requirement) if r.name in ("tensorflow", "tensorflow-gpu")]
    named += [s for s in facts.symptoms("stated-package") if not s.get("extra")]
    listed = [p for p in facts.of(Package) if p.manager == "pip"]
    if (
        len(listed) > 2
    ):  # a list of packages, which would show NVIDIA's packages; not a line such as "TensorFlow 2.16.1"
        named += [p for p in listed if p.name in ("tensorflow", "tensorflow-gpu")]
    asked = [
        v
        for v in facts.of(TensorFlowVersion)
        if _PLAIN.search(v.source.text) and "and-cuda" not in v.source.text
    ]
    plain: list[Fact] = [*named, *asked]
    return plain[0] if plain else None


def cudnn_parts(case: Case, builds: Sequence[TensorFlowRelease]) -> Iterator[Part]:
    from doctor import compat

    gpu_builds = [b for b in builds if b.gpu and b.cudnn]
    if not gpu_builds:
        return
    wanted = tuple(
        dict.fromkeys(compat.accepted_cudnn(b, case.tables, case.capabilities) for b in gpu_builds)
    )
    needs = f"cuDNN {' or '.join(wanted[:3])}"
    if case.facts.kind == "machine":
        yield from _opened(case, gpu_builds[-1], "cudnn", needs)
        return
    if case.facts.has("own-build"):  # likewise the cuDNN with which it was compiled
        return
    cudnn = case.cudnn
    if cudnn is None:
        if brings_cuda(case):
            return
        absent = case.stated_absent("cudnn")
        if absent:
            yield Part(
                "cudnn",
                "none",
                needs,
                False,
                (absent[0].source,),
                (gpu_builds[-1].ref,),
                f"{gpu_builds[-1].requirement} loads cuDNN {gpu_builds[-1].cudnn}",
                "cudnn-missing",
                rank=PROSE,
            )
            return
        yield Part("cudnn", "", needs, None, (), (gpu_builds[-1].ref,))
        return
    answer = agreed(
        [compat.runs_with_cudnn(b, cudnn.version, case.tables, case.capabilities) for b in gpu_builds]
    )
    fits = is_fit(answer)
    if (
        answer is not None
        and fits is None
        and answer.verdict == "unknown"
        and "major version" in answer.reason
    ):
        fits = (
            # the build loads this major version; the tables do not state with which minor version it was
            # compiled
            True
        )
    reason = answer.reason if answer else ""
    stated = case.facts.first(CudnnMismatch)
    if stated is not None and stated.loaded == cudnn.version:  # TensorFlow itself refuses this cuDNN
        needs, fits = f"cuDNN {stated.range}", False
        reason = f"TensorFlow was compiled with cuDNN {stated.compiled}"
    majors = {b.cuda.split(".")[0] for b in gpu_builds if b.cuda}
    archives = [one.get("cuda") for one in case.facts.symptoms("cudnn-for-cuda")]
    if archives and majors and majors.isdisjoint(archives) and fits is not False:
        fits = False  # a cuDNN archive contains code for one major version of CUDA
        reason = f"this cuDNN is for CUDA {archives[0]}, and the build uses CUDA {gpu_builds[-1].cuda}"
    yield Part("cudnn", cudnn.version, needs, fits, (cudnn.source,), answer.refs if answer else (),
               reason, "cudnn-version-mismatch" if fits is False else "",
               rank=max(cudnn.rank, release_rank(case)))  # fmt: skip
