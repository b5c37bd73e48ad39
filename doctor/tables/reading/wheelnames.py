"""Parses the file name of a wheel: its release, Python and platform, and the glibc version in its tag.

Source: PyPA specification "Binary distribution format" (file name), PEP 513, 571, 599, 600 (manylinux tags).
"""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

from doctor.values import dataclass

LEGACY_MANYLINUX = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}


@dataclass(frozen=True)
class WheelName:
    """The parts of a wheel's file name that the tables need. `python` has the form "3.9". `glibc` is the
    glibc version in the platform tags."""

    package: str
    version: Version
    python: str
    platform: str
    glibc: str | None


def parse_wheel_name(filename: str) -> WheelName | None:
    """Return the parts of a file name, or None if the file is not a CPython wheel for one of PLATFORMS."""
    match = re.fullmatch(r"([^-]+)-([^-]+)(?:-\d[^-]*)?-cp(\d)(\d+)-[^-]+-([^-]+)\.whl", filename)
    if not match:
        return None
    tags = match[5].split(".")
    platform = next((name for tag in tags if (name := _platform(tag))), None)
    try:
        version = Version(match[2])
    except InvalidVersion:
        return None
    if platform is None:
        return None
    glibc = min((claimed for tag in tags if (claimed := _claimed_glibc(tag))), default=None)
    return WheelName(
        match[1].replace("_", "-").lower(),
        version,
        f"{match[3]}.{match[4]}",
        platform,
        f"{glibc[0]}.{glibc[1]}" if glibc else None,
    )


def _platform(tag: str) -> str | None:
    if re.fullmatch(r"(many)?linux.*_(x86_64|aarch64)", tag):
        return "linux-aarch64" if tag.endswith("aarch64") else "linux-x86_64"
    if tag == "win_amd64":
        return "windows-amd64"
    if tag.startswith("macosx_"):
        return "macos-arm64" if tag.endswith("_arm64") else "macos-x86_64"
    return None


def _claimed_glibc(tag: str) -> tuple[int, int] | None:
    if match := re.match(r"manylinux_(\d+)_(\d+)_", tag):
        return int(match[1]), int(match[2])
    return LEGACY_MANYLINUX.get(tag.partition("_")[0])
