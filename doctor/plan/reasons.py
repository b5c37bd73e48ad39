"""The reasons for a plan: what the tables say for its release, and what rules out each newer one."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.compat import traps_of
from doctor.plan.candidate import Candidate, Refusal
from doctor.plan.chain import shortest_chain
from doctor.plan.context import PlanContext
from doctor.tables import DriverFloor
from doctor.tables.ordering import order
from doctor.values import replace

if TYPE_CHECKING:
    from typing import TypeAlias

    from doctor.compat import Answer

Reason: TypeAlias = "tuple[str, tuple[str, ...]]"
"""A sentence, and the rows of the tables that support it."""
NEWER_LIMIT = 2
"""The most aspects that refuse newer releases to name: a few cover nearly all releases."""
GROUP_LIMIT = 3
"""The most groups of releases to name for one aspect, the newest."""
_VERSION = lazy.compile(r"(?<![\d.])\d{1,9}(?:\.\d{1,9}){1,9}")


def reasons(candidate: Candidate, context: PlanContext, floor: object) -> list[Reason]:
    """The reasons for the candidate. floor: the row of the driver that it needs."""
    found: list[Reason] = []
    build = candidate.build
    if candidate.route == "cpu":
        why = "there is no GPU here" if context.for_cpu else "the last resort if no plan with a GPU works"
        why = "a plan for the CPU was requested" if context.version_request.cpu else why
        return [(f"it computes on the CPU: {why}", (build.ref,))]
    for name, answer in candidate.judgement.answers:
        if name == "libraries" or (name == "driver" and "driver" in candidate.given_up):
            continue
        found.append((answer.reason, answer.refs or (build.ref,)))
    if candidate.extra and not candidate.links:
        found.append(
            (
                f"{candidate.installation.requirements[0]} installs its CUDA and cuDNN and finds them",
                (build.ref,),
            )
        )
    found += _older_python(candidate, context)
    found += [(workaround.reason, workaround.refs) for workaround in candidate.workarounds.reasons]
    named = candidate.workarounds.packages.requirements if candidate.workarounds.packages else ()
    found += [
        (f"{pin.requirement}: {pin.why}", pin.rows) for pin in candidate.pins if pin.requirement not in named
    ]
    if candidate.nvidia is None:
        open_question = context.driver is None or "driver" in candidate.given_up
        found += _driver(context, floor, [reason for reason, _ in found], open_question)
    found += _c_library(candidate, context)
    if not context.capabilities and not context.gpu_absent:
        found.append(
            ("no GPU was named, so it is not known whether the build has code for it (add --gpu NAME)", ())
        )
    return list(dict.fromkeys(found))


def _older_python(candidate: Candidate, context: PlanContext) -> list[Reason]:
    """The reason against a newer Python for which the release has a wheel, but its own extra does not
    install."""
    build, chosen = candidate.build, candidate.python
    if candidate.situation.route != "pip-and-cuda" or chosen is None or not candidate.extra:
        return []
    newer = [p for p in build.pythons if order(p) > order(chosen) and context.version_request.takes(p)]
    return [
        (f"Python {chosen} instead of {newer[-1]}: {trap.reason}", (trap.ref, build.ref))
        for python in newer[-1:]
        for trap in traps_of(build, replace(candidate.situation, python=python), context.tables, "extra")
        if trap.verdict == "no"
    ]


def _c_library(candidate: Candidate, context: PlanContext) -> list[Reason]:
    """The reason that names the glibc to check, if the tables do not contain the distribution."""
    os, build = context.case.os, candidate.build
    floor = build.glibc_by_python.get(candidate.python or "", build.glibc)
    if (
        os is None
        or context.glibc is not None
        or floor is None
        or context.kind != "linux"
        or candidate.route == "docker"
    ):
        return []
    return [
        (
            f"the glibc of {os.name} is not known here: it must be {floor} or newer (check: ldd --version)",
            (build.ref,),
        )
    ]


def _driver(context: PlanContext, floor: object, given: list[str], open_question: bool) -> list[Reason]:
    """The reason that names the required driver, unless one is given that names it. open_question: the
    installed driver is unknown or too old, so the newest branch that serves the GPU is named as well."""
    found: list[Reason] = []
    if isinstance(floor, DriverFloor) and not any(
        f"{floor.driver} or newer" in reason for reason in given
    ):
        found.append((f"driver {floor.driver} or newer is needed", (floor.ref,)))
    for capability in context.capabilities if open_question else ():
        row = context.tables.architecture(capability)
        if row is not None and row.last_driver is not None:
            found.append(
                (
                    (
                        f"driver branches after R{row.last_driver} do not support compute capability"
                        f" {capability}"
                    ),
                    (row.ref,),
                )
            )
    return found


def _kind(refused: tuple[Refusal, Answer]) -> str:
    """The reason of a refusal without the release and without versions."""
    refusal, answer = refused
    return _VERSION.sub("", answer.reason.replace(refusal.build.requirement, ""))


def against_newer(candidate: Candidate, refusals: list[Refusal]) -> list[Reason]:
    """The reasons against newer releases on the same route, the most frequent aspect first: one for each
    group of neighbouring releases whose reasons differ in no more than their own versions."""
    mine = order(candidate.build.version)
    newer = [r for r in refusals if r.route == candidate.route and order(r.build.version) > mine]
    if candidate.another_python:  # the installed Python is no obstacle if another one is used
        newer = [
            replace(r, answers=left)
            for r in newer
            if (left := tuple(a for a in r.answers if a[0] != "python"))
        ]
    found: list[Reason] = []
    for _, refused in shortest_chain(newer)[:NEWER_LIMIT]:
        by_age = sorted(refused, key=lambda pair: order(pair[0].build.version))
        groups = [list(group) for _, group in groupby(by_age, _kind)]
        for group in reversed(groups[-GROUP_LIMIT:]):
            (first, _), (last, answer) = group[0], group[-1]
            span = dict.fromkeys((first.build.version, last.build.version))
            found.append((f"not {' to '.join(span)}: {answer.reason}", answer.refs or (last.build.ref,)))
    return found
