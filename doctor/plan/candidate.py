"""One release, installed by one route (such as pip, conda or a container), and the cost of what must
change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.compat import Answer, Judgement, Pin, Situation
from doctor.compat.workarounds import Link, Workarounds
from doctor.remedies.installation import Installation
from doctor.tables import DriverFloor, TensorFlowRelease
from doctor.values import cached_property, dataclass, field

ROUTES = ("pip-and-cuda", "pip-system-cuda", "conda", "docker", "wsl2", "cpu")
"""The routes, in the order in which equally good plans are preferred."""

# The cost of each change; the plan with the lowest sum comes first. A link inside the new environment costs
# least, giving up a requested version costs more, and a new driver is the last resort that keeps the GPU.
COSTS = {
    "slow": 1.0,
    "links": 0.5,
    "by name": 0.6,
    "another python": 1.0,
    "conda": 1.2,
    "unknown": 3.0,
    "python": 4.0,
    "cuda": 4.0,
    "cudnn": 4.0,
    "tensorflow": 6.0,
    "system": 1.0,
    "container": 2.5,
    "driver": 12.0,
    "cpu": 100.0,
}
WSL_PYTHON = "3.12"
"""The Python version in Ubuntu 24.04, the system that the WSL2 plans install (systems.json)."""
ANOTHER_MINOR = 1.0
"""Releases with another minor version than the requested one have at least this distance from it."""


@dataclass(frozen=True)
class Candidate:
    """One release, installed by one route. given_up: the requested versions and the parts of the machine that
    have to change (python, driver, cuda, cudnn, tensorflow, system, container); empty if nothing has to
    change. verified: whether the image's registry or the conda channel was checked when the table was made.
    nvidia: the table row of NVIDIA's own build, if this is one."""

    build: TensorFlowRelease
    route: str
    python: str | None
    situation: Situation
    judgement: Judgement
    workarounds: Workarounds = field(default_factory=Workarounds)
    pins: tuple[Pin, ...] = ()
    given_up: frozenset[str] = frozenset()
    driver: DriverFloor | None = None
    distance: float = 0.0
    another_python: bool = False
    image: str | None = None
    recipe: tuple[tuple[str, str], ...] = ()
    verified: bool = True
    nvidia: Mapping[str, Any] | None = None

    @cached_property
    def installation(self) -> Installation:
        """The requirements that pip installs, and the links to make afterwards."""
        of_pip = self.situation.route == "pip-and-cuda" and self.route != "cpu"
        return Installation(
            self.build, of_pip and self.workarounds.packages is None, self.pins, self.workarounds.links
        )

    @property
    def links(self) -> tuple[Link, ...]:
        """The links that the candidate needs."""
        return self.installation.links

    @property
    def extra(self) -> bool:
        """Whether TensorFlow's own extra and-cuda is installed."""
        return self.installation.extra

    @cached_property
    def cost(self) -> float:
        """How much has to change: the sum of the costs of all changes (see COSTS)."""
        cost = sum(COSTS[name] for name in self.given_up) + self.distance
        if "tensorflow" in self.given_up and self.distance < ANOTHER_MINOR:
            cost -= COSTS["tensorflow"] - 1.0  # another patch of the same release
        verdicts = {v for aspect, v in self.judgement.verdicts if aspect not in ("libraries", "driver")}
        cost += COSTS["slow"] if "slow" in verdicts else 0
        cost += COSTS["unknown"] if "unknown" in verdicts else 0
        cost += COSTS["links"] if self.links else 0
        cost += COSTS["by name"] if self.workarounds.packages is not None else 0
        cost += COSTS["another python"] if self.another_python and "python" not in self.given_up else 0
        cost += COSTS[self.route] if self.route in ("conda", "cpu") else 0
        return cost


@dataclass(frozen=True)
class Refusal:
    """Why a release does not work on the machine as it is: one answer for each aspect that does not fit."""

    build: TensorFlowRelease
    route: str
    answers: tuple[tuple[str, Answer], ...]
