"""Defines the class that describes the user whose environment is examined."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.values import dataclass


@dataclass(frozen=True)
class Account:
    """The user whose environment is examined, as passwd(5) and group(5) describe the user. groups: the GIDs
    of the user's groups; named: the name of each group on the machine, by GID."""

    name: str
    uid: int
    groups: frozenset[int]
    named: Mapping[int, str]
