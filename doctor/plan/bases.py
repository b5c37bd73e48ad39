"""Finds out where the CUDA libraries come from if a line requests TensorFlow without them.

The tag of a Dockerfile's base image shows which CUDA and cuDNN versions it contains: the tags of nvidia/cuda
are VERSION[-cudnn[MAJOR]]-FLAVOUR-SYSTEM (the page of that image; from CUDA 12.4 on, "cudnn" without a number
means cuDNN 9).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor import lazy, validated
from doctor.compat import Answer, runs_with_cuda, runs_with_cudnn
from doctor.facts import Source
from doctor.findings import Finding, Step, shell
from doctor.plan.context import PlanContext
from doctor.plan.edits import editable, edited, with_requirements
from doctor.plan.images import release_in
from doctor.plan.requested import FileContents, Requested
from doctor.shell import run
from doctor.tables import TensorFlowRelease, dotted
from doctor.values import replace

_TAG = lazy.compile(r"(?:^|/)nvidia/cuda:(?P<cuda>\d+\.\d+)(?:\.\d+)*(?P<cudnn>-cudnn(?P<major>\d*))?(?:-|$)")
_COMPLETE = lazy.compile(
    r"(?:^|/)(?:tensorflow/tensorflow:\S{0,120}gpu|nvcr\.io/nvidia/(?!cuda)|nvidia/tensorflow)"
)
OF_CUDA = lazy.compile(r"nvidia-c(u|udnn)|cudatoolkit|cuda|cudnn")
_WITHOUT_CUDA = lazy.compile(
    r"(?:docker\.io/)?(?:library/)?(?:python|pypy|ubuntu|debian|alpine|fedora|rockylinux|almalinux|centos"
    r"|amazonlinux|oraclelinux|buildpack-deps)(?::|$)"
    r"|(?:docker\.io/)?(?:continuumio/(?:mini|ana)conda3|tensorflow/tensorflow)(?::|$)"
)
"""Matches the base images that are known to contain no CUDA."""
CUDNN_9_UNNUMBERED = (12, 4)


def brings_cuda(asked: Sequence[Requested], wanted: FileContents) -> bool:
    """Whether other lines, the base image or a command of the Dockerfile install CUDA libraries."""
    of_image = (
        wanted.image is not None
        and (_TAG.search(wanted.image.name) or _COMPLETE.search(wanted.image.name)) is not None
    )
    return wanted.brings_cuda or of_image or any(OF_CUDA.match(other.name) for other in asked)


def libraries_of(
    line: Requested,
    build: TensorFlowRelease,
    asked: list[Requested],
    wanted: FileContents,
    context: PlanContext,
    name: str,
) -> list[Finding]:
    """Return the findings about the source of the CUDA libraries for this line's build."""
    if (
        ("and-cuda" in line.extras and build.extras.get("and-cuda"))
        or not build.gpu
        or context.platform != "linux-x86_64"
    ):
        return []
    if any(OF_CUDA.match(other.name) for other in asked):
        return []
    here = line.source(name)
    image = wanted.image
    if image is not None:
        base = Source(name, image.line, image.text)
        official = release_in(image, context)
        if official is not None:
            return _of_official(build, official, image, (here, base), context)
        if _COMPLETE.search(image.name):
            return []
        tag = _TAG.search(image.name)
        if tag is not None:
            return _of_image(build, tag, (here, base), context)
        if wanted.brings_cuda:
            return []
        if _WITHOUT_CUDA.match(image.name):
            where = f"the base image {image.name} contains none"
            missing = _nothing(line, build, (here, base), context, name, where)
            return [replace(missing, severity="error")]
        where = f"it is not known whether the base image {image.name} contains them"
        return [_nothing(line, build, (here, base), context, name, where)]
    if context.cuda is not None:
        return []
    return [_nothing(line, build, (here,), context, name, "install them another way")]


