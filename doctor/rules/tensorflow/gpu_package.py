"""Requests for tensorflow-gpu from 2.12 on, a stub that refuses to install."""

from __future__ import annotations

import re

from doctor.facts import Symptom
from doctor.picture import Picture


def asked_for_the_stub(picture: Picture) -> list[Symptom]:
    """Failed requests for tensorflow-gpu 2.12 or later (its last release with code is 2.11)."""
    return [
        s
        for s in picture.facts.symptoms("no-matching-distribution")
        if s.get("name") == "tensorflow-gpu" and _at_least(s.get("specifier"), (2, 12))
    ]


def _at_least(specifier: str, floor: tuple[int, int]) -> bool:
    numbers = re.search(r"(\d{1,4})\.(\d+)", specifier)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= floor
