"""The honest last resort: TensorFlow on the CPU."""

from __future__ import annotations

from doctor.compat import Answer, Situation, installs_on
from doctor.compat.choose import Judgement
from doctor.plan.candidate import UV_PYTHONS, Candidate
from doctor.plan.ground import Ground
from doctor.plan.measures import dependency_pins
from doctor.tables import TensorFlowRelease, dotted
from doctor.tables.ordering import is_final, order


def cpu_candidate(ground: Ground) -> Candidate | None:
    """The newest release that installs here, the wished one where there is one; None where there is none at all."""
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


STUB_WITHOUT = ("tensorflow-macos", "3.8")
"""On Apple silicon 2.13 to 2.15.0 are empty wheels that require tensorflow-macos, whose files start at cp39."""


def _try(build: TensorFlowRelease, ground: Ground) -> Candidate | None:
    stub = ground.platform == "macos-arm64" and any(r.startswith(STUB_WITHOUT[0]) for r in build.requires)
    pythons = [ground.python] if ground.python in build.pythons else []
    pythons += [p for p in sorted(build.pythons, key=dotted, reverse=True) if dotted(p) >= dotted(UV_PYTHONS)]
    for python in (p for p in pythons if not (stub and p == STUB_WITHOUT[1])):
        situation = Situation(platform=ground.platform, python=python, glibc=ground.glibc, route="none")
        answer = installs_on(build, situation, ground.tables)
        if answer.verdict != "no":
            another = ground.python is not None and python != ground.python
            return Candidate(
                build,
                "cpu",
                python,
                situation,
                Judgement(build, (("install", answer), ("gpu", Answer("no", "it computes on the CPU", (build,))))),
                pins=dependency_pins(build, ground.tables),
                given_up=frozenset({"python"} if another and ground.python_is_asked else ()),
                another_python=another,
            )
    return None
