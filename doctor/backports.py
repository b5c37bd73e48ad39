"""Functions of later Python versions that Python 3.8 lacks."""

from __future__ import annotations


def removeprefix(text: str, prefix: str) -> str:
    """The same as `str.removeprefix` of Python 3.9."""
    return text[len(prefix) :] if text.startswith(prefix) else text


def removesuffix(text: str, suffix: str) -> str:
    """The same as `str.removesuffix` of Python 3.9."""
    return text[: -len(suffix)] if suffix and text.endswith(suffix) else text
