"""Tries one release on one route: finds out what has to change for it, or why it does not work."""

from __future__ import annotations

from typing import Any

from doctor.compat import Answer, Judgement, Situation, companions, installs_on, judge
from doctor.compat.nvidia_packages import packages_for
from doctor.compat.situation import first_obstacle
from doctor.compat.software import driver_minimum
from doctor.compat.workarounds import Workarounds, for_pip_libraries
from doctor.plan.candidate import WSL_PYTHON, Candidate, Refusal
from doctor.plan.context import PlanContext
from doctor.remedies.environments import UV_PYTHONS
from doctor.tables import DriverFloor, Tables, TensorFlowRelease, dotted
from doctor.tables.versions import minor
from doctor.values import replace

WSL_GPUS = (6, 0)
"""The lowest compute capability that WSL2 supports (CUDA on WSL User Guide 11.4.4, section 2.1, WSL 2 System
Requirements: Pascal and later)."""


def recipe_of(build: TensorFlowRelease, tables: Tables) -> dict[str, Any] | None:
    """Return the table row for the conda packages with the CUDA version for which a build was made, or None
    if there is none."""
    if build.cuda is None or not tables.store.has("conda"):
        return None
    return next((row for row in tables.store.all("conda") if row["cuda"] == minor(build.cuda)), None)


def image_of(build: TensorFlowRelease, tables: Tables) -> dict[str, Any] | None:
    """Return the table row for a release's official image, or None if there is none."""
    return next((row for row in image_rows(tables) if row["version"] == build.version), None)


def image_rows(tables: Tables) -> tuple[dict[str, Any], ...]:
    """Return the table rows for TensorFlow's official images, or () if the tables contain none."""
    return tables.store.all("images") if tables.store.has("images") else ()


def given_up(context: PlanContext, route: str) -> set[str]:
    """Return what has to change on a route whatever the release is, in the terms of `Candidate.given_up`."""
    lost = {"driver"} if context.driver_absent else set()
    if route != "pip-system-cuda" and (context.version_request.cuda or context.version_request.cudnn):
        lost.add("cuda" if context.version_request.cuda else "cudnn")
    if route == "docker":
        lost |= {"container", "python"} if context.python_is_asked else {"container"}
    return lost


def try_route(
    build: TensorFlowRelease,
    route: str,
    context: PlanContext,
    platform: str,
    side: str,
    settled: bool = False,
) -> tuple[Candidate | None, Refusal | None]:
    """Return the candidate with what has to change for it, or None if the release does not work; and the
    refusal, or None if every aspect fits.

    settled: do not accept a candidate that needs another driver.
    """
    base, recipe = _situation(build, route, context, platform, side)
    here = None if route in ("docker", "wsl2") else context.python
    python = None if route == "docker" else _python(build, here, base, context, route)
    situation = replace(base, python=python)
    judged, workarounds = _judged(build, situation, context)
    refused = (
        _python_refusals(build, replace(base, python=here), python, context) if route != "docker" else []
    )
    lost = given_up(context, route)
    if here is not None and python != here and context.python_is_asked:
        lost.add("python")
    dead = python is None and route != "docker"
    by_driver = _by_driver(build, situation, judged, context)
    for name, given in judged.answers:
        answer = _of_names(build, situation, given, context.tables) if name == "cuda" else given
        if answer.verdict != "no" or name == "libraries" or (name == "gpu" and by_driver == "with-driver"):
            continue
        aspect = "driver" if name == "gpu" and by_driver else name
        refused.append((aspect, answer))
        lost |= {"driver"} if aspect == "driver" else set()
        dead = dead or aspect != "driver" or situation.driver is None
    refused += [("libraries", answer) for answer in workarounds.blocks]
    old = [c for c in context.capabilities if dotted(c) < WSL_GPUS] if route == "wsl2" else []
    if old:
        refused.append(
            (
                "gpu",
                Answer(
                    "no",
                    f"WSL2 supports only Pascal and later GPUs, and compute capability {old[0]} belongs to an"
                    " older generation (CUDA on WSL User Guide 11.4.4, section 2.1)",
                    (build,),
                ),
            )
        )
        dead = True
    refusal = Refusal(build, route, tuple(refused)) if refused else None
    if dead or workarounds.blocks or ("driver" in lost and settled):
        return None, refusal
    floor = _driver_for(build, situation, context.tables) if "driver" in lost else None
    if "driver" in lost and floor is None:
        return None, refusal
    if floor is not None and situation.driver is not None:  # the plan is judged with the driver that it needs
        judged = context.judge(build, replace(situation, driver=floor.driver, route=None))
    image = image_of(build, context.tables) if route == "docker" else None
    found = Candidate(
        build,
        route,
        python,
        situation,
        judged,
        workarounds,
        (*workarounds.pins, *companions(build, context.tables)) if route != "docker" else (),
        frozenset(lost),
        floor,
        another_python=here is not None and python != here and route != "docker",
        image=image["image"] if image else None,
        recipe=(
            tuple(sorted((key, recipe[key]) for key in ("cuda", "channel", "cudatoolkit", "cudnn")))
            if recipe
            else ()
        ),
        verified=bool((image or recipe or {"verified": True})["verified"]),
    )
    return found, refusal


