"""Every way to run every release on a ground, judged by the tables: what works, and what would have to change for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from doctor.compat import Answer, Judgement, Situation, installs_on, judge, traps_of
from doctor.compat.software import driver_minimum
from doctor.plan.ground import Ground
from doctor.plan.measures import Link, Measures, Pin, dependency_pins, for_pip_libraries
from doctor.tables import DriverFloor, Tables, TensorFlowRelease, dotted
from doctor.tables.ordering import is_final, order
from doctor.tables.versions import minor

ROUTES = ("pip-and-cuda", "pip-system-cuda", "conda", "docker", "wsl2", "cpu")
"""In the order of preference among equals."""

# What a change costs: less than one is done inside the new environment, one is done without an administrator (or is
# one command), a demand that is given up costs more, and the driver is touched last.
COSTS = {"slow": 1.0, "links": 0.5, "unknown": 3.0, "python": 4.0, "cuda": 4.0, "cudnn": 4.0, "tensorflow": 6.0, "system": 1.0, "container": 1.5, "driver": 12.0}  # fmt: skip
WSL_PYTHON = "3.12"
"""python3 of Ubuntu 24.04, which the WSL2 plans install (systems.json)."""
ANOTHER_MINOR = 1.0
"""The distance from which on a release is another minor release than the wished one."""
UV_PYTHONS = "3.8"
"""The oldest Python that uv brings (docs.astral.sh/uv, "Python versions"); older ones come from conda."""


@dataclass(frozen=True)
class Candidate:
    """One release by one route. `given_up`: which demands or parts of the machine change for it (python, driver,
    cuda, cudnn, tensorflow, system); empty where it works as things are."""

    build: TensorFlowRelease
    route: str
    python: str | None
    situation: Situation
    judgement: Judgement
    measures: Measures = field(default_factory=Measures)
    pins: tuple[Pin, ...] = ()
    given_up: frozenset[str] = frozenset()
    driver: DriverFloor | None = None
    distance: float = 0.0
    another_python: bool = False
    image: str | None = None
    recipe: tuple[tuple[str, str], ...] = ()

    @property
    def links(self) -> tuple[Link, ...]:
        """The links that it needs."""
        return self.measures.links

    @cached_property
    def cost(self) -> float:
        """How much has to change, the driver counting most; see COSTS."""
        cost = sum(COSTS[name] for name in self.given_up) + self.distance
        if "tensorflow" in self.given_up and self.distance < ANOTHER_MINOR:
            cost -= COSTS["tensorflow"] - 1.0  # another patch of the same release
        verdicts = {answer.verdict for name, answer in self.judgement.answers if name not in ("libraries", "driver")}
        cost += COSTS["slow"] if "slow" in verdicts else 0
        cost += COSTS["unknown"] if "unknown" in verdicts else 0
        cost += COSTS["links"] if self.links else 0
        cost += 1.0 if self.another_python and "python" not in self.given_up else 0
        cost += {"conda": 1.0, "cpu": 100.0}.get(self.route, 0.0)
        return cost


@dataclass(frozen=True)
class Refusal:
    """Why a release does not work on the ground as it is: one answer for each aspect that fails."""

    build: TensorFlowRelease
    route: str
    answers: tuple[tuple[str, Answer], ...]


@dataclass
class Field:
    """All that was weighed: candidates by cost, and the refusals of releases that the wish allows."""

    candidates: list[Candidate] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)


def weigh(ground: Ground) -> Field:
    """Judge the GPU releases by every route of the platform. Pure, and by the tables alone.

    Releases that the wish allows are tried first; the others only where none of those works as things are.
    """
    tables, wish = ground.tables, ground.wish
    newest = ground.newest
    result = Field()
    fields = []
    for platform, side, system in _targets(ground):
        every = ground.releases if platform == ground.platform else tables.releases(platform)
        builds = _builds(every, wish.tensorflow)
        fields.append((platform, side, system, builds, {b.version for b in builds if wish.allows(b.version, newest)}))
    for conforming in (True, False):
        if not conforming and (not wish.tensorflow or any(not c.given_up for c in result.candidates)):
            break
        for platform, side, system, builds, allowed in fields:
            chosen = [b for b in reversed(builds) if (b.version in allowed) is conforming]
            away = _distances(builds, allowed)
            if not conforming:
                chosen.sort(key=lambda b: away[b.version])
            for route in _routes_of(ground, platform, system):
                _walk(chosen, route, ground, (platform, side, system, conforming), away, result)
    result.candidates.sort(key=lambda c: (round(c.cost, 3), *(-part for part in _age(c)), ROUTES.index(c.route)))
    return result


def _distances(builds: list[TensorFlowRelease], allowed: set[str]) -> dict[str, float]:
    """How far each release is from the nearest that the wish allows: below ANOTHER_MINOR within a minor release."""
    wished = [i for i, b in enumerate(builds) if b.version in allowed]
    minors = {minor(version) for version in allowed}
    found = {}
    for i, build in enumerate(builds):
        steps = min((abs(i - w) for w in wished), default=0)
        patch = build.version in allowed or minor(build.version) in minors
        found[build.version] = 0.0 if patch else ANOTHER_MINOR + min(0.9, 0.01 * steps)
    return found


def _walk(
    builds: list[TensorFlowRelease],
    route: str,
    ground: Ground,
    where: tuple[str, str, bool, bool],
    away: dict[str, float],
    result: Field,
) -> None:
    """Try builds in order of preference; end at the first that nothing after it can be better than."""
    platform, side, system, conforming = where
    settled = False  # the newest release that another driver opens is found: an older one is no better
    for build in builds:
        if not _offers(build, route, ground, platform):
            continue
        found, refusal = _try(build, route, ground, platform, side, settled)
        if refusal is not None and conforming:
            result.refusals.append(refusal)
        if found is None:
            continue
        lost = found.given_up | ({"system"} if system else set()) | (set() if conforming else {"tensorflow"})
        if len(lost) > 2:
            continue
        found = replace(found, given_up=frozenset(lost), distance=away[build.version])
        result.candidates.append(found)
        settled = settled or ("driver" in lost and not found.links and not ground.driver_absent)
        lowest = (1.0 if route == "conda" else 0.0) + sum(
            COSTS[name] for name in _always_lost(ground, route, system, conforming)
        )
        if found.cost - found.distance <= lowest + 1e-9:
            return


def _always_lost(ground: Ground, route: str, system: bool, conforming: bool) -> set[str]:
    """What every release gives up by this route, so that no release can cost less."""
    lost = {"system"} if system else set()
    if not conforming:
        lost.add("tensorflow")
    if ground.driver_absent:
        lost.add("driver")
    if route != "pip-system-cuda":
        lost |= {"cuda"} if ground.wish.cuda else {"cudnn"} if ground.wish.cudnn else set()
    if route == "docker":
        lost |= {"container", "python"} if ground.python_is_asked else {"container"}
    return lost


def _age(candidate: Candidate) -> tuple[float, ...]:
    kind, numbers, stage = order(candidate.build.version)
    return (kind, *(float(n) for n in (*numbers, 0, 0, 0)[:3]), stage)


def _targets(ground: Ground) -> list[tuple[str, str, bool]]:
    """Platform, driver's side, and whether it is another system than the one at hand."""
    if ground.kind == "windows":
        return [(ground.platform, "windows", False), ("linux-x86_64", "wsl", True)]
    return [(ground.platform, ground.side, False)]


