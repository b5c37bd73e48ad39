"""Distinguishes "absent" from "could not look" when nothing was found. Probes report an absence only through
`missing`."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.facts import Absent, Source, Unreadable


def missing(source: Source, what: str, unseen: Mapping[str, str]) -> Absent | Unreadable:
    """Absent; or Unreadable, if one of the places could not be read.

    source: the place that the probe examined. unseen: paths and reasons, as Machine.noting collects them.
    """
    for path, reason in unseen.items():
        more = f", nor at {len(unseen) - 1} other places" if len(unseen) > 1 else ""
        return Unreadable(Source(path), what, f"{path} could not be examined ({reason}){more}")
    return Absent(source, what)
