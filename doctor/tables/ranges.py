"""Evaluates version ranges as the tables write them (">=9.11,<10", "==2.0.0|==2.0.1"), and checks whether a
build meets the conditions of a trap."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from doctor import lazy
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
    """Whether a version is in a range. Bars separate alternatives, and commas separate clauses. All clauses
    of one alternative must hold.

    `key` makes versions comparable (by default, as dotted integers). Raises ValueError for an invalid range.
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


_CLAUSE = lazy.compile(
    r"\s*(?:(~=|[<>]=?)\s*(\d[\d.]*)|([=!]=)\s*(\d[\d.]*?)(\.\*)?|(<)\s*(\d[\d.]*?)\.?dev\d*)\s*"
)
"""Matches a clause without a pre-release. It also accepts <6.0.0dev, a common bound for protobuf, which
excludes the same final releases as <6.0.0."""
_FINAL = lazy.compile(r"\d+(?:\.\d+)*")


def satisfies(version: str, specifier: str) -> bool:
    """Whether a version, which may be a pre-release, satisfies a specifier (PEP 440).

    Raises ValueError for an invalid version or specifier.
    """
    matches = [_CLAUSE.fullmatch(clause) for clause in specifier.split(",") if clause.strip()]
    clauses = [(m[1] or m[3] or m[6], m[2] or m[4] or m[7], bool(m[5])) for m in matches if m]
    plain = len(clauses) == len(matches) and all(map(_FINAL.fullmatch, (version, *(c[1] for c in clauses))))
    if not plain or any(sign == "~=" and "." not in wanted for sign, wanted, _ in clauses):
        from packaging.specifiers import SpecifierSet

        return SpecifierSet(specifier).contains(version, prereleases=True)
    return all(_holds(version, *clause) for clause in clauses)


def _holds(version: str, sign: str, wanted: str, prefix: bool) -> bool:
    """Whether a final release satisfies one clause, such as >=2.1. prefix: the clause ends in ".*".

    The caller passes all other versions and clauses to packaging, so most runs need not import it.
    """
    have, need = ([int(number) for number in text.split(".")] for text in (version, wanted))
    size = max(len(have), len(need))
    padded = [numbers + [0] * (size - len(numbers)) for numbers in (have, need)]
    if sign == "~=":
        start = need[:-1]
        return padded[0] >= padded[1] and padded[0][: len(start)] == start
    if prefix:
        same = padded[0][: len(need)] == need
        return same if sign == "==" else not same
    return _OPERATORS[sign](*padded)


def of_build(when: Mapping[str, Any], package: str, version: str, platform: str) -> bool:
    """Whether a build meets a trap's conditions on the package, the version and the platform."""
    return (
        package in when.get("packages", (package,))
        and platform in when.get("platforms", (platform,))
        and ("versions" not in when or within(version, when["versions"], order))
    )
