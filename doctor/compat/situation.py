"""The situation that a build is asked about, and which known traps lie in it."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from doctor.tables import Tables, TensorFlowRelease, Trap, dotted
from doctor.tables.tensorflow import order


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known or wished; None and empty mean "free" in a choice and "not known" in a judgement.

    platform: a platform of the tables (linux-x86_64, windows-amd64 ...). driver_platform: linux, windows or wsl,
    by default after platform. capabilities: of every GPU meant ("8.6"). cuda, cudnn: installed outside of pip.
    route: "pip-and-cuda" (NVIDIA's libraries from pip), "system" (from elsewhere) or None.
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
        """linux, windows or wsl: whose driver numbers count."""
        if self.driver_platform:
            return self.driver_platform
        return "windows" if self.platform.startswith("windows") else "linux"


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


def within(version: str, range_: str, key: Callable[[str], Any] = dotted) -> bool:
    """Whether a version lies in a range such as ">=9.11,<10" (all parts must hold), or is listed: "==2.0.0|==2.0.1".

    Raises ValueError for a range that cannot be read.
    """
    return any(_all_hold(version, part, key) for part in range_.split("|"))


def _all_hold(version: str, range_: str, key: Callable[[str], Any]) -> bool:
    for part in range_.split(","):
        match = re.fullmatch(r"\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*", part)
        if match is None:
            raise ValueError(f"not a version range: {range_!r}")
        compare = _OPERATORS[match.group(1)]
        if not compare(key(version), key(match.group(2))):
            return False
    return True


def applies(trap: Trap, build: TensorFlowRelease, situation: Situation, tables: Tables) -> bool:
    """Whether every condition of a trap is known to hold."""
    when: Mapping[str, Any] = trap.data["when"]
    return all(_holds(name, wanted, build, situation, tables) for name, wanted in when.items())


def concerns(trap: Trap, build: TensorFlowRelease) -> bool:
    """Whether a trap is about this build at all, whatever the machine."""
    when: Mapping[str, Any] = trap.data["when"]
    own = ("packages", "versions", "platforms")
    return all(_of_build(name, when[name], build) for name in own if name in when)


def traps_of(
    build: TensorFlowRelease, situation: Situation, tables: Tables, aspect: str | None = None
) -> tuple[Trap, ...]:
    """The traps that this build meets in this situation, in the order of the table; of one aspect, or all."""
    return tuple(
        trap
        for trap in tables.traps()
        if (aspect is None or trap.data["aspect"] == aspect)
        and concerns(trap, build)
        and applies(trap, build, situation, tables)
    )


def _of_build(name: str, wanted: Any, build: TensorFlowRelease) -> bool:
    if name == "packages":
        return build.package in list(wanted)
    if name == "platforms":
        return build.platform in list(wanted)
    return within(build.version, wanted, order)


def _holds(name: str, wanted: Any, build: TensorFlowRelease, situation: Situation, tables: Tables) -> bool:
    match name:
        case "packages" | "platforms" | "versions":
            return _of_build(name, wanted, build)
        case "route":
            return situation.route == str(wanted)
        case "python":
            return situation.python is not None and within(situation.python, wanted)
        case "capability":
            return any(within(capability, wanted) for capability in situation.capabilities)
        case "cuda":
            return situation.cuda is not None and within(situation.cuda, wanted)
        case "cudnn":
            return situation.cudnn is not None and within(situation.cudnn, wanted)
        case "driver_cuda":
            offered = None if situation.driver is None else tables.driver_cuda(situation.driver, situation.side)
            return offered is not None and within(offered, wanted)
        case _:
            raise ValueError(f"a trap with an unknown condition: {name!r}")
