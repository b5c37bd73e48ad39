"""What a report says thousands of times is judged in a time in proportion to that."""

from __future__ import annotations

import dataclasses
import time

import pytest

from doctor import api
from doctor.facts import Fact, Facts, Platform
from doctor.logs import read
from doctor.logs.signatures import catalogue
from tests.sampling import sampled


def kinds() -> dict[str, Fact]:
    """A fact of each type that a text can state; the platform, which many questions ask for, first."""
    found: dict[str, Fact] = {}
    for signature in catalogue():
        for fact in read(signature.example.encode("utf-8", "replace"), "report"):
            found.setdefault(type(fact).__name__, fact)
    return dict(sorted(found.items(), key=lambda item: not isinstance(item[1], Platform)))


KINDS = kinds()


@pytest.mark.parametrize("name", sampled(KINDS, 3))
def test_a_fact_that_is_stated_thousands_of_times_is_judged_in_proportion(name: str) -> None:
    def seconds(times: int) -> float:
        fact = KINDS[name]
        facts = [dataclasses.replace(fact, source=dataclasses.replace(fact.source, line=at)) for at in range(1, times + 1)]
        start = time.process_time()
        api.diagnosed(Facts(tuple(facts), "report", "report", times)).to_dict()
        return time.process_time() - start

    seconds(10)
    few, many = seconds(1_000), seconds(8_000)
    assert many < 0.5 + 14 * few, f"{few:.2f} s for a thousand, {many:.2f} s for eight thousand"
