"""Finds the CUDA and cuDNN that a build was made with, from the names and versions in it, with no more digits
than these show."""

from __future__ import annotations

import re

from doctor.tables.reading.metadata import version_in_build_info

# CUDA 8 to 10 carry the minor version in the runtime's name; from 11 on it is frozen (libcudart.so.11.0 is
# every CUDA 11, libcudart.so.12 every CUDA 12; cudart64_110.dll every CUDA 11).
LAST_CUDA_WITH_MINOR_IN_NAME = 10


def refine(candidates: list[tuple[str | None, str]]) -> tuple[str | None, str | None]:
    """The first candidate decides the major; a later one of the same major may add the minor that it
    lacks."""
    decided, where = None, ""
    for version, source in candidates:
        if not version:
            continue
        short = ".".join(version.split(".")[:2])
        if decided is None:
            decided, where = short, source
        elif "." not in decided and short.startswith(decided + "."):
            decided, where = short, f"{where}; {source}"
    return decided, where or None


def cuda_of_name(libraries: list[str]) -> str | None:
    """The CUDA that a runtime library's name shows: "10.1" of libcudart.so.10.1, "12" of libcudart.so.12."""
    for name in libraries:
        match = re.fullmatch(
            r"libcudart\.(?:so\.)?(\d+)(?:\.(\d+))?(?:\.dylib)?|cudart64_(\d+)(\d)\.dll", name
        )
        if match:
            major, minor = match[1] or match[3], match[2] or match[4]
            return f"{major}.{minor}" if minor and int(major) <= LAST_CUDA_WITH_MINOR_IN_NAME else major
    return None


def cudnn_of_name(libraries: list[str]) -> str | None:
    """The major of the cuDNN among the libraries; None for the bare libcudnn.so of 0.12."""
    for name in libraries:
        if match := re.fullmatch(r"libcudnn\.(?:so\.)?(\d+)(?:\.dylib)?|cudnn64_(\d+)\.dll", name):
            return match[1] or match[2]
    return None


def one_version(versions: list[str], form: str) -> str | None:
    """8.0 of "64_80", 5 of "64_5"; None unless there is exactly one constant of the form."""
    found = [version for version in versions if re.fullmatch(form, version)]
    return version_in_build_info(found[0]) if len(found) == 1 else None


def exact_pin(pins: dict[str, str], distribution: str) -> str | None:
    """The version that an extra pins with ==; None for a range, which shows what is allowed, not what was
    used."""
    for name, specifier in pins.items():
        if re.fullmatch(distribution, name) and (match := re.fullmatch(r"==(\d[\d.]*)", specifier)):
            return match[1]
    return None
