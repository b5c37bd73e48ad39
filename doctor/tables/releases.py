"""Lists TensorFlow releases from tensorflow.json: all, the newest, those that load a library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doctor import lazy
from doctor.tables.ordering import order
from doctor.tables.rows import TensorFlowRelease
from doctor.tables.store import Store, remembered
from doctor.tables.tensorflow import TABLE, converted

_HEAD = lazy.compile(r'\{"package": "([^"]{1,80})", "version": "([^"]{1,80})", "platform": "([^"]{1,80})"')


@remembered
def published(store: Store) -> Mapping[str, str]:
    """Return the day on which the first final release of each minor version was published (releases.json):
    {"2.10": "2022-09-06", ...}."""
    rows = store.all("releases") if store.has("releases") else ()
    return {row["release"]: row["published"] for row in rows}


@remembered
def versions(store: Store, platform: str | None, package: str) -> tuple[str, ...]:
    """Return the versions of a package for a platform (None: any), oldest first. They are read from the first
    part of each row, because parsing the whole table takes longer than a whole check."""
    heads = [match.groups() for match in _HEAD.finditer(store.text(TABLE))]
    if len(heads) != store.text(TABLE).count('"version":'):  # some rows have another form
        heads = [(r["package"], r["version"], r.get("platform", "")) for r in store.all(TABLE)]
    found = {v for p, v, where in heads if p == package and platform in (None, where)}
    return tuple(sorted(found, key=order))


@remembered
def everything(store: Store, platform: str | None, package: str | None) -> tuple[TensorFlowRelease, ...]:
    """Return all releases of a platform (None: all) and package (None: all), oldest first."""
    known = store.all(TABLE) if platform is None else store.matching(TABLE, f'"platform": "{platform}"')
    rows = [
        r
        for r in known
        if (platform is None or r.get("platform") == platform)
        and (package is None or r["package"] == package)
    ]
    return tuple(converted(store, r) for r in sorted(rows, key=_by_age))


def newest_first(store: Store, platform: str, packages: Sequence[str]) -> Iterator[TensorFlowRelease]:
    """Yield the GPU builds for a platform that are not yanked, newest first, one per version. If several
    packages have a version, the one that is first in `packages` counts. Each row is converted only when it is
    requested."""
    for raw in _newest_rows(store, platform, tuple(packages)):
        yield converted(store, raw)


@remembered
def _newest_rows(store: Store, platform: str, packages: tuple[str, ...]) -> tuple[dict[str, Any], ...]:
    rows = [
        r
        for r in store.matching(TABLE, f'"platform": "{platform}"')
        if r.get("platform") == platform and r.get("gpu") and r["package"] in packages
    ]
    found: dict[str, dict[str, Any]] = {}
    for raw in sorted(rows, key=lambda r: (order(r["version"]), -packages.index(r["package"])), reverse=True):
        if raw.get("yanked") in (None, False):
            found.setdefault(raw["version"], raw)
    return tuple(found.values())


@remembered
def opening(store: Store, soname: str, platform: str | None) -> tuple[TensorFlowRelease, ...]:
    """Return the GPU releases that load a library, oldest first. Upper and lower case in DLL names do not
    matter."""
    wanted = _folded(soname)
    # the name of a DLL may have other upper and lower case in the table
    known = store.all(TABLE) if wanted.endswith(".dll") else store.matching(TABLE, f'"{soname}"')
    rows = [
        r
        for r in known
        if (platform is None or r.get("platform") == platform)
        and any(_folded(name) == wanted for name in r.get("libraries") or ())
    ]
    return tuple(converted(store, r) for r in sorted(rows, key=_by_age))


def _folded(name: str) -> str:
    return name.lower() if name.lower().endswith(".dll") else name


def _by_age(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (order(row["version"]), row["package"], row.get("platform", ""))
