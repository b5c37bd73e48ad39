"""Nothing was found: is it absent, or could we not look? A probe says Absent by `missing` alone."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.facts import Absent, Source, Unreadable


def missing(source: Source, what: str, unseen: Mapping[str, str]) -> Absent | Unreadable:
    """Absent; Unreadable where one of the places could not be looked at.

    source: where was looked. unseen: paths and reasons, as Machine.noting collects them.
    """
    for path, reason in unseen.items():
        more = f", nor at {len(unseen) - 1} other places" if len(unseen) > 1 else ""
        return Unreadable(Source(path), what, f"{path} could not be looked at ({reason}){more}")
    return Absent(source, what)