def _builds(releases: Iterable[TensorFlowRelease], spec: str) -> list[TensorFlowRelease]:
    """GPU releases of the platform, one a version (tensorflow before tensorflow-gpu), oldest first."""
    found: dict[str, TensorFlowRelease] = {}
    for build in releases:
        if build.package not in ("tensorflow", "tensorflow-gpu") or not build.gpu or build.yanked:
            continue
        if not is_final(build.version) and build.version not in spec:
            continue
        if build.version not in found or build.package == "tensorflow":
            found[build.version] = build
    return sorted(found.values(), key=lambda b: order(b.version))


def _routes_of(ground: Ground, platform: str, system: bool) -> tuple[str, ...]:
    if system:
        return ("wsl2",)
    routes = ["pip-and-cuda"] if platform == "linux-x86_64" else []
    if ground.cuda is not None:
        routes.append("pip-system-cuda")
    routes.append("conda")
    if platform == "linux-x86_64" and not ground.container:
        routes.append("docker")
    return tuple(routes)


def _offers(build: TensorFlowRelease, route: str, ground: Ground, platform: str) -> bool:
    """Whether the release can be had by the route at all."""
    extra = bool(build.extras.get("and-cuda")) and platform == "linux-x86_64"
    match route:
        case "pip-and-cuda" | "wsl2":
            return extra
        case "conda":
            return extra or recipe_of(build, ground.tables) is not None
        case "docker":
            return image_of(build, ground.tables) is not None
        case _:
            return True


