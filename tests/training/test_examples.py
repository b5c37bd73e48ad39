"""Tests that every example for training a model or fitting weights has a label that exists."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from doctor.rules import ORDER
from tests.conftest import ROOT

KINDS = (
    *("asks", "cause", "states", "works", "elsewhere", "other", "no device", "low use", "import"),
    *("installation", "memory", "crash", "slow", "wrong numbers"),
)


def rows(name: str) -> list[dict[str, Any]]:
    with open(ROOT / "scripts/training" / name, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_examples_are_labelled_with_codes() -> None:
    for name in ("sentences.jsonl", "reports.jsonl", "stated.jsonl"):
        wrong = [
            row
            for row in rows(name)
            if row["label"] not in ORDER or not set(row.get("accept", ())) <= set(ORDER)
        ]
        assert not wrong, (name, wrong[:3])


def test_report_ids_are_unique() -> None:
    for file in ("reports.jsonl", "stated.jsonl"):
        twice = [name for name, count in Counter(row["id"] for row in rows(file)).items() if count > 1]
        assert not twice, file


def test_sentences_and_lines_have_the_kinds_that_the_models_know() -> None:
    assert {row["label"] for row in rows("kinds.jsonl")} == set(KINDS)
    assert {row["by"] for row in rows("lines.jsonl")} == {"person", "program", "form"}
