"""Finds the smallest set of constraints that explains why releases do not work."""

from __future__ import annotations

from collections import defaultdict

from doctor.compat import Answer
from doctor.plan.candidate import ROUTES, Refusal

_PRIORITY = ("gpu", "driver", "python", "install", "cuda", "cudnn", "libraries")


def shortest_chain(refusals: list[Refusal]) -> list[tuple[str, list[tuple[Refusal, Answer]]]]:
    """Return the fewest aspects that together rule out every release, each with the releases that it rules
    out.

    For each release, only one refusal counts: the one with the fewest answers, or among equals the one whose
    route comes first in ROUTES, and docker only if there is no other. A refusal on another route does not
    explain why this one fails.
    """
    by_build: dict[str, list[Refusal]] = defaultdict(list)
    for refusal in refusals:
        by_build[refusal.build.version].append(refusal)
    first = {
        version: min(listed, key=lambda r: (r.route == "docker", len(r.answers), ROUTES.index(r.route)))
        for version, listed in by_build.items()
    }
    left = dict(first)
    chain: list[tuple[str, list[tuple[Refusal, Answer]]]] = []
    while left:
        counts: dict[str, list[tuple[Refusal, Answer]]] = defaultdict(list)
        for refusal in left.values():
            for aspect, answer in dict(reversed(refusal.answers)).items():
                counts[aspect].append((refusal, answer))
        aspect = max(counts, key=lambda a: (len(counts[a]), -_PRIORITY.index(a) if a in _PRIORITY else -9))
        chain.append((aspect, counts[aspect]))
        for refusal, _ in counts[aspect]:
            left.pop(refusal.build.version, None)
    return chain
