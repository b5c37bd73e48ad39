"""Tests reports that state an environment, written by two authors who knew neither the judge nor each other.

written.jsonl: {"id", "text", "label", "accept" (codes that are equally right), "lang"}. Of its 160 reports,
38 only ask about versions that work together. They were labelled before the judge was tried on them, and it
was right about 112 of them then. The limits keep the results from becoming worse than they are now.
"""

from __future__ import annotations

import json
from pathlib import Path

from doctor import api

REPORTS = [
    json.loads(line)
    for line in (Path(__file__).parent / "written.jsonl").read_text(encoding="utf-8").splitlines()
]
NO_FAULT = ("healthy", "benign-messages")


def test_written_reports_get_their_cause() -> None:
    verdicts = [(report, api.explain(report["text"]).verdict) for report in REPORTS]
    right = [report for report, verdict in verdicts if verdict.code in (report["label"], *report["accept"])]
    sure = [(report, verdict) for report, verdict in verdicts if verdict.confidence != "possible"]
    wrong = [report["id"] for report, verdict in sure if report not in right]
    assert len(right) >= 125
    assert len(sure) >= 65
    assert len(wrong) <= 4, wrong


def test_a_fault_is_no_fit_and_a_fit_no_fault() -> None:
    called_fit, called_fault = [], []
    for report in REPORTS:
        verdict = api.explain(report["text"]).verdict
        if report["label"] in NO_FAULT:
            called_fault += [report["id"]] if verdict.severity == "error" else []
        elif verdict.code in NO_FAULT:
            called_fit.append(report["id"])
    assert len(called_fit) <= 2, called_fit
    assert len(called_fault) <= 5, called_fault
