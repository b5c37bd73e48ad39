"""Judges, from the tables, every way to run each release on a machine: whether it works, and what has to
change first."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from doctor.compat import Situation
from doctor.compat.nvidia_packages import packages_for
from doctor.plan.candidate import ANOTHER_MINOR, COSTS, ROUTES, Candidate, Refusal
from doctor.plan.context import PlanContext
from doctor.plan.trial import given_up, image_of, recipe_of, try_route
from doctor.tables import TensorFlowRelease
from doctor.tables.ordering import is_final, order
from doctor.values import dataclass, field, replace


@dataclass
class Field:
    """All candidates, the cheapest first, and the reasons against releases that the request allows but that
    do not work."""

    candidates: list[Candidate] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)


def weigh(context: PlanContext, routes: Collection[str] = ROUTES) -> Field:
    """Judge the GPU releases for every route of the platform, or only for `routes`, from the tables alone.

    Releases that the request allows are tried first; other releases are tried only if none of these works
    without a change.
    """
    tables, version_request = context.tables, context.version_request
    newest = context.newest
    result = Field()
    fields = []
    for platform, side, system in _targets(context):
        every = context.releases if platform == context.platform else tables.releases(platform)
        builds = _builds(every, version_request.tensorflow)
        fields.append(
            (
                platform,
                side,
                system,
                builds,
                {b.version for b in builds if version_request.allows(b.version, newest)},
            )
        )
    for conforming in (True, False):
        if not conforming and (
            not version_request.tensorflow or any(not c.given_up for c in result.candidates)
        ):
            break
        for platform, side, system, builds, allowed in fields:
            chosen = [b for b in reversed(builds) if (b.version in allowed) is conforming]
            away = _distances(builds, context)
            if not conforming:
                chosen.sort(key=lambda b: away[b.version])
            for route in (r for r in _routes_of(context, platform, system) if r in routes):
                _walk(chosen, route, context, (platform, side, system, conforming), away, result)
    result.candidates.sort(
        key=lambda c: (round(c.cost, 3), *(-part for part in _age(c)), ROUTES.index(c.route))
    )
    return result


def foremost(field: Field) -> Candidate | None:
    """Return the candidate that becomes the first plan, or None if there is no candidate."""
    return next(iter(sure(field)), None)


def sure(field: Field) -> list[Candidate]:
    """Return the candidates whose build, according to the tables, has code for the GPU, the cheapest first.
    If there are none, return all candidates."""
    known = [c for c in field.candidates if ("gpu", "unknown") not in c.judgement.verdicts]
    return known or field.candidates


def _distances(builds: list[TensorFlowRelease], context: PlanContext) -> dict[str, float]:
    """Return, by version, how far each release is from the nearest release that the request allows: 0 if both
    have the same minor version, otherwise at least ANOTHER_MINOR."""
    away = context.version_request.away([b.version for b in builds], context.newest)
    return {v: ANOTHER_MINOR + min(0.9, 0.03 * n) if n > 1 else 0.0 for v, n in away.items()}


def _walk(
    builds: list[TensorFlowRelease],
    route: str,
    context: PlanContext,
    where: tuple[str, str, bool, bool],
    away: dict[str, float],
    result: Field,
) -> None:
    """Try builds in order of preference and add the candidates and refusals to `result`. Stop at the first
    build that no later build can beat."""
    platform, side, system, conforming = where
    added = ({"system"} if system else set()) | (set() if conforming else {"tensorflow"})
    always = given_up(context, route) | added  # every release needs these changes on this route
    lowest = sum(COSTS[name] for name in always) + (COSTS["conda"] if route == "conda" else 0.0)
    settled = False  # the newest release for another driver is found: older releases are no better
    for build in builds:
        if not _offers(build, route, context, platform, side):
            continue
        found, refusal = try_route(build, route, context, platform, side, settled)
        if refusal is not None and conforming:
            result.refusals.append(refusal)
        if found is None:
            continue
        lost = found.given_up | added
        if len(lost) > 2:
            continue
        found = replace(found, given_up=lost, distance=away[build.version])
        result.candidates.append(found)
        settled = settled or ("driver" in lost and not found.links and not context.driver_absent)
        if found.cost - found.distance <= lowest + 1e-9:
            return


def _age(candidate: Candidate) -> tuple[float, ...]:
    """Return the release's version as numbers, to sort candidates."""
    kind, numbers, stage = order(candidate.build.version)
    return (kind, *(float(n) for n in (*numbers, 0, 0, 0)[:3]), stage)


def _targets(context: PlanContext) -> list[tuple[str, str, bool]]:
    """Return the platforms to try, each with the platform whose driver numbers apply, and whether it is
    another system than the machine's own."""
    if context.kind == "macos" or context.windows_on_arm:
        return []  # macOS has no current NVIDIA driver, and Windows on Arm has none at all
    if context.kind == "windows":
        return [(context.platform, "windows", False), ("linux-x86_64", "wsl", True)]
    return [(context.platform, context.side, False)]


def _builds(releases: Iterable[TensorFlowRelease], spec: str) -> list[TensorFlowRelease]:
    """Return the GPU releases among `releases`, oldest first, one per version (tensorflow rather than
    tensorflow-gpu). spec: the requested version or range; a pre-release counts only if `spec` contains it."""
    found: dict[str, TensorFlowRelease] = {}
    for build in releases:
        if build.package not in ("tensorflow", "tensorflow-gpu") or not build.gpu or build.yanked:
            continue
        if not is_final(build.version) and build.version not in spec:
            continue
        if build.version not in found or build.package == "tensorflow":
            found[build.version] = build
    return sorted(found.values(), key=lambda b: order(b.version))


def _routes_of(context: PlanContext, platform: str, system: bool) -> tuple[str, ...]:
    """Return the routes to try on a platform. system: whether it is another system than the machine's own."""
    if system:
        return ("wsl2",)
    if context.musl:  # an image contains its own C library
        return () if context.container else ("docker",)
    routes = ["pip-and-cuda"] if platform == "linux-x86_64" else []
    if context.cuda is not None and not context.cudnn_absent:
        routes.append("pip-system-cuda")
    routes.append("conda")
    if platform == "linux-x86_64" and not context.container:
        routes.append("docker")
    return tuple(routes)


def _offers(build: TensorFlowRelease, route: str, context: PlanContext, platform: str, side: str) -> bool:
    """Whether the release can be installed by the route at all."""
    extra = bool(build.extras.get("and-cuda")) and platform == "linux-x86_64"
    if route in ("pip-and-cuda", "wsl2"):
        return (
            extra
            or packages_for(build, Situation(platform, driver_platform=side), context.tables) is not None
        )
    if route == "conda":
        return extra or recipe_of(build, context.tables) is not None
    if route == "docker":
        # the tables do not show which of the Pythons that a release supports is in its image
        fits = all(context.version_request.takes(python) for python in build.pythons)
        return fits and image_of(build, context.tables) is not None
    return True