def _of_official(
    build: TensorFlowRelease,
    official: TensorFlowRelease,
    image: Requested,
    evidence: tuple[Source, ...],
    context: PlanContext,
) -> list[Finding]:
    """Return the findings about a TensorFlow release that replaces the image's own release but uses the
    image's libraries."""
    tables, capabilities = context.tables, context.capabilities
    cuda = runs_with_cuda(build, official.cuda, tables) if official.cuda else None
    cudnn = runs_with_cudnn(build, official.cudnn, tables, capabilities) if official.cudnn else None
    found = []
    for what, answer in (("CUDA", cuda), ("cuDNN", cudnn)):
        if answer is not None and answer.verdict == "no":
            title = f"{build.requirement} cannot use the {what} in {image.name}"
            misfit = _misfit(what, title, answer, build, evidence, context)
            found.append(replace(misfit, tables=(official.ref, *misfit.tables)))
    return found


def _misfit(
    what: str,
    title: str,
    answer: Answer,
    build: TensorFlowRelease,
    evidence: tuple[Source, ...],
    context: PlanContext,
) -> Finding:
    """Make the finding that the image's CUDA or cuDNN (`what`) does not fit the build. answer: the reason."""
    code = f"{what.lower()}-version-mismatch"
    why = f"{answer.reason}."
    return Finding(code, "error", title, why, evidence, answer.refs, _cure(build, context))


def _of_image(
    build: TensorFlowRelease, tag: re.Match[str], evidence: tuple[Source, ...], context: PlanContext
) -> list[Finding]:
    """Return the findings about the CUDA and cuDNN in an image of nvidia/cuda. tag: the match of _TAG."""
    found = []
    cuda = runs_with_cuda(build, tag["cuda"], context.tables)
    if cuda.verdict == "no":
        title = f"{build.requirement} does not load the CUDA {tag['cuda']} libraries in the image"
        found.append(_misfit("CUDA", title, cuda, build, evidence, context))
    major = tag["major"] or ("9" if dotted(tag["cuda"]) >= CUDNN_9_UNNUMBERED else "8")
    if not tag["cudnn"]:
        found.append(
            Finding(
                "cudnn-missing",
                "error",
                "the image contains no cuDNN",
                f"{build.requirement} loads cuDNN {build.cudnn}; an image that contains cuDNN has `cudnn` in"
                " its tag.",
                evidence,
                (build.ref,),
                _cure(build, context),
            )
        )
    elif build.cudnn is not None and dotted(build.cudnn)[0] != int(major):
        answer = runs_with_cudnn(build, major, context.tables, context.capabilities)
        title = f"{build.requirement} cannot use cuDNN {major}, which the image contains"
        found.append(_misfit("cuDNN", title, answer, build, evidence, context))
    return found


def _nothing(
    line: Requested,
    build: TensorFlowRelease,
    evidence: tuple[Source, ...],
    context: PlanContext,
    name: str,
    where: str,
) -> Finding:
    """Make the finding that nothing installs the build's CUDA libraries. where: the place without them, or
    the advice, as a clause."""
    extra = (
        f"{build.requirement} has no extra and-cuda (2.14 was the first release with this extra): pip prints"
        " a warning and continues. "
        if "and-cuda" in line.extras
        else ""
    )
    brought = (
        f"{extra}The line installs no CUDA libraries; {where}. Without these libraries TensorFlow computes on"
        " the CPU, and says so once in its log."
    )
    return Finding(
        "cuda-missing",
        "warning",
        f"the line for {line.name} does not install CUDA libraries",
        f"{build.requirement} loads {' '.join(filter(None, ('CUDA', build.cuda)))} and"
        f" {' '.join(filter(None, ('cuDNN', build.cudnn)))}. {brought}",
        evidence,
        (build.ref,),
        _cure(build, context, line, name),
    )


def _cure(
    build: TensorFlowRelease, context: PlanContext, line: Requested | None = None, name: str = ""
) -> tuple[Step, ...]:
    """Return the step that installs TensorFlow with its extra and-cuda, if the build has the extra. line: if
    given, the line to which the step adds the extra."""
    if not build.extras.get("and-cuda"):
        return ()
    wanted = (validated.specifiers(line.specifier) or "") if line is not None else f"=={build.version}"
    install = run("pip", "install", f"tensorflow[and-cuda]{wanted}")
    step = shell(install, "TensorFlow with its CUDA and cuDNN libraries, instead of that line").on(
        context.kind
    )
    if line is None or line.manager != "pip" or not editable(line):
        return (step,)
    return (
        replace(
            step, edit=edited(line, with_requirements(line, [f"tensorflow[and-cuda]{line.specifier}"]), name)
        ),
    )
