"""Treats version specifiers as ranges, to find out whether two specifiers have a version in common, and
whether one lies within another. An excluded version (!=) counts only against a pin of that version."""

from __future__ import annotations

import functools

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from doctor import lazy
from doctor.backports import removesuffix
from doctor.values import dataclass

_PART = lazy.compile(r"(===|==|~=|!=|>=|<=|>|<)([^,]+)")


@dataclass(frozen=True, slots=True)
class Range:
    """A range of versions from `low` to `high`; None means no bound. low_closed and high_closed: whether
    the range includes that end."""

    low: Version | None = None
    high: Version | None = None
    low_closed: bool = True
    high_closed: bool = False

    @property
    def empty(self) -> bool:
        """Whether the range contains no version."""
        if self.low is None or self.high is None or self.low < self.high:
            return False
        return not (self.low == self.high and self.low_closed and self.high_closed)

    @property
    def pin(self) -> Version | None:
        """The version, if the range contains only one; otherwise None."""
        return self.low if self.low is not None and self.low == self.high and not self.empty else None

    def within(self, other: Range) -> Range:
        """Return the intersection of this range and another."""
        low, low_closed = max(((r.low, r.low_closed) for r in (self, other) if r.low is not None),
                              key=lambda end: (end[0], not end[1]), default=(None, True))  # fmt: skip
        high, high_closed = min(((r.high, r.high_closed) for r in (self, other) if r.high is not None),
                                key=lambda end: (end[0], end[1]), default=(None, False))  # fmt: skip
        return Range(low, high, low_closed, high_closed)


def range_of(specifier: str) -> Range | None:
    """Return the range that a specifier (">=1.23,<2") allows, without its exclusions (!=), or None if it
    cannot be read."""
    found = Range()
    for operator, bound in _PART.findall(specifier.replace(" ", "")):
        part = _range(operator, bound)
        if part is None:
            return None
        found = found.within(part)
    return found


def _range(operator: str, bound: str) -> Range | None:
    """Return the range of one clause, such as ">=" and "1.23", or None if it cannot be read."""
    try:
        version = Version(removesuffix(bound, ".*"))
    except InvalidVersion:
        return None
    if operator in ("==", "===") and not bound.endswith(".*"):
        return Range(version, version, True, True)
    if operator in ("==", "~="):
        kept = version.release if operator == "==" else version.release[:-1]
        if not kept:
            return None
        after = ".".join(map(str, (*kept[:-1], kept[-1] + 1)))
        return Range(version, Version(after))
    return {">=": Range(low=version), ">": Range(low=version, low_closed=False), "<": Range(high=version),
            "<=": Range(high=version, high_closed=True)}.get(operator, Range())  # fmt: skip


@functools.lru_cache(8192)
def satisfiable(specifier: str) -> bool:
    """Whether some version fulfils all parts of a specifier; True if the specifier cannot be read."""
    whole = range_of(specifier)
    if whole is None:
        return True
    if whole.pin is not None:
        try:
            return SpecifierSet(specifier).contains(whole.pin, prereleases=True)
        except InvalidSpecifier:
            return True
    return not whole.empty


def together(one: str, other: str) -> bool:
    """Whether some version fulfils both specifiers; True if one of them cannot be read."""
    return satisfiable(",".join(part for part in (one, other) if part))


def keeps_within(specifier: str, bound: str) -> bool:
    """Whether every version that fulfils the specifier also fulfils the bound; False if one of them cannot be
    read."""
    inner, outer = range_of(specifier), range_of(bound)
    if inner is None or outer is None:
        return False
    common = inner.within(outer)
    return common == inner
