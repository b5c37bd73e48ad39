"""Finds the CUDA and cuDNN versions that a build was made with, from the names and versions in the build. A
result has no more digits than they show."""

from __future__ import annotations

import re

from doctor.tables.own_builds import number
from doctor.tables.versions import minor

# For CUDA 8 to 10, the name of the runtime contains the minor version. From 11 on, the name is the same for a
# whole major: libcudart.so.11.0 is any CUDA 11, libcudart.so.12 any CUDA 12; cudart64_110.dll any CUDA 11.
LAST_CUDA_WITH_MINOR_IN_NAME = 10


def refine(candidates: list[tuple[str | None, str]]) -> tuple[str | None, str]:
    """Return the version that follows from the candidates, and its evidence (None and "" if no candidate has
    a version). The first candidate decides the major version. If it has no minor version, a later candidate
    with the same major version may add one."""
    decided, where = None, ""
    for version, source in candidates:
        if not version:
            continue
        short = minor(version)
        if decided is None:
            decided, where = short, source
        elif "." not in decided and short.startswith(decided + "."):
            decided, where = short, f"{where}; {source}"
    return decided, where


def cuda_of_name(libraries: list[str]) -> str | None:
    """Return the CUDA version in the name of a runtime library: "10.1" for libcudart.so.10.1, "12" for
    libcudart.so.12."""
    for name in libraries:
        match = re.fullmatch(
            r"libcudart\.(?:so\.)?(\d+)(?:\.(\d+))?(?:\.dylib)?|cudart64_(\d+)(\d)\.dll", name
        )
        if match:
            major, minor = match[1] or match[3], match[2] or match[4]
            return f"{major}.{minor}" if minor and int(major) <= LAST_CUDA_WITH_MINOR_IN_NAME else major
    return None


def cudnn_of_name(libraries: list[str]) -> str | None:
    """Return the major version of cuDNN in the names of the libraries, or None for the plain libcudnn.so that
    TensorFlow 0.12 loads."""
    for name in libraries:
        if match := re.fullmatch(r"libcudnn\.(?:so\.)?(\d+)(?:\.dylib)?|cudnn64_(\d+)\.dll", name):
            return match[1] or match[2]
    return None


def one_version(versions: list[str], form: str) -> str | None:
    """Return the version in the only constant of the given form ("8.0" for "64_80", "5" for "64_5"), or None
    if there is no such constant or more than one."""
    found = [version for version in versions if re.fullmatch(form, version)]
    return number(found[0]) if len(found) == 1 else None


def exact_pin(pins: dict[str, str], distribution: str) -> str | None:
    """Return the version that an extra pins with ==, or None for a range, because a range does not show which
    version the build used."""
    for name, specifier in pins.items():
        if re.fullmatch(distribution, name) and (match := re.fullmatch(r"==(\d[\d.]*)", specifier)):
            return match[1]
    return None
