"""All facts about one machine or one report, by type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeVar

from doctor import lazy
from doctor.facts.base import DECIDING, DECIDING_OF_DRIVER, Absent, Fact, Unreadable
from doctor.facts.hardware import DriverCuda, DriverVersion, Gpu
from doctor.facts.observations import GpuRegistered, Symptom
from doctor.facts.software import CudaVersion, CudnnVersion, Glibc, PythonVersion, TensorFlowVersion
from doctor.values import dataclass, field, replace

_VERSIONED = (TensorFlowVersion, PythonVersion, CudaVersion, CudnnVersion, DriverVersion, DriverCuda, Glibc)
_VERSION = lazy.compile(r"\s{0,9}[rRvV]?\d{1,9}(?!\d)")
_CAPABILITY = lazy.compile(r"\d{1,3}\.\d{1,3}[af]?")


def _checked(fact: Fact) -> Fact | None:
    """Return the fact as rules may use it: unchanged, or without an invalid compute capability. Return None
    if its version does not begin with a number."""
    if isinstance(fact, _VERSIONED):
        return fact if _VERSION.match(fact.version) else None
    if (
        isinstance(fact, Gpu)
        and fact.compute_capability
        and not _CAPABILITY.fullmatch(fact.compute_capability)
    ):
        return replace(fact, compute_capability=None)
    return fact


F = TypeVar("F", bound=Fact)


@dataclass(frozen=True)
class Facts:
    """An immutable collection of facts about one machine or one report.

    items: every fact; the look-ups below leave out those with an invalid version. kind: "machine" or
    "report". name: the name of the report or the machine. lines: the number of lines of a report, 0 for a
    machine.
    """

    items: tuple[Fact, ...]
    kind: str = "report"
    name: str = "-"
    lines: int = 0
    _by_type: dict[type[Fact], list[Fact]] = field(init=False, repr=False, compare=False)
    _symptoms: dict[str, list[Symptom]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_type: dict[type[Fact], list[Fact]] = defaultdict(list)
        symptoms: dict[str, list[Symptom]] = defaultdict(list)
        for fact in map(_checked, self.items):
            if fact is None:
                continue
            by_type[type(fact)].append(fact)
            if isinstance(fact, Symptom):
                symptoms[fact.kind].append(fact)
        object.__setattr__(self, "_by_type", dict(by_type))
        object.__setattr__(self, "_symptoms", dict(symptoms))

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.items)

    def of(self, kind: type[F]) -> list[F]:
        """Return all facts of one type, in the order in which they were seen."""
        return self._by_type.get(kind, [])  # type: ignore[return-value]

    def first(self, kind: type[F]) -> F | None:
        """Return the first fact of one type, or None."""
        found = self.of(kind)
        return found[0] if found else None

    def symptoms(self, *kinds: str) -> list[Symptom]:
        """Return all symptoms of these kinds, or of every kind if none is given."""
        if not kinds:
            return [s for group in self._symptoms.values() for s in group]
        if len(kinds) == 1:
            return list(self._symptoms.get(kinds[0], ()))
        if self._symptoms.keys().isdisjoint(kinds):  # the most frequent case
            return []
        return [s for kind in kinds if kind in self._symptoms for s in self._symptoms[kind]]

    def has(self, *kinds: str) -> bool:
        """Whether a symptom of one of these kinds was seen."""
        return not self._symptoms.keys().isdisjoint(kinds)

    def absent(self, what: str) -> Absent | None:
        """Return the record that `what` was searched for and is absent, or None if there is no such
        record."""
        return next((a for a in self.of(Absent) if a.what == what), None)

    @property
    def unexamined(self) -> list[Unreadable]:
        """The decisive parts that could not be examined; empty if TensorFlow itself created a GPU device."""
        if any(made.count for made in self.of(GpuRegistered)):
            return []
        decides = DECIDING if self.has("cuda-devices") else (*DECIDING, *DECIDING_OF_DRIVER)
        return [fact for fact in self.of(Unreadable) if fact.what in decides]

    def plus(self, more: Iterable[Fact]) -> Facts:
        """Return a new collection with more facts at the end."""
        return Facts((*self.items, *more), self.kind, self.name, self.lines)
