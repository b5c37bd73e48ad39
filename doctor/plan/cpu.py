"""Plans for TensorFlow on the CPU: if there is no GPU, if the user requests it, or if no plan with a GPU
works."""

from __future__ import annotations

from doctor.compat import Answer, Situation, companions, installs_on
from doctor.compat.choose import Judgement
from doctor.findings import Finding
from doctor.plan.candidate import Candidate
from doctor.plan.context import PlanContext
from doctor.plan.obstacles import musl
from doctor.remedies.environments import UV_PYTHONS
from doctor.tables import TensorFlowRelease, dotted
from doctor.tables.ordering import is_final, order


def cpu_candidate(context: PlanContext) -> Candidate | None:
    """Return the newest requested release that can be installed on this machine, or the one nearest to the
    requested releases, or None if no release can be installed."""
    if context.musl:
        return None
    newest = context.newest
    versions = [
        version
        for version in context.tables.versions("tensorflow", context.platform)
        if is_final(version) or version in context.version_request.tensorflow
    ]
    versions.sort(key=order)
    away = context.version_request.away(versions, newest)
    versions.sort(key=lambda v: (-away[v], order(v)), reverse=True)
    best: Candidate | None = None
    for version in versions:
        build = context.tables.tensorflow(version, "tensorflow", context.platform)
        found = None if build is None or build.yanked else _try(build, context)
        if found is None:
            continue
        if not found.another_python:
            return found
        best = best or found
    return best


def _try(build: TensorFlowRelease, context: PlanContext) -> Candidate | None:
    """Return the candidate for a release on the CPU, on the installed Python if the release has a wheel for
    it, or None if no Python that can be installed fits."""
    fit = [p for p in build.pythons if context.version_request.takes(p)]
    pythons = [context.python] if context.python in fit else []
    pythons += [p for p in sorted(fit, key=dotted, reverse=True) if dotted(p) >= dotted(UV_PYTHONS)]
    for python in pythons:
        situation = Situation(platform=context.platform, python=python, glibc=context.glibc, route="none")
        answer = installs_on(build, situation, context.tables)
        if answer.verdict != "no":
            another = context.python is not None and python != context.python
            lost = {"python"} if another and context.python_is_asked else set()
            if not context.version_request.allows(build.version, context.newest):
                lost.add("tensorflow")
            return Candidate(
                build,
                "cpu",
                python,
                situation,
                Judgement(
                    build, (("install", answer), ("gpu", Answer("no", "it computes on the CPU", (build,))))
                ),
                pins=companions(build, context.tables),
                given_up=frozenset(lost),
                another_python=another,
            )
    return None


def cpu_obstacles(context: PlanContext, candidate: Candidate | None) -> tuple[Finding, ...]:
    """Return the finding that no release fits the request on this machine, so that there is no plan for the
    CPU, or nothing if one fits."""
    if candidate is not None and not candidate.given_up:
        return ()
    if context.musl:
        return (musl(context, ()),)
    wished = f"TensorFlow {context.version_request.in_words}".rstrip()
    python = f" for Python {context.python}" if context.python else ""
    why = "No release has a wheel for this machine."
    if candidate is not None:
        why = (
            f"The nearest release that has a wheel is TensorFlow {candidate.build.version} on Python"
            f" {candidate.python}."
        )
    source = context.evidence("tensorflow" if context.version_request.tensorflow else "python")
    rows = (candidate.build.ref,) if candidate else ()
    title = f"no {wished} release has a wheel{python} on this platform"
    return (Finding("tf-no-wheel", "error", title, why, (source,), rows),)
