"""Distinguishes "absent" from "could not be examined" when a probe finds nothing. Probes report an absence
only through `missing`."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.facts import Absent, Source, Unreadable


def missing(source: Source, what: str, unseen: Mapping[str, str]) -> Absent | Unreadable:
    """An Absent fact, or an Unreadable one if some place could not be read.

    source: the place that the probe examined. unseen: the unreadable paths and the reasons, as Machine.noting
    collects them.
    """
    for path, reason in unseen.items():
        others = len(unseen) - 1
        more = f", and neither could {others} other place{'s' if others > 1 else ''}" if others else ""
        return Unreadable(Source(path), what, f"{path} could not be examined ({reason}){more}")
    return Absent(source, what)
