"""Finds other lines of a requirement file that conflict with TensorFlow: lines that violate TensorFlow's own
requirements, and packages whose newest releases break TensorFlow but for which no line sets a bound."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.compat.companion_packages import companions
from doctor.facts import Source
from doctor.findings import Finding, Step, shell
from doctor.plan.conda_pins import CUDA
from doctor.plan.context import PlanContext
from doctor.plan.edits import replaced
from doctor.plan.plans import Outcome
from doctor.plan.requested import Requested, requirement
from doctor.plan.resolution import Solver
from doctor.plan.specifiers import keeps_within, together
from doctor.shell import run
from doctor.tables import TensorFlowRelease
from doctor.tables.versions import dotted


def neighbours(
    build: TensorFlowRelease, line: Requested, asked: Sequence[Requested], context: PlanContext, name: str
) -> list[Finding]:
    """Return a finding for each other line that does not fit the TensorFlow build. line: the line that
    requests the build."""
    found: list[Finding] = []
    own = stated(build, line)
    here = line.source(name)
    for other in asked:
        evidence = (other.source(name), here)
        if other.name in own and not together(other.specifier, own[other.name]):
            found.append(_excluded(build, other, own[other.name], evidence, context, name))
    named = {f.evidence[0].line for f in found}
    return found + [
        f for f in _unbounded(build, asked, here, name, context) if f.evidence[0].line not in named
    ]


def examined_names(outcome: Outcome, asked: Sequence[Requested], solver: Solver) -> set[str]:
    """Return the names of the packages whose lines were checked against the requirements of TensorFlow and
    the other frameworks."""
    names = {"python", "pip", "cudnn", "tensorflow", "tensorflow-gpu", *CUDA, *solver.frameworks}
    for plan in outcome.plans[:1]:
        names |= set(stated(plan.candidate.build, Requested("", "", 0, "", ("and-cuda",))))
        names |= {
            re.split(r"[<>=!~]", pin.requirement)[0]
            for pin in companions(plan.candidate.build, outcome.context.tables)
        }
    return names | {a.name for a in asked if a.name.startswith(("nvidia-", "tensorflow"))}


def stated(build: TensorFlowRelease, line: Requested) -> dict[str, str]:
    """Return the requirements in the build's METADATA, by package, with those for the extra and-cuda if the
    line requests it."""
    own: dict[str, str] = {}
    for text in build.requires:
        one = requirement(text, 0)
        if one is not None and not one.marker:
            own[one.name] = one.specifier
    if "and-cuda" in line.extras:
        own.update({k: v.partition(";")[0] for k, v in build.extras.get("and-cuda", {}).items()})
    return own


def _excluded(
    build: TensorFlowRelease,
    other: Requested,
    stated: str,
    evidence: tuple[Source, ...],
    context: PlanContext,
    name: str,
) -> Finding:
    """Make the finding that a line violates a requirement of the build. stated: the versions that the build
    requires."""
    code = (
        "cudnn-version-mismatch"
        if "cudnn" in other.name
        else ("cuda-version-mismatch" if other.name.startswith("nvidia-") else "python-dependency-conflict")
    )
    bounds = ",".join(part for part in stated.split(",") if not part.startswith("!=")) or stated
    return Finding(
        code,
        "error",
        f"{build.requirement} needs {other.name}{bounds}",
        f"The line requests {other.name} {other.specifier}; the METADATA of {build.requirement} requires"
        f" {other.name}{stated}. pip does not install both together.",
        evidence,
        (build.ref,),
        (replaced(other, f"{other.name}{stated}", name, "a version that this release accepts"),),
    )


def _unbounded(
    build: TensorFlowRelease, asked: Sequence[Requested], here: Source, name: str, context: PlanContext
) -> list[Finding]:
    """Return findings for packages whose newest releases break the build. The build's METADATA sets no bound
    for them, so pip installs the newest unless the environment already contains one."""
    found = []
    for bound in companions(build, context.tables):
        package = re.split(r"[<>=!~]", bound.requirement)[0]
        limit = bound.requirement[len(package) :]
        if package == "numpy" and context.python is not None and dotted(context.python) < NUMPY_2_PYTHON:
            continue
        lines = [a for a in asked if a.name == package]
        if any(keeps_within(a.specifier, limit) for a in lines):
            continue
        wrong = next((a for a in lines if not together(a.specifier, limit)), None)
        shown = wrong or (lines[0] if lines else None)
        step: tuple[Step, ...] = (
            shell(run("pip", "install", bound.requirement), "then add the same bound to the file").on(
                context.kind
            ),
        )
        taken = (
            f"and the line requests {package} {wrong.specifier}"
            if wrong
            else "nor does any line of the file, so pip may install the newest release"
        )
        found.append(
            Finding(
                "python-dependency-conflict",
                "error" if wrong else "warning",
                f"{build.requirement} needs {bound.requirement}",
                f"{bound.why}; TensorFlow's METADATA sets no bound for {package}, {taken}.",
                ((shown.source(name), here) if shown else (here,)),
                bound.rows,
                step,
            )
        )
    return found


NUMPY_2_PYTHON = (3, 9)
"""The oldest Python version that NumPy 2 supports (Requires-Python in 2.0.0); with an older version, pip
installs NumPy 1 anyway."""
