"""Lists the changes since an earlier run: nodes that are new or missing, and nodes with another verdict or
other values of the compared facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.fleet.matters import kind_of
from doctor.values import dataclass

if TYPE_CHECKING:
    from doctor.fleet.answers import Answer


@dataclass(frozen=True, slots=True)
class Change:
    """One change. what: status, verdict or the name of a fact. before, now: its value in the earlier run and
    in this one; None if not known."""

    what: str
    before: str | None
    now: str | None
    nodes: tuple[str, ...]


def changes(before: Sequence[Answer], now: Sequence[Answer]) -> tuple[Change, ...]:
    """Return all changes. Nodes with the same change share one entry. Changes of many nodes come first, and
    status and verdict before facts."""
    found: dict[tuple[str, str | None, str | None], list[str]] = {}
    then = {answer.name: answer for answer in before}
    for answer in now:
        for change in _of_node(then.pop(answer.name, None), answer):
            found.setdefault(change, []).append(answer.name)
    for name in then:
        found.setdefault(("status", then[name].status, "not among the nodes"), []).append(name)
    order = {"status": 0, "verdict": 1}
    ordered = sorted(found.items(), key=lambda item: (order.get(item[0][0], 2), -len(item[1])))
    return tuple(Change(*what, tuple(nodes)) for what, nodes in ordered)


def _of_node(before: Answer | None, now: Answer) -> Iterator[tuple[str, str | None, str | None]]:
    if before is None:
        yield "status", "not among the nodes", now.status
        return
    if before.status != now.status:
        yield "status", before.status, now.status
    if not before.verdict or not now.verdict:
        return
    if before.verdict != now.verdict:
        yield "verdict", before.verdict, now.verdict
    first, second = before.values.facts, now.values.facts
    for name in {**first, **second}:
        needs = kind_of(name).needs
        if first.get(name) != second.get(name) and (not needs or (needs in first and needs in second)):
            yield name, first.get(name), second.get(name)
