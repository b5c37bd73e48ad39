"""Tests that the verdict on a text stays the same when the text is changed in ways that keep its meaning. A
verdict that is at least likely stays the same in 99 % of the cases. A verdict that is only possible may
change in 2 % of all cases, and in 6 % of the cases with one mutation, because a synonym may change how a
vague sentence is read."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

import pytest

from doctor.diagnose import diagnose
from doctor.logs import read
from doctor.tables import Tables
from tests.conftest import ROOT
from tests.logs.mutations import MUTATIONS, changed
from tests.sampling import each

SURE = 0.01
MOST = 0.02
OF_ONE_KIND = 0.06
FEW = 100
"""If there are fewer cases of a kind than this, a few changed verdicts exceed the limit."""
ENOUGH = 200
"""With this many cases of a kind, a single case matters little. If every sixth text gives fewer cases, all
texts are used."""


@lru_cache(maxsize=1)
def logs() -> list[str]:
    """Return one recorded log for each case in the catalogue, taken from different TensorFlow releases in
    turn."""
    recorded = defaultdict(list)
    for path in sorted((ROOT / "tests/data/logs").rglob("*.log")):
        recorded[path.stem].append(path)
    chosen = (paths[i * 7 % len(paths)] for i, (_, paths) in enumerate(sorted(recorded.items())))
    return [path.read_text(encoding="utf-8", errors="replace") for path in chosen]


@lru_cache(maxsize=1)
def reports() -> list[str]:
    """Return the reports that people wrote, without the latest reports, which are only scored."""
    with open(ROOT / "scripts/training/reports.jsonl", encoding="utf-8") as lines:
        several = [json.loads(line) for line in lines]
    return [report["text"] for report in several if "part" not in report]


def judged(text: str) -> tuple[str, bool]:
    """Return the verdict on a text, and whether it is at least likely."""
    found = diagnose(read(text.encode()), Tables.bundled()).verdict
    return found.code, found.confidence != "possible"


before = lru_cache(maxsize=None)(judged)


class Compared(NamedTuple):
    """The results of one mutation. tried: how many texts it changed. sure: how many of these had a verdict
    that is at least likely. lost: the texts among the latter that got another verdict. other: all texts that
    got another verdict."""

    tried: int
    sure: int
    lost: list[str]
    other: list[str]


def compared(name: str, texts: Iterable[str]) -> Compared:
    """Apply a mutation to texts, and compare the verdicts."""
    tried, claimed, lost, other = 0, 0, [], []
    for text in texts:
        mutant = changed(name, text)
        if mutant == text:
            continue
        tried += 1
        (was, sure), (now, _) = before(text), judged(mutant)
        claimed += sure
        if now != was:
            other.append(f"{name}: {was} -> {now}: {text[:80]!r}")
            lost += other[-1:] if sure else []
    return Compared(tried, claimed, lost, other)


def test_the_verdict_stays_the_same_after_a_mutation() -> None:
    cases = [*logs()[::13], *reports()[::111]]
    results = [compared(name, cases[i % 9 :: 9]) for i, name in enumerate(MUTATIONS)]
    other = [text for result in results for text in result.other]
    tried = sum(result.tried for result in results)
    assert tried > 100
    changed_verdicts = f"{len(other)} of {tried} verdicts changed, at most {MOST:.0%} may"
    assert len(other) <= MOST * tried, "\n".join([changed_verdicts, *other])


@pytest.mark.slow
@pytest.mark.parametrize("texts", [logs, reports], ids=["logs", "reports"])
def test_no_kind_of_mutation_changes_more_than_a_few_verdicts(texts: Callable[[], list[str]]) -> None:
    results = {}
    for name in MUTATIONS:
        results[name] = compared(name, texts()[2::6])
        if results[name].tried < ENOUGH:
            results[name] = compared(name, texts())
    rare = [result for result in results.values() if result.tried < FEW]
    few = [text for result in rare for text in result.other]
    too_many = [
        f"{name}: {len(result.other)} of {result.tried}\n  " + "\n  ".join(result.other)
        for name, result in results.items()
        if result.tried >= FEW and len(result.other) > OF_ONE_KIND * result.tried
    ]
    lost = [text for result in results.values() for text in result.lost]
    other = [text for result in results.values() for text in result.other]
    sure, tried = (sum(numbers) for numbers in zip(*((r.sure, r.tried) for r in results.values())))
    assert not too_many, "\n".join(too_many)
    assert len(few) <= OF_ONE_KIND * sum(result.tried for result in rare), "\n".join(few)
    assert len(lost) <= SURE * sure, f"{sure}\n" + "\n".join(lost)
    assert len(other) <= MOST * tried, "\n".join(other)
    print(f"{len(lost)} of {sure} likely ones and {len(other)} of all {tried} get another verdict")


@each("name", MUTATIONS)
def test_a_mutation_changes_a_text_always_in_the_same_way(name: str) -> None:
    cases = [*logs()[::8], *reports()[::20]]
    text = next((t for t in cases if changed(name, t) != t), None)
    assert text is not None, "the mutation changes none of the cases"
    assert changed(name, text) == changed(name, text)
