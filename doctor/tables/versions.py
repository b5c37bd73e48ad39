"""Compares version numbers that are dotted integers, such as NVIDIA's. For versions of Python packages, use
`ordering`.

NVIDIA's numbers (450.80.02, 12.10, 9.28.0.42) are not PEP 440 versions, and not decimal
fractions: 12.10 is newer than 12.2.
"""

from __future__ import annotations

import functools
import re

from doctor import lazy

_NUMBERS = lazy.compile(r"\d+")


@functools.lru_cache(8192)
def dotted(version: str) -> tuple[int, ...]:
    """Return the integers of a dotted version, without trailing zeros: "450.80.02" is (450, 80, 2), "12.0" is
    (12,).

    Reads the leading dotted number and ignores the text after it ("12.5.1-1ubuntu"). Raises ValueError if the
    text does not start with a number (a leading "R" or "v" is allowed: "R535").
    """
    match = re.match(r"\s*[rRvV]?(\d+(?:\.\d+)*)", version)
    if match is None:
        raise ValueError(f"no version number: {version!r}")
    parts = [int(part) for part in _NUMBERS.findall(match.group(1))]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def at_least(version: str, floor: str) -> bool:
    """Whether `version` is `floor` or newer. Both must be dotted integers."""
    return dotted(version) >= dotted(floor)


def driver_at_least(driver: str, floor: str) -> bool:
    """Whether a driver is `floor` or newer. The beginning of a version (people write "525" or "525.60")
    counts as the newest release that begins with it."""
    number, wanted = dotted(driver), dotted(floor)
    return number >= wanted[: len(number)]


def minor(version: str) -> str:
    """Return the first two numbers of a version: "12.5.1" becomes "12.5", "9" stays "9"."""
    parts = version.split(".")
    return ".".join(parts[:2])


def major(version: str) -> int:
    """Return the first number of a version: 9 for "9.3.0.75"."""
    return dotted(version)[0]


def capability_order(target: str) -> tuple[int, int, str]:
    """Return a key that sorts compute capabilities in the order "9.0", "9.0a", "10.0"."""
    whole, _, part = target.partition(".")
    return int(whole), int(part.rstrip("af")), target
