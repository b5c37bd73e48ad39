"""The answer of one node: the report of its `check`, or the reason why there is none.

A report comes from another machine. It is accepted only with a known schema, codes of known rules, and values
that are text. Its commands are never shown; the steps are derived on this machine (`doctor.fleet.cures`).
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from doctor.facts import DECIDING, DECIDING_OF_DRIVER
from doctor.findings import SEVERITIES
from doctor.fleet.values import Values, values_of
from doctor.printable import as_json
from doctor.rules import PLACES
from doctor.values import dataclass

LARGEST = 32 << 20
"""The maximum size of one report, in bytes."""
LONGEST_NAME = 200


class NotReportError(ValueError):
    """The text is not a report of `check`; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one node.

    status: answered, unreachable, timed-out or failed. reason: why there is no report, "" if there is one.
    verdict: the code of the first finding. codes: the codes of findings of severity error or warning. error:
    whether a finding has severity error. unexamined: decisive parts that could not be examined on the node.
    values: the values to compare. packed: the whole report, compressed (`report` unpacks it); b"" if not
    kept.
    """

    name: str
    status: str
    reason: str = ""
    verdict: str = ""
    codes: tuple[str, ...] = ()
    error: bool = False
    unexamined: tuple[str, ...] = ()
    values: Values = Values({}, {})
    packed: bytes = b""

    @property
    def text(self) -> str:
        """The report as JSON that is safe to show on a terminal; "null" if there is none."""
        return zlib.decompress(self.packed).decode() if self.packed else "null"

    @property
    def report(self) -> dict[str, Any] | None:
        """The report as the node sent it, or None if there is none or it was not kept."""
        document: dict[str, Any] | None = json.loads(self.text)
        return document


def unanswered(name: str, status: str, reason: str) -> Answer:
    """Return the answer for a node without a report. reason: a string, which is reduced to one line."""
    return Answer(name[:LONGEST_NAME], status, " ".join(reason.split())[:400] or "the reason is not known")


def parsed(text: bytes) -> dict[str, Any]:
    """Parse a JSON text, and return the report in it. Raises NotReportError."""
    if len(text) > LARGEST:
        raise NotReportError(f"it is larger than {LARGEST >> 20} MiB")
    try:
        document = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise NotReportError("it is not JSON") from error
    if not isinstance(document, dict) or "findings" not in document:
        raise NotReportError("it is not a report of `check --format json`")
    if document.get("schema") != 1:
        raise NotReportError(
            f"its schema is {str(document.get('schema'))[:20]!r};"
            " this version of tfgpu-doctor reads only schema 1"
        )
    return document


def answered(name: str, document: dict[str, Any], *, keep: bool = True) -> Answer:
    """Return the answer of a node that sent a report. keep: whether to keep the whole report. Raises
    NotReportError if the document is not a valid report."""
    findings = document.get("findings")
    if not isinstance(findings, list) or not findings:
        raise NotReportError("it has no findings")
    rows = []
    for finding in findings[:200]:
        finding = finding if isinstance(finding, dict) else {}
        code, severity = finding.get("code"), finding.get("severity")
        if not isinstance(code, str) or code not in PLACES or severity not in SEVERITIES:
            raise NotReportError(f"it has a finding that this version does not know: {str(code)[:60]!r}")
        rows.append((code, severity))
    return Answer(
        name[:LONGEST_NAME],
        "answered",
        verdict=rows[0][0],
        codes=tuple(code for code, severity in rows if severity != "info"),
        error=any(severity == "error" for _, severity in rows),
        unexamined=_unexamined(document),
        values=values_of(document),
        packed=zlib.compress(as_json(document).encode(), 1) if keep else b"",
    )


def _unexamined(document: dict[str, Any]) -> tuple[str, ...]:
    """Return the decisive parts that could not be examined (`Facts.unexamined`). Raises NotReportError."""
    record = document.get("record")
    facts = record.get("facts") if isinstance(record, dict) else None
    deciding = {*DECIDING, *DECIDING_OF_DRIVER}
    if not any(
        isinstance(fact, dict) and fact.get("fact") == "Unreadable" and fact.get("what") in deciding
        for fact in (facts if isinstance(facts, list) else ())
    ):
        return ()
    from doctor.probe.record import NotRecordError, from_record

    try:
        return tuple(dict.fromkeys(fact.what for fact in from_record(record).unexamined))
    except NotRecordError as error:
        raise NotReportError(f"its record cannot be read: {error}") from error