def _by_driver(
    build: TensorFlowRelease, situation: Situation, judged: Judgement, context: PlanContext
) -> str:
    """Determine whether the build cannot use the GPU only because the driver cannot compile the build's PTX.
    Return "" for no, "with-driver" if the build cannot use the driver anyway, and "alone" if this is the only
    reason."""
    if situation.driver is None or "gpu" not in judged or judged["gpu"].verdict != "no":
        return ""
    if context.judge(build, replace(situation, driver=None, route=None))["gpu"].verdict == "no":
        return ""
    return "with-driver" if "driver" in judged and judged["driver"].verdict == "no" else "alone"


def _situation(
    build: TensorFlowRelease, route: str, context: PlanContext, platform: str, side: str
) -> tuple[Situation, dict[str, Any] | None]:
    """Return the situation on a route, without the Python version, and the row for conda's packages if the
    route uses them."""
    recipe = (
        recipe_of(build, context.tables) if route == "conda" and not build.extras.get("and-cuda") else None
    )
    situation = Situation(
        platform=platform,
        glibc=None if route in ("docker", "wsl2") else context.glibc,
        capabilities=context.capabilities,
        driver=context.driver,
        driver_platform=side,
        route="system" if recipe or route in ("docker", "pip-system-cuda") else "pip-and-cuda",
    )
    if route == "pip-system-cuda":
        situation = replace(situation, cuda=context.cuda, cudnn=context.cudnn)
    elif recipe:
        situation = replace(situation, cuda=recipe["cudatoolkit"], cudnn=recipe["cudnn"])
    elif route == "docker":
        situation = replace(situation, cuda=build.cuda)
    return situation, recipe


def _python_refusals(
    build: TensorFlowRelease, here: Situation, chosen: str | None, context: PlanContext
) -> list[tuple[str, Answer]]:
    """Return why the installed Python version does not fit, if the plan uses another version or no version
    fits. chosen: the Python version in the plan."""
    if chosen is None:
        why = f"{build.requirement} has wheels only for Python {', '.join(build.pythons)}"
        return [("python", Answer("no", why, (build,)))]
    if here.python is None or here.python == chosen:
        return []
    answer = installs_on(build, here, context.tables)
    if answer.verdict == "no":
        return [("python", answer)]
    trap = first_obstacle(build, here, context.tables, "extra")
    return [("python", Answer("no", trap.reason, (trap, build)))] if trap is not None else []


def _of_names(build: TensorFlowRelease, situation: Situation, answer: Answer, tables: Tables) -> Answer:
    """Return the answer about a build's CUDA version. If the tables do not contain the names of the libraries
    that the build loads, base the answer on the CUDA version for which the build was made."""
    if answer.verdict != "unknown" or situation.cuda is None:
        return answer
    if build.cuda is None:
        return Answer("no", f"it is not known which CUDA version {build.requirement} loads", (build,))
    trap = first_obstacle(build, situation, tables, "cuda")
    if trap is not None:
        return Answer("no", trap.reason, (trap, build))
    if dotted(build.cuda)[0] == dotted(situation.cuda)[0]:
        return answer
    return Answer(
        "no",
        f"{build.requirement} was made for CUDA {build.cuda}, and CUDA {situation.cuda} is another major "
        "version, whose libraries have other names",
        (build,),
    )


def _judged(
    build: TensorFlowRelease, situation: Situation, context: PlanContext
) -> tuple[Judgement, Workarounds]:
    """Return the judgement on a build, and what it needs to use the CUDA libraries from pip."""
    # without the route: for_pip_libraries decides separately what pip's libraries need
    judged = context.judge(build, replace(situation, route=None))
    if situation.route != "pip-and-cuda":
        return judged, Workarounds()
    return judged, for_pip_libraries(build, situation, context.tables)


def _python(
    build: TensorFlowRelease, here: str | None, base: Situation, context: PlanContext, route: str
) -> str | None:
    """Return the Python version for the plan: the installed one if it fits, otherwise the newest available
    one that fits. If none fits, return the first one that was tried, or None if there was none to try."""
    pythons = [p for p in build.pythons if context.version_request.takes(p)]
    last_resort = sorted(pythons, key=dotted, reverse=True)
    if route == "wsl2":  # prefer the Python of the distribution that wsl --install installs
        last_resort.sort(key=lambda p: p != WSL_PYTHON)
    if route != "conda":
        last_resort = [p for p in last_resort if dotted(p) >= dotted(UV_PYTHONS)]
    order_of_trial = ([here] if here in pythons else []) + last_resort
    for python in order_of_trial:
        assert python is not None
        situation = replace(base, python=python)
        if installs_on(build, situation, context.tables).verdict == "no":
            continue
        blocked = (
            situation.route == "pip-and-cuda"
            and first_obstacle(build, situation, context.tables, "extra") is not None
        )
        if blocked and (python != here or packages_for(build, situation, context.tables) is None):
            continue
        return python
    return order_of_trial[0] if order_of_trial else None


def _driver_for(build: TensorFlowRelease, situation: Situation, tables: Tables) -> DriverFloor | None:
    """Return the oldest driver that works for this build and these GPUs, or None if no driver does."""
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
