"""The person whose environment is judged."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.values import dataclass


@dataclass(frozen=True)
class Account:
    """The person whose environment is judged, from passwd(5) and group(5). groups: the GIDs of the person's
    groups; named: the name of every group by its GID."""

    name: str
    uid: int
    groups: frozenset[int]
    named: Mapping[int, str]
