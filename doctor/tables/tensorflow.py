"""Chooses a TensorFlow release from tensorflow.json."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from doctor.backports import removeprefix
from doctor.tables.ordering import is_final, order
from doctor.tables.rows import ComputeCapabilities, TensorFlowRelease, made
from doctor.tables.store import Store, remembered
from doctor.tables.versions import minor

TABLE = "tensorflow"


def release(raw: Mapping[str, Any]) -> TensorFlowRelease:
    """Convert a row of the file to a TensorFlowRelease. Missing keys become None or empty, never a guess."""
    source = raw.get("source") or {}
    wheel = str(source.get("file") or "") if isinstance(source, Mapping) else str(source)
    versions = [f"{name} {raw[key]}" for name, key in (("CUDA", "cuda"), ("cuDNN", "cudnn")) if raw.get(key)]
    built = "a CPU build" if raw.get("gpu") is False else ", ".join(versions) or "CUDA not stated"
    platform = raw.get("platform", "")
    return made(
        TensorFlowRelease,
        raw,
        f"{raw['package']} {raw['version']} {platform}: {built}",
        source=wheel,
        platform=platform,
        compute_capabilities=_capabilities(raw.get("compute_capabilities")),
        yanked=raw.get("yanked") not in (None, False),
    )


@remembered
def pick(store: Store, version: str, package: str | None, platform: str) -> TensorFlowRelease | None:
    """Return one release, or None; see Tables.tensorflow."""
    # the spellings of people and builds: v2.3.0, 2.16.0-rc0, 2.15.0+nv23.11, 2.3.x
    version = re.sub(r"-(?=rc|a|b)|\.[x*]$|\+.*", "", removeprefix(version.strip(), "v"))
    rows = [r for r in _of(store, version) if r["version"] == version and r.get("platform") == platform]
    if not rows:
        rows = _newest(
            r for r in _of(store, version) if r.get("platform") == platform and _within(r["version"], version)
        )
    if package is not None:
        rows = [r for r in rows if r["package"] == package]
    best = min(rows, key=_preference, default=None)
    return None if best is None else converted(store, best)


def converted(store: Store, raw: Mapping[str, Any]) -> TensorFlowRelease:
    """Return a row of the file as a TensorFlowRelease. Each row is converted only once."""
    key = (release, raw["package"], raw["version"], raw.get("platform"))
    if key not in store.answers:
        store.answers[key] = release(raw)
    value: TensorFlowRelease = store.answers[key]
    return value


def _of(store: Store, version: str) -> Sequence[dict[str, Any]]:
    # the prefix "2.3" finds "2.3.1" and the exact release
    if store.parsed(TABLE):
        rows: Sequence[dict[str, Any]] = _by_minor(store).get(minor(version), ())
    else:
        rows = tuple(store.matching(TABLE, f'"version": "{version}'))
    return [row for row in rows if str(row.get("version", "")).startswith(version)]


@remembered
def _by_minor(store: Store) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in store.all(TABLE):
        for name in {minor(row["version"]), row["version"].split(".")[0]}:
            found.setdefault(name, []).append(row)
    return found


def _within(found: str, asked: str) -> bool:
    return found == asked or (found.startswith(asked) and not found[len(asked)].isdigit())


def _newest(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    found = list(rows)
    found = [r for r in found if is_final(r["version"])] or found
    newest = max((order(r["version"]) for r in found), default=None)
    return [r for r in found if order(r["version"]) == newest]


def _preference(row: Mapping[str, Any]) -> tuple[int, int]:
    packages = (
        "tensorflow",
        "tensorflow-gpu",
        "tf-nightly",
        "tensorflow-intel",
        "tensorflow-cpu",
        "tensorflow-macos",
    )
    name = row["package"]
    return (0 if row.get("gpu") else 1, packages.index(name) if name in packages else len(packages))


def _capabilities(raw: Mapping[str, Any] | None) -> ComputeCapabilities | None:
    if raw is None:
        return None
    isa = {target: tuple(versions) for target, versions in (raw.get("ptx_isa") or {}).items()}
    return ComputeCapabilities(tuple(raw["compiled"]), tuple(raw["ptx"]), isa)
