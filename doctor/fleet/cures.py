"""Derives the steps for a group of nodes from the facts of one of its nodes. It never copies steps from a
report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.diagnose import diagnose
from doctor.fleet.compare import Group
from doctor.probe.record import NotRecordError, from_record
from doctor.tables import Tables
from doctor.values import dataclass

if TYPE_CHECKING:
    from doctor.findings import Finding

MOST = 50
"""At most this many groups get steps, because a person acts on the first ones."""


@dataclass(frozen=True, slots=True)
class Cure:
    """The finding behind a group's verdict, with its steps. finding: None if it cannot be derived; `note`
    then says why."""

    finding: Finding | None
    note: str = ""


def cure(group: Group) -> Cure:
    """Return the finding behind a group's verdict. Raises DefectError if a rule fails."""
    report = next((report for member in group.members if (report := member.report) is not None), None)
    if report is None:
        return Cure(
            None, "run `tfgpu-doctor explain FILE` with the report of one of these nodes to see what to do"
        )
    try:
        found = diagnose(from_record(report.get("record")), Tables.bundled())
    except NotRecordError:
        return Cure(
            None, "the reports from these nodes do not contain the facts from which the steps would follow"
        )
    if found.verdict.code != group.verdict:
        return Cure(
            None,
            f"the facts in the report lead to the verdict {found.verdict.code}: the report comes from"
            " another version, or was changed",
        )
    return Cure(found.verdict)
