"""Requests for tensorflow-gpu from 2.12 on, a stub that refuses to install."""

from __future__ import annotations

import re

from doctor.case import Case
from doctor.facts import Symptom


def asked_for_the_stub(case: Case) -> list[Symptom]:
    """Failed installations of tensorflow-gpu 2.12 or later (2.11 is its last release with code)."""
    return [
        s
        for s in case.facts.symptoms("no-matching-distribution")
        if s.get("name") == "tensorflow-gpu" and _at_least(s.get("specifier"), (2, 12))
    ]


def _at_least(specifier: str, floor: tuple[int, int]) -> bool:
    numbers = re.search(r"(\d{1,4})\.(\d+)", specifier)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= floor
