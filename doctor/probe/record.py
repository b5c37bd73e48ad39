"""A machine's facts as a JSON file, so that they can be diagnosed elsewhere: `check --save FILE`, `check --from FILE`.

The record holds every fact with its source; what is read back is equal to what was written (a test holds it to that).
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import doctor.facts as vocabulary
from doctor.facts import EVIDENCE_LIMIT, Fact, Facts, Source

KIND = "tfgpu-doctor machine"
SCHEMA = 1
SIZE_LIMIT = 32 << 20
FACTS_LIMIT = 20_000


class NotRecordError(ValueError):
    """The file is no record of a machine; the text says why."""


def to_record(facts: Facts, version: str, date: str) -> dict[str, Any]:
    """Plain data of a machine's facts. `date` is the day of the recording, `version` the tool's."""
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "tool": version,
        "recorded": date,
        "name": facts.name,
        "facts": [_fact(fact) for fact in facts],
    }


def _fact(fact: Fact) -> dict[str, Any]:
    values: dict[str, Any] = {"fact": type(fact).__name__}
    for field in dataclasses.fields(fact):
        value = getattr(fact, field.name)
        if isinstance(value, Source):
            value = {"where": value.where, "line": value.line, "text": value.text}
        elif isinstance(value, tuple):
            value = [list(item) if isinstance(item, tuple) else item for item in value]
        if field.name == "source" or value != field.default:
            values[field.name] = value
    return values


def from_record(record: Any) -> Facts:
    """The facts of a record. Raises NotRecordError; facts of a later version's types are left out."""
    if not isinstance(record, dict) or record.get("kind") != KIND:
        raise NotRecordError("it is no record of a machine (written by `tfgpu-doctor check --save`)")
    if record.get("schema") != SCHEMA:
        raise NotRecordError(f"it is a record of schema {record.get('schema')!r}; this version reads schema {SCHEMA}")
    listed = record.get("facts")
    if not isinstance(listed, list) or len(listed) > FACTS_LIMIT:
        raise NotRecordError("its facts are not a list")
    facts = [fact for entry in listed if (fact := _read(entry)) is not None]
    return Facts(tuple(facts), "machine", str(record.get("name", "-")))


def _read(entry: Any) -> Fact | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("source"), dict):
        raise NotRecordError("a fact without a source is in it")
    kind = getattr(vocabulary, str(entry.get("fact")), None)
    if not (isinstance(kind, type) and issubclass(kind, Fact)):
        return None
    source = entry["source"]
    line = source.get("line")
    values: dict[str, Any] = {
        "source": Source(
            str(source.get("where", ""))[:EVIDENCE_LIMIT],
            line if isinstance(line, int) else None,
            str(source.get("text", ""))[:EVIDENCE_LIMIT],
        )
    }
    for field in dataclasses.fields(kind):
        if field.name in entry and field.name != "source":
            value = entry[field.name]
            if isinstance(value, list):
                value = tuple(tuple(map(str, item)) if isinstance(item, list) else item for item in value)
            elif not isinstance(value, (str, int, float, bool, type(None))):
                raise NotRecordError(f"{entry.get('fact')}.{field.name} is neither text nor number")
            values[field.name] = value
    try:
        return kind(**values)
    except TypeError as problem:
        raise NotRecordError(f"a {entry.get('fact')} in it is incomplete: {problem}") from problem


def save(path: str, record: dict[str, Any]) -> None:
    """Write a record; one fact a line, so that two can be compared. Raises OSError."""
    lines = [json.dumps(fact, ensure_ascii=False) for fact in record["facts"]]
    head = {key: value for key, value in record.items() if key != "facts"}
    text = (
        json.dumps(head, ensure_ascii=False, indent=1)[:-2] + ',\n "facts": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"
    )
    Path(path).write_text(text, encoding="utf-8")


def load(path: str) -> Facts:
    """Read a record. Raises NotRecordError, and OSError where the file cannot be read."""
    with open(path, "rb") as file:
        data = file.read(SIZE_LIMIT + 1)
    if len(data) > SIZE_LIMIT:
        raise NotRecordError(f"it is larger than {SIZE_LIMIT >> 20} MiB")
    try:
        return from_record(json.loads(data.decode("utf-8")))
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, NotRecordError):
            raise
        raise NotRecordError(f"it is no JSON: {problem}") from problem
