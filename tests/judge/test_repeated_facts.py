"""Tests that judging facts that a report repeats thousands of times takes a time proportional to their
number."""

from __future__ import annotations

import dataclasses
import time
from functools import lru_cache

import pytest

from doctor import api
from doctor.facts import Fact, Facts
from doctor.logs import read
from doctor.logs.signatures import catalogue


@lru_cache(maxsize=None)
def stated() -> dict[str, Fact]:
    """Return a fact of each type that a text can state."""
    found: dict[str, Fact] = {}
    for signature in catalogue():
        for fact in read(signature.example.encode("utf-8", "replace"), "report"):
            found.setdefault(type(fact).__name__, fact)
    return found


KINDS = sorted(
    {kind.__name__ for kind in Fact.__subclasses__()}
)  # each class twice, until the class from which it was made is collected
QUICK = ("LibraryNotLoaded",)
"""Fact types for the quick tests: a real report contains many of them."""


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in KINDS]
)
def test_a_fact_that_is_stated_thousands_of_times_is_judged_in_proportion(name: str) -> None:
    fact = stated().get(name)
    if fact is None:
        assert name not in QUICK
        pytest.skip("no example of a signature states it")

    def seconds(times: int) -> float:
        facts = [
            dataclasses.replace(fact, source=dataclasses.replace(fact.source, line=at))
            for at in range(1, times + 1)
        ]
        start = time.process_time()
        api.diagnosed(Facts(tuple(facts), "report", "report", times)).to_dict()
        return time.process_time() - start

    seconds(10)
    few, many = seconds(1_000), seconds(8_000)
    assert many < 0.5 + 14 * few, f"{few:.2f} s for a thousand, {many:.2f} s for eight thousand"
