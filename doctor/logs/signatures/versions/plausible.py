"""Tells which numbers can be releases of a product (a number that cannot be one was misread), and spells
releases uniformly."""

from __future__ import annotations


def plausible_tensorflow(major: int, minor: int) -> bool:
    """Whether these can be the first two numbers of a TensorFlow release: 0.5 to 0.12, 1.0 to 1.15, or 2.0 to
    2.40."""
    return 5 <= minor <= 12 if major == 0 else minor <= {1: 15, 2: 40}.get(major, -1)


def release_text(version: str) -> str:
    """Return a TensorFlow release as its package spells it: 2.0.0-beta1 is 2.0.0b1."""
    version = version.lower()
    for spelling, short in (("-rc", "rc"), ("-beta", "b"), ("-alpha", "a"), ("-dev", ".dev")):
        version = version.replace(spelling, short)
    return version.rstrip(".-")


def plausible_cuda(version: str) -> bool:
    """Whether a version can be a CUDA release (5 to 19)."""
    return 5 <= _major(version) <= 19


def plausible_cudnn(version: str) -> bool:
    """Whether a version can be a cuDNN release (2 to 9)."""
    return 2 <= _major(version) <= 9


def plausible_driver(version: str) -> bool:
    """Whether a version can be a release of the NVIDIA driver (170 to 999)."""
    return 170 <= _major(version) <= 999


def _major(version: str) -> int:
    return int(version.split(".")[0][:4])


def cudnn_text(version: str) -> str:
    """Return a cuDNN version in dotted form: 7605 is 7.6.5, and 91002 is 9.10.2. A dotted version is cut to
    four parts."""
    if not version.isdigit() or len(version) < 4:
        return ".".join(version.split(".")[:4])
    number = int(version)
    major = 10_000 if number >= 90_000 else 1_000
    return f"{number // major}.{number % major // 100}.{number % 100}"
