"""The JSON document of `fleet`, and the result that every format renders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from doctor import __version__
from doctor.fleet.compare import Comparison, Difference, Group
from doctor.fleet.cures import MOST, Cure, cure
from doctor.printable import as_json
from doctor.redact import Redactor

if TYPE_CHECKING:
    from doctor.fleet.distributed import Agreement
    from doctor.fleet.drift import Change


class Result(NamedTuple):
    """The result of a run of `fleet`.

    changes: those since an earlier run, None if not requested. agreement: whether the nodes agree on what a
    distributed job needs, None if not requested. interrupted: whether the run ended before all nodes
    answered.
    """

    comparison: Comparison
    changes: tuple[Change, ...] | None = None
    agreement: tuple[Agreement, ...] | None = None
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """1 if the nodes disagree on what a distributed job needs, otherwise the exit code of the
        comparison."""
        if any(one.agrees is False for one in self.agreement or ()):
            return 1
        return self.comparison.exit_code


# --- JSON


def document(result: Result) -> Iterator[str]:
    """Yield the JSON of schema 1 in parts. Each node is on a separate line, so that a program can write and
    read a large document line by line."""
    from doctor.tables import Tables

    hide = Redactor.of(os.environ)
    comparison = result.comparison
    tool = {"name": "tfgpu-doctor", "version": __version__, "tables": Tables.bundled().date}
    rest: dict[str, Any] = {
        "groups": [_group_document(group, cured) for group, cured in fixes(comparison)],
        "differences": [difference_document(difference) for difference in comparison.differences],
    }
    if result.changes is not None:
        rest["changes"] = [
            {"what": c.what, "before": c.before, "now": c.now, "nodes": list(c.nodes)} for c in result.changes
        ]
    if result.agreement is not None:
        rest["distributed"] = [
            {
                "question": a.question,
                "agrees": a.agrees,
                "why": hide(a.why),
                "nodes": {n: hide(w) for n, w in a.nodes.items()},
                "do": a.do or None,
            }
            for a in result.agreement
        ]
    # evaluated before the first output, because it may fail
    after = "".join(f', "{key}": {as_json(value)}' for key, value in rest.items())
    yield f'{{"schema": 1, "tool": {as_json(tool)}, "nodes": [\n'
    for number, answer in enumerate(comparison.answers):
        entry = {
            "name": answer.name,
            "status": answer.status,
            "reason": hide(answer.reason) if answer.reason else None,
            "verdict": answer.verdict or None,
        }
        yield f'{"," + chr(10) if number else ""}{as_json(entry)[:-1]}, "report": {answer.text}}}'
    yield f"\n]{after}}}\n"


def difference_document(difference: Difference) -> dict[str, Any]:
    """Return a difference as plain data."""
    return {
        "fact": difference.fact,
        "most": difference.most,
        "others": difference.others,
        "matters": difference.matters,
        "why": difference.why,
    }


def _group_document(group: Group, cured: Cure) -> dict[str, Any]:
    from doctor.render.document import step_document

    finding = cured.finding
    return {
        "nodes": list(group.nodes),
        "verdict": group.verdict,
        "title": finding.title if finding else None,
        "facts": group.facts,
        "prescription": [step_document(step) for step in finding.prescription] if finding else [],
    }


def fixes(comparison: Comparison) -> Iterator[tuple[Group, Cure]]:
    """Yield each group with the cure for its nodes."""
    for number, group in enumerate(comparison.groups):
        late = Cure(None, f"steps are derived only for the first {MOST} groups")
        yield group, cure(group) if number < MOST else late
