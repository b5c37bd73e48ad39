"""TensorFlow on the CPU: where there is no GPU, where it is asked for, or as the last resort."""

from __future__ import annotations

from doctor.compat import Answer, Situation, companions, installs_on
from doctor.compat.choose import Judgement
from doctor.findings import Finding
from doctor.plan.candidate import Candidate
from doctor.plan.ground import Ground
from doctor.remedies.environments import UV_PYTHONS
from doctor.tables import TensorFlowRelease, dotted
from doctor.tables.ordering import is_final, order


def cpu_candidate(ground: Ground) -> Candidate | None:
    """The newest release that installs here, the wished one where there is one; None where there is none at all."""
    if ground.musl:
        return None
    newest = ground.newest
    builds = [
        b
        for b in ground.releases
        if b.package == "tensorflow" and not b.yanked and (is_final(b.version) or b.version in ground.wish.tensorflow)
    ]
    builds.sort(key=lambda b: (ground.wish.allows(b.version, newest), order(b.version)), reverse=True)
    best: Candidate | None = None
    for build in builds:
        found = _try(build, ground)
        if found is None:
            continue
        if not found.another_python:
            return found
        best = best or found
    return best


def _try(build: TensorFlowRelease, ground: Ground) -> Candidate | None:
    pythons = [ground.python] if ground.python in build.pythons else []
    pythons += [p for p in sorted(build.pythons, key=dotted, reverse=True) if dotted(p) >= dotted(UV_PYTHONS)]
    for python in pythons:
        situation = Situation(platform=ground.platform, python=python, glibc=ground.glibc, route="none")
        answer = installs_on(build, situation, ground.tables)
        if answer.verdict != "no":
            another = ground.python is not None and python != ground.python
            lost = {"python"} if another and ground.python_is_asked else set()
            lost |= set() if ground.wish.allows(build.version, ground.newest) else {"tensorflow"}
            return Candidate(
                build,
                "cpu",
                python,
                situation,
                Judgement(build, (("install", answer), ("gpu", Answer("no", "it computes on the CPU", (build,))))),
                pins=companions(build, ground.tables),
                given_up=frozenset(lost),
                another_python=another,
            )
    return None


def cpu_obstacles(ground: Ground, candidate: Candidate | None) -> tuple[Finding, ...]:
    """What stands in the way of a wish for the CPU: nothing, or that no release fulfils it here."""
    if candidate is not None and not candidate.given_up:
        return ()
    wished = f"TensorFlow {ground.wish.tensorflow}" if ground.wish.tensorflow else "TensorFlow"
    python = f" for Python {ground.python}" if ground.python else ""
    why = "No release has a wheel here."
    if ground.musl:
        why = "Every wheel of TensorFlow for Linux is made for glibc; Alpine has musl. Take an image of Debian."
    elif candidate is not None:
        why = f"The nearest that has one is TensorFlow {candidate.build.version} on Python {candidate.python}."
    source = ground.evidence("tensorflow" if ground.wish.tensorflow else "python")
    rows = (candidate.build.ref,) if candidate else ()
    return (Finding("tf-no-wheel", "error", f"no {wished} has a wheel{python} here", why, (source,), rows),)
