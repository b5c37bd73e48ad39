"""Sorts versions of Python packages (PEP 440) and rows of the TensorFlow table, and finds the existing
releases nearest to a version that does not exist."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from doctor.tables.rows import PLATFORMS

if TYPE_CHECKING:
    from typing import TypeAlias

Key: TypeAlias = "tuple[str, str, str]"
"""The package, version and platform of a row of the TensorFlow table."""

_STAGES = {"a": -2000, "b": -1500, "rc": -1000, ".post": 1}


@functools.lru_cache(maxsize=4096)
def order(version: str) -> tuple[Any, ...]:
    """Return a key that sorts versions in PEP 440 order. Strings that are not versions sort first."""
    plain = re.fullmatch(r"(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:(a|b|rc|\.post)(\d{1,3}))?", version)
    if plain:  # most versions are plain numbers, and need no import of packaging
        *numbers, kind, number = plain.groups()
        return (1, tuple(int(p or 0) for p in numbers), _STAGES[kind] + int(number) if kind else 0)
    from packaging.version import Version

    try:
        parsed = Version(version)
    except ValueError:  # InvalidVersion, or a number with more digits than int() accepts
        return (0, (), 0)
    full = (*parsed.release, 0, 0, 0)[:3]
    if parsed.dev is not None:
        stage = -3000 + min(parsed.dev, 99999999) / 1e8
    elif parsed.pre is not None:
        stage = _STAGES[parsed.pre[0]] + parsed.pre[1]
    else:
        stage = 0 if parsed.post is None else 1 + parsed.post
    return (1, full, stage)


def is_final(version: str) -> bool:
    """Whether a version is a final release, not a release candidate or a development version."""
    return re.fullmatch(r"\d+(\.\d+)*(\.post\d+)?", version) is not None


def key_of(row: Mapping[str, Any]) -> Key:
    """Return the package, version and platform of a row of the TensorFlow table."""
    return row["package"], row["version"], row["platform"]


def table_order(key: Key) -> tuple[Any, ...]:
    """Return a key that sorts rows in the order of the TensorFlow table."""
    package, version, platform = key
    return package, order(version), (*PLATFORMS, "any").index(platform)


def nearest(version: str, known: Iterable[str]) -> list[str]:
    """Return the two releases just below a version and the two just above it, oldest first. For a text that
    is not a version, return the two newest final releases."""
    wanted = order(version)
    ranked = sorted(set(known), key=order)
    if wanted[0] == 0:
        return [v for v in ranked if is_final(v)][-2:]
    below = [v for v in ranked if order(v) < wanted][-2:]
    above = [v for v in ranked if order(v) > wanted][:2]
    return [*below, *above]
