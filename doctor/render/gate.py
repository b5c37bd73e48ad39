"""Writes the answer of `plan --check` about files: as text (one line for each file), JSON, SARIF for code
scanning, or GitHub annotations.

Sources: SARIF 2.1.0 (OASIS); GitHub, "Workflow commands for GitHub Actions" and "SARIF support for code
scanning".
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from doctor import __version__
from doctor.facts import Source
from doctor.findings import Finding
from doctor.plan.gate import Gate, Judged, edits_of
from doctor.printable import as_json, line
from doctor.redact import Redactor
from doctor.render import plans
from doctor.render.document import finding_document

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_EXIT_CODES = {0: "ok", 1: "errors", 3: "something could not be examined"}


def rendered(gate: Gate, form: str, *, shared: bool = True) -> str:
    """Return the answer as json, sarif or github, or for any other `form` as text. shared: redact names in
    text too. The other formats are always redacted."""
    if form == "json":
        return as_json(Redactor.of(os.environ).tree(document(gate))) + "\n"
    if form == "sarif":
        log = Redactor.of(os.environ).tree(sarif(gate))
        return as_json({"$schema": SCHEMA, **log}, indent=1) + "\n"
    rows = workflow_commands(gate) if form == "github" else summaries(gate)
    return plans.hidden("".join(f"{row}\n" for row in rows), shared or form == "github")


def summaries(gate: Gate) -> list[str]:
    """Return one line for each file; it begins with the file's name if there are several files."""
    several = len(gate.files) > 1
    return [line((f"{judged.name}: " if several else "") + _summary(judged, gate)) for judged in gate.files]


def _summary(judged: Judged, gate: Gate) -> str:
    if judged.result == "no-tensorflow" and (gate.passes_over or len(gate.files) > 1):
        return "skipped: no line requests TensorFlow"
    return plans.gate_line(judged.outcome, image=judged.image)


def document(gate: Gate) -> dict[str, Any]:
    """The JSON of `plan`, with `files`: the result for each file."""
    files = [
        {
            "name": judged.name,
            "result": judged.result,
            "summary": _summary(judged, gate),
            "findings": [finding_document(finding) for finding in judged.outcome.findings],
        }
        for judged in gate.files
    ]
    return {**plans.document(gate.whole), "files": files}


def _places(finding: Finding, judged: Judged) -> list[Source]:
    """The evidence of a finding that is in the judged file or in a file that it includes."""
    return [source for source in finding.evidence if source.line and source.where in judged.files]


def _marked_findings(gate: Gate) -> list[tuple[Finding, Judged]]:
    """Return the findings to mark in a code review, each with its file. If files without TensorFlow are
    skipped, the finding that says so is left out."""
    skips = gate.passes_over or len(gate.files) > 1
    return [
        (finding, judged)
        for judged in gate.files
        for finding in judged.outcome.findings
        if not (skips and finding.code == "tf-not-installed")
    ]


def workflow_commands(gate: Gate) -> list[str]:
    """Return GitHub's workflow commands, followed by the summary lines of the text format.

    Nothing in a file can become a command: characters that end a value are escaped in it, and no other line
    starts with two colons or contains `##[`, the start of a command in the older syntax.
    """
    rows: list[str] = []
    for finding, judged in _marked_findings(gate):
        first = next(iter(_places(finding, judged)), None)
        name, number = (first.where, first.line) if first else (judged.name, None)
        values = {
            "file": _relative(name),
            "line": str(number or ""),
            "title": f"{finding.title} [{finding.code}]",
        }
        given = ",".join(f"{key}={_value(value)}" for key, value in values.items() if value)
        steps = [f"Cure: {cure}" for cure in plans.cures(finding, judged.outcome, shown=False)]
        message = "\n".join((finding.explanation, *steps))
        rows.append(f"::{_COMMANDS[finding.severity]} {given}::{_data(message)}")
    return rows + [f"tfgpu-doctor: {row}".replace("##[", "## [") for row in summaries(gate)]


def _data(text: str) -> str:
    """The text, escaped as the message of a workflow command."""
    safe = "\n".join(line(part) for part in text.splitlines())
    return safe.replace("##[", "## [").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    """The text, escaped as the value of a property of a workflow command."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(gate: Gate) -> dict[str, Any]:
    """A SARIF 2.1.0 log with one run, without the URL of the SARIF schema."""
    from doctor.rules import PLACES, rule_of

    found = _marked_findings(gate)
    codes = list(dict.fromkeys(finding.code for finding, _ in found))
    rules = []
    for code in codes:
        if code in PLACES:
            rule = rule_of(code)
            rules.append(
                {
                    "id": code,
                    "shortDescription": {"text": rule.title},
                    "fullDescription": {"text": rule.title},
                    "help": {"text": rule.page, "markdown": rule.page},
                }
            )
        else:
            rules.append({"id": code, "shortDescription": {"text": code}})
    return {
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "tfgpu-doctor", "version": __version__, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "exitCode": gate.exit_code,
                        "exitCodeDescription": _EXIT_CODES[gate.exit_code],
                    }
                ],
                "results": [_result(finding, judged, codes) for finding, judged in found],
            }
        ],
    }


def _result(finding: Finding, judged: Judged, codes: list[str]) -> dict[str, Any]:
    places = _places(finding, judged)
    steps = [f"Cure: {cure}." for cure in plans.cures(finding, judged.outcome, shown=False)]
    words = " ".join((f"{finding.title}. {finding.explanation}", *steps))
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _LEVELS[finding.severity],
        "message": {"text": line(words)},
    }
    if places:
        result["locations"] = [_location(places[0])]
    elif judged.name:
        result["locations"] = [_location(Source(judged.name))]
    if places[1:]:
        result["relatedLocations"] = [_location(place) for place in places[1:]]
    print_of = "\n".join((finding.code, places[0].text if places else finding.title))
    result["partialFingerprints"] = {
        "codeAndLine/v1": hashlib.sha256(print_of.encode("utf-8", "replace")).hexdigest()
    }
    edits = edits_of(finding)
    if edits:
        changes = [
            {
                "artifactLocation": {"uri": _uri(edit.file)},
                "replacements": [
                    {"deletedRegion": {"startLine": edit.line}, "insertedContent": {"text": edit.new}}
                ],
            }
            for edit in edits
        ]
        result["fixes"] = [{"description": {"text": "the lines that fix it"}, "artifactChanges": changes}]
    return result


def _location(place: Source) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.where)}}
    if place.line:
        physical["region"] = {
            "startLine": place.line,
            **({"snippet": {"text": place.text}} if place.text else {}),
        }
    return {"physicalLocation": physical}


def _relative(name: str) -> str:
    """A file's path relative to the current folder, so that a code review can link to the file. A file
    outside the current folder keeps its absolute path."""
    path = Path(name)
    if path.is_absolute():
        try:
            return path.relative_to(Path.cwd()).as_posix()
        except ValueError:
            return path.as_posix()
    return re.sub(r"^\./", "", path.as_posix())


def _uri(name: str) -> str:
    """A file name as a relative reference or a URI."""
    path = _relative(name)
    return quote(path) if not Path(path).is_absolute() else Path(path).as_uri()