def recipe_of(build: TensorFlowRelease, tables: Tables) -> dict[str, str] | None:
    """The conda packages with the CUDA that a build was made for."""
    if build.cuda is None or not tables.store.has("conda"):
        return None
    return next((row for row in tables.store.all("conda") if row["cuda"] == minor(build.cuda)), None)


def image_of(build: TensorFlowRelease, tables: Tables) -> str | None:
    """The official image of a release."""
    rows = tables.store.all("images") if tables.store.has("images") else ()
    return next((row["image"] for row in rows if row["version"] == build.version), None)


def _try(
    build: TensorFlowRelease, route: str, ground: Ground, platform: str, side: str, settled: bool = False
) -> tuple[Candidate | None, Refusal | None]:
    """The release by the route, with what has to change for it; or None and why not as things are.

    settled: another driver is no longer looked for.
    """
    base, recipe = _situation(build, route, ground, platform, side)
    here = None if route in ("docker", "wsl2") else ground.python
    python = None if route == "docker" else _python(build, here, base, ground, route)
    situation = replace(base, python=python)
    judged, measures = _judged(build, situation, ground)
    refused = _python_refusals(build, replace(base, python=here), python, ground) if route != "docker" else []
    lost: set[str] = set()
    if here is not None and python != here and ground.python_is_asked:
        lost.add("python")
    if route == "docker":
        lost |= {"container", "python"} if ground.python_is_asked else {"container"}
    dead = python is None and route != "docker"
    for name, given in judged.answers:
        answer = _of_names(build, situation, given, ground.tables) if name == "cuda" else given
        if answer.verdict == "no" and name != "libraries":
            refused.append((name, answer))
            lost |= {"driver"} if name == "driver" else set()
            dead = dead or name != "driver" or situation.driver is None
    refused += [("libraries", answer) for answer in measures.blocks]
    if ground.driver_absent:
        lost.add("driver")
    if route != "pip-system-cuda":
        lost |= {"cuda"} if ground.wish.cuda else {"cudnn"} if ground.wish.cudnn else set()
    refusal = Refusal(build, route, tuple(refused)) if refused else None
    if dead or measures.blocks or ("driver" in lost and settled):
        return None, refusal
    floor = _driver_for(build, situation, ground.tables) if "driver" in lost else None
    if "driver" in lost and floor is None:
        return None, refusal
    found = Candidate(
        build,
        route,
        python,
        situation,
        judged,
        measures,
        (*measures.pins, *dependency_pins(build, ground.tables)) if route != "docker" else (),
        frozenset(lost),
        floor,
        another_python=here is not None and python != here and route != "docker",
        image=image_of(build, ground.tables) if route == "docker" else None,
        recipe=tuple(sorted(recipe.items())) if recipe else (),
    )
    return found, refusal


def _situation(
    build: TensorFlowRelease, route: str, ground: Ground, platform: str, side: str
) -> tuple[Situation, dict[str, str] | None]:
    """What the tables are asked about by a route, Python left open; and conda's packages where it goes through them."""
    recipe = recipe_of(build, ground.tables) if route == "conda" and not build.extras.get("and-cuda") else None
    situation = Situation(
        platform=platform,
        glibc=None if route in ("docker", "wsl2") else ground.glibc,
        capabilities=ground.capabilities,
        driver=ground.driver,
        driver_platform=side,
        route="system" if recipe or route in ("docker", "pip-system-cuda") else "pip-and-cuda",
    )
    if route == "pip-system-cuda":
        situation = replace(situation, cuda=ground.cuda, cudnn=ground.cudnn)
    elif recipe:
        situation = replace(situation, cuda=recipe["cudatoolkit"], cudnn=recipe["cudnn"])
    elif route == "docker":
        situation = replace(situation, cuda=build.cuda)
    return situation, recipe


