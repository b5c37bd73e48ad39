"""Collects the cases of the test matrix from one module for each family of cases."""

from __future__ import annotations

from tests.rules.cases import (
    above,
    answered,
    calm,
    complaints,
    cures,
    hardware,
    in_words,
    installation,
    libraries,
    memory,
    neighbours,
    pasted,
    placement,
    reasons,
    runtimes,
    runtimes_of_others,
    said,
    situations,
    trackers,
)

FAMILIES = (
    hardware,
    libraries,
    installation,
    memory,
    placement,
    runtimes,
    runtimes_of_others,
    in_words,
    neighbours,
    said,
    answered,
    above,
    pasted,
    trackers,
    complaints,
    reasons,
    situations,
    calm,
    cures,
)
FIRES = tuple(case for family in FAMILIES for case in family.FIRES)
NEAR_MISSES = tuple(case for family in FAMILIES for case in family.NEAR_MISSES)
