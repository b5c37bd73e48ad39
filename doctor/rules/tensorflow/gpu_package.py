"""Finds requests for tensorflow-gpu that result in 2.12, a stub that refuses to install."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor.facts import PythonVersion, Symptom
from doctor.tables import dotted
from doctor.tables.versions import minor

if TYPE_CHECKING:
    from doctor.case import Case


def asked_for_the_stub(case: Case) -> list[Symptom]:
    """The failed installations of tensorflow-gpu 2.12 or later (2.11 is its last release with code). Includes
    requests without a version if neither the Python version nor the platform explains why pip found no
    release."""
    asked = [s for s in case.facts.symptoms("no-matching-distribution") if s.get("name") == "tensorflow-gpu"]
    free = [s for s in asked if not re.search(r"\d", s.get("specifier"))]
    if not any(s.get("versions").strip() == "none" for s in free) or _explained(case):
        free = []
    return [s for s in asked if s in free or _at_least(s.get("specifier"), (2, 12))]


def _explained(case: Case) -> bool:
    """Whether the Python version or the platform explains, or may explain, why pip found no tensorflow-gpu
    wheel: wheels may exist for another Python version or platform. Until 3.9, Python for Windows was 32-bit
    by default."""
    facts, known = case.facts, case.tables.releases(case.table_platform, "tensorflow-gpu")
    if facts.symptoms("python-32bit") or any(p.bits == 32 for p in facts.of(PythonVersion)) or not known:
        return True
    if case.python is None:
        return case.platform in ("windows", "macos")
    newest = max((python for release in known for python in release.pythons), key=dotted)
    return dotted(minor(case.python.version)) <= dotted(newest)


def _at_least(specifier: str, floor: tuple[int, int]) -> bool:
    numbers = re.search(r"(\d{1,4})\.(\d+)", specifier)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= floor
