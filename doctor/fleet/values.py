"""Extracts from a report what is compared between nodes: a name and a text value for each fact.

Names are the fact keys of the JSON, and `mig`, `kernel`, `glibc`, `processor`, `python_path`, `env.NAME`,
`library.SONAME` (the file that the loader finds) and `package.NAME` (the version of the package).
"""

from __future__ import annotations

from collections import Counter
from sys import intern
from typing import Any, NamedTuple

NOT_OPEN = "cannot be loaded"
NOT_SEARCHED = "on the disk, but the loader does not search there"
"""The value for a library that the loader does not find; it replaces the path of the file."""
LONGEST = 400
"""The maximum number of characters of a name or value."""
MOST = 2000
"""At most this many facts of one node are compared."""
LIBRARY_FACTS = ("LibraryLoaded", "LibraryFile", "LibraryNotLoaded")


class Fit(NamedTuple):
    """What the tables say about one part of a node: whether it fits (None: not known), and what is needed."""

    fits: bool | None
    needs: str


class Values(NamedTuple):
    """The values of one node. facts: the values by name. fits: what the tables say, by part (gpu, driver,
    cuda, cudnn, python, platform)."""

    facts: dict[str, str]
    fits: dict[str, Fit]


def values_of(document: dict[str, Any]) -> Values:
    """Return the values of one report. Anything that does not match the schema is left out."""
    found: dict[str, str] = {}
    for key, entry in _dict(document.get("facts")).items():
        value = _dict(entry).get("value")
        if key == "env":
            found.update({f"env.{name}"[:LONGEST]: _text(item) for name, item in _dict(value).items()})
        elif key == "gpus":
            found[key] = _gpus(value)
        elif isinstance(value, list):
            found[key] = _text(", ".join(sorted(str(item) for item in value[:MOST])))
        elif isinstance(value, (str, int)):
            found[key] = _text(str(value))
    _of_record(_dict(document.get("record")).get("facts"), found)
    fits: dict[str, Fit] = {}
    for part in _list(document.get("compatibility")):
        name, state = _dict(part).get("part"), _dict(part).get("fits")
        if isinstance(name, str) and (state is None or isinstance(state, bool)):
            needs = _text(_dict(part).get("needs"))
            if name not in fits or state is False:  # of several GPUs, keep one that does not fit
                fits[intern(name[:40])] = Fit(state, needs)
    return Values({intern(name): intern(value) for name, value in list(found.items())[:MOST]}, fits)


def _of_record(facts: Any, found: dict[str, str]) -> None:
    """Add to `found` the values that appear only among the individual facts in a report's `record`."""
    mig = []
    # of several statements about one library, use the most certain one
    libraries: dict[str, tuple[int, str]] = {}
    separate = (found.get("tensorflow_package"), "keras")  # the versions of these packages are separate facts
    for fact in _list(facts):
        fact = _dict(fact)
        kind = fact.get("fact")
        if kind == "Package" and fact.get("name") not in separate:
            version = _text(fact.get("version") or "of an unknown version")
            found[f"package.{_text(fact.get('name'))}"] = version
        elif kind in LIBRARY_FACTS:
            rank, value = _library(kind, fact)
            name = f"library.{_text(fact.get('name'))}"
            if value and rank < libraries.get(name, (9, ""))[0]:
                libraries[name] = (rank, value)
        elif kind == "Kernel":
            found["kernel"] = _text(fact.get("release"))
        elif kind == "Glibc":
            found["glibc"] = _text(fact.get("version"))
        elif kind == "Platform" and fact.get("machine"):
            found["processor"] = _text(fact.get("machine"))
        elif kind == "PythonVersion" and fact.get("executable"):
            found.setdefault("python_path", _text(fact.get("executable")))
        elif kind == "Symptom" and fact.get("kind") == "mig-enabled":
            pairs = (pair for pair in _list(fact.get("detail")) if isinstance(pair, list) and len(pair) == 2)
            detail = dict(pairs)
            mig.append(f"GPU {_text(detail.get('gpu'))}: {_text(detail.get('names')) or 'no instances'}")
    found.update({name: value for name, (_, value) in libraries.items()})
    if mig:
        found["mig"] = _text("; ".join(sorted(mig)))
    elif "gpus" in found:
        found["mig"] = "off or not reported"


def _library(kind: str, fact: dict[str, Any]) -> tuple[int, str]:
    """Return how certain a fact about a library is (0 is most certain), and its value ("" if there is nothing
    to compare)."""
    if kind == "LibraryLoaded":
        return 0, _text(fact.get("path"))
    if kind == "LibraryFile":
        return 1, NOT_SEARCHED if fact.get("searched") is False else ""
    return 2, NOT_OPEN


def _gpus(value: Any) -> str:
    """Return the GPUs as text: "2 x NVIDIA A100-SXM4-40GB"."""
    names = Counter(_text(_dict(gpu).get("name")) or "unnamed" for gpu in _list(value)[:1024])
    return _text(", ".join(f"{count} x {name}" for name, count in sorted(names.items())))


def _text(value: Any) -> str:
    return str(value)[:LONGEST] if value is not None else ""


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
