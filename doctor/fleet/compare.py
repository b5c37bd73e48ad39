"""Compares nodes: groups equal ones, and lists each fact in which they differ. The run time grows with the
number of nodes times the number of facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.fleet.matters import grouped_by, judged, kind_of, place
from doctor.values import dataclass

if TYPE_CHECKING:
    from doctor.fleet.answers import Answer


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact in which nodes differ.

    most: the value that most nodes have; others: the values of the other nodes; None means that a node's
    report has no value. matters, why: see `doctor.fleet.matters`.
    """

    fact: str
    most: str | None
    others: dict[str, str | None]
    matters: bool
    why: str


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that have the same findings and agree in every fact whose difference matters.

    facts: the values that all these nodes share. members: their answers, in the order of the nodes.
    """

    members: tuple[Answer, ...]
    facts: dict[str, str]

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return tuple(member.name for member in self.members)

    @property
    def verdict(self) -> str:
        """The code of the verdict, which is the same for all nodes of the group."""
        return self.members[0].verdict

    @property
    def error(self) -> bool:
        """Whether the nodes of the group have an error."""
        return self.members[0].error


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of all nodes: groups of the nodes that answered, the largest first, and the differences,
    with those that matter first."""

    answers: tuple[Answer, ...]
    groups: tuple[Group, ...]
    differences: tuple[Difference, ...]

    @property
    def silent(self) -> tuple[Answer, ...]:
        """The answers of the nodes that could not be asked."""
        return tuple(answer for answer in self.answers if answer.status != "answered")

    @property
    def exit_code(self) -> int:
        """1 if a node has an error; otherwise 3 if a node could not be asked or examined; otherwise 0."""
        if any(answer.error for answer in self.answers):
            return 1
        return 3 if self.incomplete else 0

    @property
    def incomplete(self) -> bool:
        """Whether any node could not be queried, or some part of a node that affects the verdict could not
        be examined."""
        return any(answer.status != "answered" or answer.unexamined for answer in self.answers)


def compared(answers: Sequence[Answer]) -> Comparison:
    """Compare the answers of nodes. No two nodes may have the same name."""
    there = [answer for answer in answers if answer.status == "answered"]
    names: dict[str, None] = {}
    for answer in there:
        names.update(dict.fromkeys(answer.values.facts))
    found = [difference for name in names if (difference := _difference(name, there)) is not None]
    found.sort(key=lambda d: (not d.matters, place(d.fact), d.fact))
    return Comparison(tuple(answers), _groups(there, [d.fact for d in found if d.matters]), tuple(found))


def _difference(name: str, there: Sequence[Answer]) -> Difference | None:
    needs = kind_of(name).needs
    asked = [answer for answer in there if not needs or needs in answer.values.facts]
    counts = Counter(answer.values.facts.get(name) for answer in asked)
    if len(counts) < 2:
        return None
    sound = Counter(answer.values.facts.get(name) for answer in asked if not answer.error)
    most = max(counts, key=lambda value: (counts[value], sound[value]))
    others = {a.name: a.values.facts.get(name) for a in asked if a.values.facts.get(name) != most}
    one_each = {a.values.facts.get(name): a for a in reversed(asked)}
    # one node with a part that does not fit, or with another verdict, decides whether the difference matters,
    # so no node is left out
    matters, why = judged(name, one_each[most], (a for a in asked if a.values.facts.get(name) != most))
    return Difference(name, most, others, matters, why)


def _groups(there: Sequence[Answer], deciding: Sequence[str]) -> tuple[Group, ...]:
    groups: dict[tuple[object, ...], list[Answer]] = {}
    for answer in there:
        key = (answer.verdict, answer.codes, *(grouped_by(name, answer) for name in deciding))
        groups.setdefault(key, []).append(answer)
    ordered = sorted(groups.values(), key=lambda members: -len(members))
    return tuple(Group(tuple(members), _common(members)) for members in ordered)


def _common(members: Sequence[Answer]) -> dict[str, str]:
    """Return the values that all these nodes share."""
    left = dict(members[0].values.facts)
    for member in members[1:]:
        facts = member.values.facts
        for name in [name for name, value in left.items() if facts.get(name) != value]:
            del left[name]
    return left