def _python_refusals(
    build: TensorFlowRelease, here: Situation, chosen: str | None, ground: Ground
) -> list[tuple[str, Answer]]:
    """Why the Python at hand will not do, where another one is taken or none serves."""
    if chosen is None:
        why = f"{build.requirement} has wheels for Python {', '.join(build.pythons)} only"
        return [("python", Answer("no", why, (build,)))]
    if here.python is None or here.python == chosen:
        return []
    answer = installs_on(build, here, ground.tables)
    if answer.verdict == "no":
        return [("python", answer)]
    traps = traps_of(build, here, ground.tables, "extra")
    return [("python", Answer("no", trap.reason, (trap, build))) for trap in traps if trap.verdict == "no"][:1]


def _of_names(build: TensorFlowRelease, situation: Situation, answer: Answer, tables: Tables) -> Answer:
    """Where the names that a build opens were not read: what is known of its CUDA all the same."""
    if answer.verdict != "unknown" or situation.cuda is None:
        return answer
    if build.cuda is None:
        return Answer("no", f"which CUDA {build.requirement} opens is not known", (build,))
    for trap in traps_of(build, situation, tables, "cuda"):
        if trap.verdict == "no":
            return Answer("no", trap.reason, (trap, build))
    if dotted(build.cuda)[0] == dotted(situation.cuda)[0]:
        return answer
    return Answer("no", f"{build.requirement} was made for CUDA {build.cuda}, and CUDA {situation.cuda} is another major "
                  "version, whose libraries have other names", (build,))  # fmt: skip


def _judged(build: TensorFlowRelease, situation: Situation, ground: Ground) -> tuple[Judgement, Measures]:
    # what pip's libraries need is answered by the measures, which cure what they can
    judged = ground.judge(build, replace(situation, route=None))
    if situation.route != "pip-and-cuda":
        return judged, Measures()
    return judged, for_pip_libraries(build, situation, ground.tables)


def _python(build: TensorFlowRelease, here: str | None, base: Situation, ground: Ground, route: str) -> str | None:
    """The Python to take: the one at hand where it serves, else the newest that does and that can be had."""
    last_resort = sorted(build.pythons, key=dotted, reverse=True)
    if route == "wsl2":  # the Python of the distribution that wsl --install brings
        last_resort.sort(key=lambda p: p != WSL_PYTHON)
    if route != "conda":
        last_resort = [p for p in last_resort if dotted(p) >= dotted(UV_PYTHONS)]
    order_of_trial = ([here] if here in build.pythons else []) + last_resort
    for python in order_of_trial:
        assert python is not None
        situation = replace(base, python=python)
        if installs_on(build, situation, ground.tables).verdict == "no":
            continue
        extra = situation.route == "pip-and-cuda" and traps_of(build, situation, ground.tables, "extra")
        if extra and any(trap.verdict == "no" for trap in extra):
            continue
        return python
    return order_of_trial[0] if order_of_trial else None


def _driver_for(build: TensorFlowRelease, situation: Situation, tables: Tables) -> DriverFloor | None:
    """The lowest driver that would do for this build and these GPUs, or None where none does."""
    without = judge(build, replace(situation, driver=None), tables)
    if "driver" in without and without["driver"].verdict == "no":
        return None
    floor = driver_minimum(build, tables, situation.side, situation.capabilities).rows[-1]
    if not isinstance(floor, DriverFloor):
        return None
    trial = judge(build, replace(situation, driver=floor.driver), tables)
    if trial["driver"].verdict == "no" or ("gpu" in trial and trial["gpu"].verdict == "no"):
        return None
    return floor
