"""Ranges of versions as the tables write them (">=9.11,<10", "==2.0.0|==2.0.1"), and the traps' conditions on
a build."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from doctor.tables.ordering import order
from doctor.tables.versions import dotted

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


@functools.lru_cache(maxsize=8192)
def within(version: str, range_: str, key: Callable[[str], Any] = dotted) -> bool:
    """Whether a version is in a range: all parts between commas hold, for one of the alternatives between
    bars.

    `key` makes versions comparable (dotted integers by default). Raises ValueError for a range that cannot be
    read.
    """
    return any(_all_hold(version, part, key) for part in range_.split("|"))


def _all_hold(version: str, range_: str, key: Callable[[str], Any]) -> bool:
    for part in range_.split(","):
        match = re.fullmatch(r"\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*", part)
        if match is None:
            raise ValueError(f"not a version range: {range_!r}")
        compare = _OPERATORS[match.group(1)]
        if not compare(key(version), key(match.group(2))):
            return False
    return True


def of_build(when: Mapping[str, Any], package: str, version: str, platform: str) -> bool:
    """Whether a trap's conditions on the build (packages, versions, platforms) hold."""
    return (
        package in when.get("packages", (package,))
        and platform in when.get("platforms", (platform,))
        and ("versions" not in when or within(version, when["versions"], order))
    )
