"""Separates the set-ups in a report that states several TensorFlow releases, each with its own CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from doctor import lazy
from doctor.case.best import R
from doctor.facts import Fact, TensorFlowVersion
from doctor.tables.versions import minor

_GROUPS = (
    lazy.compile(r"[()（）\[\]]"),
    lazy.compile(r"[.!?;。！？；](?:\s|(?=[^\s\d.]))|\s(?:->|=>|→|⇒)\s|\s[-–—|]{1,2}\s"),
)
"""The ends of what belongs together in a line: first parentheses, then sentences and the parts of a table."""


def of_setup(facts: Sequence[R], chosen: TensorFlowVersion | None, releases: Iterable[Fact]) -> Sequence[R]:
    """Return the versions without those that a report states beside another TensorFlow release than the
    chosen one: "venv1: TensorFlow 2.11 with CUDA 11.2; venv2: TensorFlow 2.18"."""
    stated: dict[int | None, set[str]] = {}
    for release in releases:
        stated.setdefault(release.source.line, set()).add(str(getattr(release, "version", "")))
    if chosen is None or len({minor(version) for several in stated.values() for version in several}) < 2:
        return facts
    own = minor(chosen.version)
    beside = [_beside(fact, stated.get(fact.source.line, set())) for fact in facts]
    return [fact for fact, minors in zip(facts, beside) if own in minors or not minors]


def _beside(fact: Fact, here: set[str]) -> set[str]:
    """Return the minor versions of the releases in the smallest part of the fact's line that contains the
    fact's version and a release. here: the releases in the line."""
    text = fact.source.text
    if not here or fact.source.line is None:
        return set()
    at = text.find(str(getattr(fact, "version", "")))
    for ends in _GROUPS:
        cuts = [0, *(cut.start() for cut in ends.finditer(text)), len(text)]
        part = next((text[a:b] for a, b in zip(cuts, cuts[1:]) if a <= at < b), text)
        inside = {version for version in here if re.search(rf"(?<![\d.]){re.escape(version)}(?!\d)", part)}
        if inside:
            return {minor(version) for version in inside}
    return {minor(version) for version in here}
