"""Converts the rows about libraries, cuDNN and the traps to values, and chooses the row for a given name or
version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.backports import removeprefix
from doctor.tables.rows import Cudnn, Library, Row, Trap, made
from doctor.tables.store import Store, remembered
from doctor.tables.versions import dotted


def cudnns(store: Store) -> tuple[Cudnn, ...]:
    """Every cuDNN release, oldest first, with one row for each wheel that was read."""
    return store.made("cudnn", _cudnn)


@remembered
def cudnn(store: Store, version: str, cuda_major: str | None = None) -> Cudnn | None:
    """The row of a cuDNN release. For a shorter version ("9", "8.9"), the newest release that starts with
    it."""
    try:
        wanted = tuple(int(p) for p in removeprefix(version.strip(), "v").split("."))
    except ValueError:
        return None
    rows = [
        row
        for row in cudnns(store)
        if tuple(int(p) for p in row.version.split("."))[: len(wanted)] == wanted
        and (cuda_major is None or cuda_major in row.cuda)
    ]
    return max(rows, key=lambda row: (dotted(row.version), [int(c) for c in row.cuda]), default=None)


def _cudnn(raw: Mapping[str, Any]) -> Cudnn:
    kernels = ", ".join(raw.get("capabilities") or ()) or "capabilities not read"
    return made(
        Cudnn, raw, f"cuDNN {raw['version']} for CUDA {', '.join(raw['cuda'])}: kernels for {kernels}"
    )


def compiled_cudnn(store: Store) -> tuple[Row, ...]:
    """The rows of cudnn_compiled.json."""
    return store.made("cudnn_compiled", _compiled_cudnn)


def _compiled_cudnn(raw: Mapping[str, Any]) -> Row:
    return made(Row, raw, f"TensorFlow {raw['versions']}: compiled with cuDNN {raw['cudnn']}")


def libraries(store: Store) -> tuple[Library, ...]:
    """The catalogue of library names."""
    return store.made("libraries", _library)


@remembered
def library(store: Store, soname: str) -> Library | None:
    """The row for a library name, in upper or lower case; None if there is none. Only this row is
    converted."""
    folded = soname.lower()
    found = next((raw for raw in store.all("libraries") if raw["soname"].lower() == folded), None)
    return None if found is None else _library(found)


def _library(raw: Mapping[str, Any]) -> Library:
    first, product = raw.get("first"), raw.get("product", "CUDA")
    releases = f", {product} {span(first, raw.get('last'))}" if first else ""
    return made(Library, raw, f"{raw['soname']}: {raw['component']}{releases}")


def span(first: str | None, last: str | None) -> str:
    """Return a range of releases as text: "11.0", "10.1 to 10.2", or "12.0 to now" if it is still open."""
    return str(first) if first == last else f"{first} to {last or 'now'}"


def traps(store: Store) -> tuple[Trap, ...]:
    """The known traps."""
    return store.made("traps", lambda raw: made(Trap, raw, f"{raw['name']}: {raw['title']}"))
