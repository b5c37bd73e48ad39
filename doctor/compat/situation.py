"""The situation in which a build is judged: machine, versions and route; and the traps (rows of traps.json)
that apply in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.compat.answer import Answer
from doctor.tables import Tables, TensorFlowRelease, Trap
from doctor.tables.ranges import of_build, within
from doctor.tables.store import remembered
from doctor.values import dataclass


@dataclass(frozen=True, slots=True)
class Situation:
    """The known or requested properties of a machine and its software. None and empty values mean "any" when
    a build is chosen, and "not known" when a build is judged.

    platform: a platform of the tables (linux-x86_64, windows-amd64 ...). driver_platform: linux, windows or
    wsl, by default derived from platform. capabilities: the compute capability of every GPU ("8.6"). cuda,
    cudnn: the versions installed without pip. route: where NVIDIA's libraries come from, "pip-and-cuda"
    (pip), "system" (any other source) or None.
    """

    platform: str = "linux-x86_64"
    python: str | None = None
    glibc: str | None = None
    capabilities: tuple[str, ...] = ()
    driver: str | None = None
    driver_platform: str | None = None
    cuda: str | None = None
    cudnn: str | None = None
    route: str | None = None

    @property
    def side(self) -> str:
        """The platform whose driver numbers apply: linux, windows or wsl."""
        if self.driver_platform:
            return self.driver_platform
        return "windows" if self.platform.startswith("windows") else "linux"


def applies(
    trap: Trap, build: TensorFlowRelease, situation: Situation, tables: Tables, without: tuple[str, ...] = ()
) -> bool:
    """Whether every condition of a trap is known to hold. without: names of conditions not to check."""
    when: Mapping[str, Any] = trap.data["when"]
    conditions = ((name, wanted) for name, wanted in when.items() if name not in without)
    return concerns(trap, build) and all(
        _holds(name, wanted, situation, tables) for name, wanted in conditions
    )


def concerns(trap: Trap, build: TensorFlowRelease) -> bool:
    """Whether a trap's conditions on the build hold; the conditions on the machine do not count."""
    return build.of_wheel and of_build(trap.data["when"], build.package, build.version, build.platform)


def traps_of(
    build: TensorFlowRelease, situation: Situation, tables: Tables, aspect: str | None = None
) -> tuple[Trap, ...]:
    """Return the traps that apply to this build in this situation, in the order of the table. aspect: if
    given, only the traps for this aspect."""
    if not build.of_wheel:  # traps were found with the official wheels
        return ()
    return tuple(
        trap
        for trap in _concerning(tables, build.package, build.version, build.platform)
        if (aspect is None or trap.data["aspect"] == aspect)
        and all(_holds(name, wanted, situation, tables) for name, wanted in trap.data["when"].items())
    )


def trap_answers(
    build: TensorFlowRelease, situation: Situation, tables: Tables, *aspects: str
) -> list[Answer]:
    """Return an answer for each trap that applies to this build in this situation, aspect by aspect."""
    return [
        Answer(trap.verdict, trap.reason, (trap, build), trap.cure)
        for aspect in aspects
        for trap in traps_of(build, situation, tables, aspect)
    ]


def first_obstacle(
    build: TensorFlowRelease, situation: Situation, tables: Tables, aspect: str
) -> Trap | None:
    """Return the first trap for an aspect with the verdict "no", or None if there is none."""
    return next((t for t in traps_of(build, situation, tables, aspect) if t.verdict == "no"), None)


@remembered
def _concerning(tables: Tables, package: str, version: str, platform: str) -> tuple[Trap, ...]:
    return tuple(trap for trap in tables.traps() if of_build(trap.data["when"], package, version, platform))


def _holds(name: str, wanted: Any, situation: Situation, tables: Tables) -> bool:
    """Whether one condition of a trap is known to hold in a situation. Raises ValueError for an unknown
    condition."""
    if name in ("packages", "platforms", "versions"):  # of the build: see concerns
        return True
    if name == "route":
        return situation.route == str(wanted)
    if name == "python":
        return situation.python is not None and within(situation.python, wanted)
    if name == "capability":
        return any(within(capability, wanted) for capability in situation.capabilities)
    if name == "cuda":
        return situation.cuda is not None and within(situation.cuda, wanted)
    if name == "cudnn":
        return situation.cudnn is not None and within(situation.cudnn, wanted)
    if name == "driver_cuda":
        offered = None if situation.driver is None else tables.driver_cuda(situation.driver, situation.side)
        return offered is not None and within(offered, wanted)
    raise ValueError(f"a trap with an unknown condition: {name!r}")
