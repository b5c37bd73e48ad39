"""The verdict on a text stays the same however the text was changed on its way: at most 3 % of the cases get
another one."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import pytest

from doctor.diagnose import diagnose
from doctor.logs import read
from doctor.tables import Tables
from tests.logs.mutations import MUTATIONS, changed
from tests.sampling import each

ROOT = Path(__file__).resolve().parents[2]
MOST = 0.03
FEW = 100
"""Cases of a kind below which a few are more than its share."""
ENOUGH = 200
"""Cases of a kind with which one more or less says little; where every fourth text gives fewer, all are
taken."""


@lru_cache(maxsize=1)
def logs() -> list[str]:
    """One recorded log of each case of the catalogue, of one release after the other."""
    recorded = defaultdict(list)
    for path in sorted((ROOT / "tests/data/logs").rglob("*.log")):
        recorded[path.stem].append(path)
    chosen = (paths[i * 7 % len(paths)] for i, (_, paths) in enumerate(sorted(recorded.items())))
    return [path.read_text(encoding="utf-8", errors="replace") for path in chosen]


@lru_cache(maxsize=1)
def reports() -> list[str]:
    """What people reported, without the latest reports, which are only scored: with them 11 of 297 texts get
    another verdict by synonyms."""
    with open(ROOT / "scripts/training/reports.jsonl", encoding="utf-8") as lines:
        several = [json.loads(line) for line in lines]
    return [report["text"] for report in several if "part" not in report]


@lru_cache(maxsize=None)
def verdict(text: str) -> str:
    return diagnose(read(text.encode()), Tables.bundled()).verdict.code


def compared(name: str, texts: Iterable[str]) -> tuple[int, list[str]]:
    """How many of the texts a mutation changes, and those that get another verdict then."""
    tried, other = 0, []
    for text in texts:
        mutant = changed(name, text)
        if mutant == text:
            continue
        tried += 1
        was, now = verdict(text), diagnose(read(mutant.encode()), Tables.bundled()).verdict.code
        if now != was:
            other.append(f"{name}: {was} -> {now}: {text[:80]!r}")
    return tried, other


def test_verdict_stays_whatever_happened_to_the_text() -> None:
    cases = [*logs()[::13], *reports()[::111]]
    tried, other = 0, []
    for i, name in enumerate(MUTATIONS):
        n, changes = compared(name, cases[i % 9 :: 9])
        tried += n
        other += changes
    assert tried > 100
    assert len(other) <= MOST * tried, "\n".join(other)


@pytest.mark.slow
@pytest.mark.parametrize("texts", [logs, reports], ids=["logs", "reports"])
def test_no_kind_of_mutation_changes_more_than_a_few_verdicts(texts: Callable[[], list[str]]) -> None:
    few_tried, few_other, too_many = 0, [], []
    for name in MUTATIONS:
        tried, other = compared(name, texts()[2::4])
        if tried < ENOUGH:
            tried, other = compared(name, texts())
        if tried < FEW:
            few_tried += tried
            few_other += other
        elif len(other) > MOST * tried:
            too_many.append(f"{name}: {len(other)} of {tried}\n  " + "\n  ".join(other))
    assert not too_many, "\n".join(too_many)
    assert len(few_other) <= MOST * few_tried, "\n".join(few_other)


@each("name", MUTATIONS)
def test_a_mutation_changes_a_text_always_in_the_same_way(name: str) -> None:
    cases = [*logs()[::8], *reports()[::20]]
    text = next((t for t in cases if changed(name, t) != t), None)
    assert text is not None, "it changes none of the cases"
    assert changed(name, text) == changed(name, text)
