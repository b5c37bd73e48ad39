"""The reasons for a plan: what the tables say about its release, and what rules out each newer release."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.compat.situation import first_obstacle
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
"""A sentence, and references to the table rows that support it."""
NEWER_LIMIT = 2
"""The maximum number of aspects to show that rule out newer releases. A few aspects cover nearly all
releases."""
GROUP_LIMIT = 3
"""The maximum number of groups of releases to show for one aspect. The newest groups come first."""
_VERSION = lazy.compile(r"(?<![\d.])\d{1,9}(?:\.\d{1,9}){1,9}")


def reasons(candidate: Candidate, context: PlanContext, floor: object) -> list[Reason]:
    """Return the reasons for a candidate. floor: the table row for the oldest driver that the candidate can
    use."""
    found: list[Reason] = []
    build = candidate.build
    if candidate.route == "cpu":
        why = "there is no GPU here" if context.for_cpu else "the last resort if no plan with a GPU works"
        why = "a plan for the CPU was requested" if context.version_request.cpu else why
        return [(f"the plan computes on the CPU: {why}", (build.ref,))]
    for name, answer in candidate.judgement.answers:
        if name == "libraries" or (name == "driver" and "driver" in candidate.given_up):
            continue
        found.append((answer.reason, answer.refs or (build.ref,)))
    if candidate.extra and not candidate.links:
        found.append(
            (
                f"{candidate.installation.requirements[0]} installs its own CUDA and cuDNN, and TensorFlow"
                " finds them without further setup",
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
            ("the GPU is unknown, so it is unknown whether the build has code for it (add --gpu NAME)", ())
        )
    return list(dict.fromkeys(found))


def _older_python(candidate: Candidate, context: PlanContext) -> list[Reason]:
    """Return the reason against a newer Python version for which the release has a wheel, but for which pip
    cannot install the release's extra and-cuda."""
    build, chosen = candidate.build, candidate.python
    if candidate.situation.route != "pip-and-cuda" or chosen is None or not candidate.extra:
        return []
    newer = [p for p in build.pythons if order(p) > order(chosen) and context.version_request.takes(p)]
    if not newer:
        return []
    trap = first_obstacle(build, replace(candidate.situation, python=newer[-1]), context.tables, "extra")
    if trap is None:
        return []
    words = f"Python {chosen}, although there is a wheel for {newer[-1]}: {trap.reason}"
    return [(words, (trap.ref, build.ref))]


def _c_library(candidate: Candidate, context: PlanContext) -> list[Reason]:
    """Return the reason that states the required glibc version, if the tables do not contain the
    distribution."""
    os, build = context.case.os, candidate.build
    floor = build.glibc_by_python.get(candidate.python or "", build.glibc)
    if (
        os is None
        or context.glibc is not None
        or floor is None
        or context.kind != "linux"
        or candidate.image is not None
    ):
        return []
    return [
        (
            f"the tables do not contain the glibc version of {os.name}; it must be {floor} or newer (check"
            " with: ldd --version)",
            (build.ref,),
        )
    ]


def _driver(context: PlanContext, floor: object, given: list[str], open_question: bool) -> list[Reason]:
    """Return the reasons that state the required driver, unless a reason in `given` states it already.
    open_question: the installed driver is unknown or too old, so also state the last driver branch for the
    GPU."""
    found: list[Reason] = []
    if isinstance(floor, DriverFloor) and not any(f"{floor.driver} or newer" in reason for reason in given):
        # the other rules are in the citation: "CUDA 12.x runs on driver 525.60.13 (Linux) or newer ..."
        why = f": {floor.ref}" if floor.rule in ("architecture", "ptx") else ""
        source = floor.source if why else floor.ref
        found.append((f"driver {floor.driver} or newer is needed{why}", (source,)))
    for capability in context.capabilities if open_question else ():
        row = context.tables.architecture(capability)
        if row is not None and row.last_driver is not None:
            why = f"driver branches after R{row.last_driver} do not support compute capability {capability}"
            found.append((why, (row.ref,)))
    return found


def _kind(refused: tuple[Refusal, Answer]) -> str:
    """Return the text of a refusal's reason without the release and without versions, to compare it with
    other reasons."""
    refusal, answer = refused
    return _VERSION.sub("", answer.reason.replace(refusal.build.requirement, ""))


def against_newer(candidate: Candidate, refusals: list[Refusal]) -> list[Reason]:
    """Return the reasons against newer releases on the same route, the aspect that rules out the most
    releases first. Neighbouring releases whose reasons differ only in versions share one reason."""
    mine = order(candidate.build.version)
    newer = [r for r in refusals if r.route == candidate.route and order(r.build.version) > mine]
    if candidate.another_python:  # the plan uses another Python, so the installed one does not matter
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
