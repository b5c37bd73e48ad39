"""Checks a recorded machine's RECORD file: each value must have the type that the code which reads it
expects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def checked(record: Any) -> dict[str, Any]:
    """The record, unchanged. Raises ValueError with the key's name if a value does not have the expected
    type."""
    if not isinstance(record, dict):
        raise ValueError("an object is expected")
    for key in ("system", "processor", "cwd", "name"):
        _is(record, key, str, "text")
    for key in ("env", "answers"):
        _is(record, key, dict, "an object")
    for name, value in (record.get("env") or {}).items():
        if not isinstance(value, (str, int, float)):
            raise ValueError(f"`env.{name}` is not text")
    _is(record, "denied", list, "a list")
    if not all(isinstance(path, str) for path in record.get("denied") or ()):
        raise ValueError("`denied` is not a list of paths")
    for question, answer in (record.get("answers") or {}).items():
        if not isinstance(answer, dict):
            raise ValueError(f"`answers.{question}` is not an object")
        for key in ("out", "err"):
            _is(answer, key, str, "text", f"answers.{question}.")
        _is(answer, "status", int, "a number", f"answers.{question}.")
    return {key: value for key, value in record.items() if value is not None}


def _is(record: Mapping[str, Any], key: str, kind: type, called: str, where: str = "") -> None:
    value = record.get(key)
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise ValueError(f"`{where}{key}` is not {called}")
