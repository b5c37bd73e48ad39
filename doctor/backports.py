"""Functions from later Python versions that Python 3.8 lacks."""

from __future__ import annotations


def removeprefix(text: str, prefix: str) -> str:
    """Do the same as `str.removeprefix` in Python 3.9."""
    return text[len(prefix) :] if text.startswith(prefix) else text


def removesuffix(text: str, suffix: str) -> str:
    """Do the same as `str.removesuffix` in Python 3.9."""
    return text[: -len(suffix)] if suffix and text.endswith(suffix) else text
