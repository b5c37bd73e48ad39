"""Stores a machine's facts as data that can be diagnosed elsewhere: for `check --save FILE` and
`check --from FILE`, and as a base64 block in the Markdown output of `check`, which `explain` reads.

The record contains every fact with its source; reading it returns the same facts (a test checks this).
"""

from __future__ import annotations

import json
import re
from typing import Any

import doctor.facts as vocabulary
from doctor import lazy
from doctor.facts import EVIDENCE_LIMIT, Fact, Facts, Source
from doctor.values import fields_of

KIND = "tfgpu-doctor machine"
SCHEMA = 1
SIZE_LIMIT = 32 << 20
FACTS_LIMIT = 20_000


class NotRecordError(ValueError):
    """The file is not a record of a machine; the text gives the reason."""


def to_record(facts: Facts, version: str, date: str) -> dict[str, Any]:
    """A machine's facts as plain data. `date` is the day of the recording, `version` the version of
    tfgpu-doctor."""
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
    for name, default in fields_of(type(fact)).items():
        value = getattr(fact, name)
        if isinstance(value, Source):
            value = {"where": value.where, "line": value.line, "text": value.text}
        elif isinstance(value, tuple):
            value = [list(item) if isinstance(item, tuple) else item for item in value]
        if name == "source" or value != default:
            values[name] = value
    return values


def from_record(record: Any) -> Facts:
    """The facts in a record. Raises NotRecordError. Facts of unknown types, from later versions, are left
    out."""
    if not isinstance(record, dict) or record.get("kind") != KIND:
        raise NotRecordError("it is not a record of a machine (`tfgpu-doctor check --save` writes one)")
    if record.get("schema") != SCHEMA:
        raise NotRecordError(
            f"the record's schema is {record.get('schema')!r};"
            f" this version of tfgpu-doctor reads only schema {SCHEMA}"
        )
    listed = record.get("facts")
    if not isinstance(listed, list) or len(listed) > FACTS_LIMIT:
        raise NotRecordError(f"`facts` must be a list of at most {FACTS_LIMIT} facts")
    facts = [fact for entry in listed if (fact := _read(entry)) is not None]
    return Facts(tuple(facts), "machine", str(record.get("name", "-")))


def _read(entry: Any) -> Fact | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("source"), dict):
        raise NotRecordError("it contains a fact without a source")
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
    kinds = _kinds(kind)
    for name in fields_of(kind):
        if name in entry and name != "source":
            value = entry[name]
            if isinstance(value, list):
                value = tuple(tuple(map(str, item)) if isinstance(item, list) else item for item in value)
            elif not isinstance(value, (str, int, float, bool, type(None))):
                raise NotRecordError(f"{entry.get('fact')}.{name} is neither text nor a number")
            if not _fits(value, kinds[name]):
                raise NotRecordError(f"{entry.get('fact')}.{name} has the wrong type")
            if name == "version" and kind in _VERSIONS and not re.match(r"\d", str(value)):
                raise NotRecordError(f"{entry.get('fact')}.version is not a version: {str(value)[:40]!r}")
            if name == "compute_capability" and value and not re.fullmatch(r"\d{1,2}\.\d", str(value)):
                raise NotRecordError(
                    f"{entry.get('fact')}.compute_capability is not a compute capability: {str(value)[:40]!r}"
                )
            values[name] = value
    try:
        return kind(**values)
    except TypeError as problem:
        raise NotRecordError(f"it contains an incomplete {entry.get('fact')}: {problem}") from problem


BEGIN, END = "tfgpu-doctor record 1", "tfgpu-doctor record end"
_BLOCK = lazy.compile(BEGIN + r"\s([A-Za-z0-9+/=\s]{1,400000})" + END)


def packed(record: dict[str, Any]) -> list[str]:
    """A record as lines of base64, which survive pasting into a form; compressed to about a seventh of its
    size."""
    import base64
    import zlib

    data = zlib.compress(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode(), 9)
    letters = base64.b64encode(data).decode()
    return [BEGIN, *(letters[at : at + 76] for at in range(0, len(letters), 76)), END]


def unpacked(text: str) -> Facts | None:
    """The facts in the first complete block of the input; None if there is none."""
    import base64
    import zlib

    for match in _BLOCK.finditer(text):
        try:
            reader = zlib.decompressobj()
            data = reader.decompress(base64.b64decode("".join(match[1].split()), validate=True), SIZE_LIMIT)
            if reader.eof:
                return from_record(json.loads(data))
        except (ValueError, zlib.error, RecursionError):  # ValueError includes NotRecordError
            continue
    return None


_VERSIONS = (
    vocabulary.PythonVersion, vocabulary.CudaVersion, vocabulary.CudnnVersion, vocabulary.DriverVersion,
    vocabulary.DriverCuda, vocabulary.Glibc, vocabulary.TensorFlowVersion,
)  # fmt: skip


def _kinds(kind: type[Fact]) -> dict[str, str]:
    """The annotations of a fact's fields."""
    return {
        name: words
        for base in reversed(kind.__mro__)
        for name, words in vars(base).get("__annotations__", {}).items()
    }


_TYPES: dict[str, type] = {"str": str, "int": int, "bool": bool, "float": float, "None": type(None)}


def _fits(value: Any, annotation: str) -> bool:
    """Whether a value has the type of a field's annotation ("str | None", "tuple[tuple[str, str], ...]")."""
    if annotation.startswith("tuple["):
        pairs = "tuple[tuple[" in annotation
        inner = int if annotation.startswith("tuple[int") else str
        return isinstance(value, tuple) and all(
            (isinstance(item, tuple) and len(item) == 2) if pairs else isinstance(item, inner)
            for item in value
        )
    return any(type(value) is _TYPES.get(word.strip()) for word in annotation.split("|"))


def as_text(record: dict[str, Any]) -> str:
    """The text of a record file, with one fact per line, so that two files can be compared by line."""
    lines = [json.dumps(fact, ensure_ascii=False) for fact in record["facts"]]
    head = {key: value for key, value in record.items() if key != "facts"}
    return (
        json.dumps(head, ensure_ascii=False, indent=1)[:-2]
        + ',\n "facts": [\n  '
        + ",\n  ".join(lines)
        + "\n ]\n}\n"
    )


def load(path: str) -> Facts:
    """Read a record. Raises NotRecordError, and OSError if the file cannot be read."""
    with open(path, "rb") as file:
        data = file.read(SIZE_LIMIT + 1)
    if len(data) > SIZE_LIMIT:
        raise NotRecordError(f"it is larger than {SIZE_LIMIT >> 20} MiB")
    try:
        return from_record(json.loads(data.decode("utf-8")))
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, NotRecordError):
            raise
        raise NotRecordError(f"it is not JSON: {problem}") from problem
