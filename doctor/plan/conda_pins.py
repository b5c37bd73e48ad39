"""Judges the lines with which conda installs CUDA, cuDNN and TensorFlow itself, as far as the tables cover
them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor import lazy
from doctor.compat import Answer, runs_with_cuda, runs_with_cudnn
from doctor.findings import Finding, Step
from doctor.plan.context import PlanContext
from doctor.plan.edits import left_out, replaced, same_with_cuda
from doctor.plan.requested import Requested, Unread
from doctor.plan.resolution import holds
from doctor.remedies.cudnn import conda_row
from doctor.tables import TensorFlowRelease, dotted
from doctor.tables.versions import driver_at_least, minor

CUDA = ("cudatoolkit", "cuda-toolkit", "cuda", "cuda-version")
"""conda packages whose version is the CUDA version."""
CPU_BUILDS = lazy.compile(r"(?i)\*?(?:cpu|mkl|eigen)")
TENSORFLOW = lazy.compile(r"tensorflow(?:-gpu|-base)?")
_OF_GPU = lazy.compile(
    r"pytorch(?:-gpu|-cuda)?|cupy|jaxlib?|onnxruntime.*|libtensorflow.*|cudf|cuml|tensorrt"
)


def conda_builds(line: Requested) -> str:
    """Return the reason why a line for conda cannot be judged, or "" if it can be judged or does not concern
    a GPU."""
    if TENSORFLOW.fullmatch(line.name) and not CPU_BUILDS.match(line.build):
        made = re.match(r"\*?cuda(\d+?)(\d)(?!\d)", line.build)
        asked = f"; the line requests a build made with CUDA {made[1]}.{made[2]}" if made else ""
        return (
            "conda's builds of TensorFlow are not in the tables, so it is not known which CUDA and cuDNN"
            f" versions they use{asked}"
        )
    if _OF_GPU.fullmatch(line.name):
        return f"conda's builds of {line.name} are not in the tables"
    return ""


def judged_pins(
    build: TensorFlowRelease,
    tensorflow: Requested,
    asked: Sequence[Requested],
    context: PlanContext,
    name: str,
) -> tuple[list[Finding], list[Unread]]:
    """Judge the lines that pin CUDA and cuDNN in a file whose TensorFlow is installed with pip. Returns a
    finding for each line that allows no version that fits, and the lines that could not be judged because
    they allow both versions that fit and versions that do not. Nothing if the extra and-cuda brings CUDA and
    cuDNN, which the build then finds before conda's."""
    if "and-cuda" in tensorflow.extras and build.extras.get("and-cuda"):
        return [], []
    found, unread = [], []
    here = tensorflow.source(name)
    for line in asked:
        if not line.specifier or not (line.name in CUDA or line.name == "cudnn"):
            continue
        versions = allowed(line, context)
        answers = [(version, _answer(line, build, version, context)) for version in versions]
        bad = [(version, answer) for version, answer in answers if answer.verdict == "no"]
        what, code = (
            ("cuDNN", "cudnn-version-mismatch") if line.name == "cudnn" else ("CUDA", "cuda-version-mismatch")
        )
        shown = _shown(line, versions)
        if bad and len(bad) == len(answers):
            does = f"cannot use {what}" if what == "cuDNN" else f"does not load {what}"
            found.append(
                Finding(
                    code,
                    "error",
                    f"{build.requirement} {does} {shown}",
                    bad[-1][1].reason + ".",
                    (line.source(name), here),
                    bad[-1][1].refs,
                    _cure(line, build, tensorflow, asked, context, name),
                )
            )
        elif bad:
            unread.append(
                line.unread(
                    f"the line allows {what} {bad[0][0]}, which {build.requirement} cannot use, and"
                    f" {next(v for v, a in answers if a.verdict != 'no')}, which it can use; it is not known"
                    " which of them conda installs"
                )
            )
        elif not versions:
            unread.append(line.unread(f"the tables contain no {what} that the line allows"))
    return found, unread


def _cure(
    line: Requested,
    build: TensorFlowRelease,
    tensorflow: Requested,
    asked: Sequence[Requested],
    context: PlanContext,
    name: str,
) -> tuple[Step, ...]:
    """Return the steps that make the build find its CUDA and cuDNN: with the extra and-cuda in place of
    conda's packages or, if no release that the line allows has one that works, with the version that conda's
    table names."""
    with_cuda = same_with_cuda(tensorflow, asked, context, name) if build.extras.get("and-cuda") else ()
    if with_cuda:
        return (*with_cuda, left_out(line, name, "the extra and-cuda brings this library"))
    row = conda_row(context.tables, build)
    if row is None:
        return ()
    version = row["cudnn" if line.name == "cudnn" else "cudatoolkit"]
    return (replaced(line, f"{line.name}={version}", name),)


def judged_driver(asked: Sequence[Requested], context: PlanContext, name: str) -> Iterator[Finding]:
    """Yield a finding for each line that requests a CUDA version too new for the driver, if conda installs
    both CUDA and TensorFlow."""
    for line in asked:
        versions = (
            allowed(line, context) if line.manager == "conda" and line.name in CUDA and line.specifier else []
        )
        floors = [(version, context.tables.driver_floor(version, context.side)) for version in versions]
        known = [(version, floor) for version, floor in floors if floor is not None]
        if not known or context.driver is None or len(known) != len(versions):
            continue
        if any(driver_at_least(context.driver, floor.driver) for _, floor in known):
            continue
        version, floor = min(known, key=lambda pair: dotted(pair[1].driver))
        yield Finding(
            "driver-too-old",
            "error",
            f"driver {context.driver} is too old for CUDA {_shown(line, versions)}",
            f"CUDA {version} needs driver {floor.driver} or newer.",
            (line.source(name), context.evidence("driver")),
            (floor.ref,),
        )


def allowed(line: Requested, context: PlanContext) -> list[str]:
    """Return the CUDA or cuDNN versions in the tables that a line allows, oldest first."""
    tables = context.tables
    if line.name == "cudnn":
        known = [row.version for row in tables.cudnns()]
        exact = re.fullmatch(r"={2,3}([\d.]+?)(?:\.\*)?", line.specifier)
        found = [v for v in known if holds(v, line.specifier)]
        return found or ([exact[1]] if exact else [])
    known = list(dict.fromkeys(minor(row.cuda) for row in tables.toolkits()))
    exact = re.fullmatch(r"={2,3}(\d+\.\d+)(?:\.[\d.]*\d)?(?:\.\*)?", line.specifier)
    return [exact[1]] if exact else [version for version in known if holds(version, line.specifier)]


def _answer(line: Requested, build: TensorFlowRelease, version: str, context: PlanContext) -> Answer:
    """Whether the build runs with a version that a line for CUDA or cuDNN allows."""
    if line.name == "cudnn":
        return runs_with_cudnn(build, version, context.tables, context.capabilities)
    return runs_with_cuda(build, version, context.tables)


def _shown(line: Requested, versions: Sequence[str]) -> str:
    """Return the version that a line pins, or the versions that it allows, as text: "8.9", "11.2 to 11.8"."""
    exact = re.fullmatch(r"={2,3}([\d.]+?)(?:\.\*)?", line.specifier)
    if exact:
        return exact[1]
    return " to ".join(dict.fromkeys((versions[0], versions[-1]))) if versions else line.specifier
