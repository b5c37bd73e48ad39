"""`tables refresh` and `tables verify`: the table against the package index, in the user's own data folder.

The bundled tables are never touched. The reader of wheels is the one that builds the bundled table: it stands in
doctor/tables/reading of an installed tool and in scripts/tables of a checkout.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from doctor.tables.invariants import problems
from doctor.tables.store import BUNDLED, user_folder
from doctor.tables.tables import Tables
from doctor.tables.tensorflow import TABLE, order

PACKAGES = ("tensorflow", "tensorflow-gpu")
OF_METADATA = (
    "pythons", "wheels", "requires_python", "requires", "extras", "build_info", "summary", "size_mib", "yanked", "gpu",
)  # fmt: skip
"""The keys that reading a wheel's metadata decides; the others come from its libraries."""

Key = tuple[str, str, str]


def reading(name: str) -> Any:
    """A module of the reader of wheels."""
    package = "doctor.tables.reading"
    if importlib.util.find_spec(package) is None:
        folder = BUNDLED.parent / "scripts" / "tables"
        spec = importlib.util.spec_from_file_location(
            package, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        if spec is None or spec.loader is None or not folder.is_dir():
            raise ModuleNotFoundError(f"the reader of wheels is not at {folder}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[package] = module
        spec.loader.exec_module(module)
    return importlib.import_module(f"{package}.{name}")


def run(args: argparse.Namespace) -> int:
    """Exit code 0; 1 where verify finds a difference or refresh finds rows that break an invariant; 2 for a release
    that is not in the table; 3 where the index cannot be read."""
    if args.table == "refresh" and args.undo:
        return undo()
    try:
        return refresh(args.format) if args.table == "refresh" else verify(args)
    except ModuleNotFoundError as error:
        print(f"tfgpu-doctor tables: {error}", file=sys.stderr)
        return 3
    except (reading("registry").RegistryError, reading("remote").RemoteError, reading("archive").ArchiveError) as error:
        print(f"tfgpu-doctor tables: {error}", file=sys.stderr)
        return 3


class Index:
    """The releases that the package index offers, and the reader of one of them."""

    def __init__(self) -> None:
        registry, remote = reading("registry"), reading("remote")
        self.settings = registry.pip_settings()
        self.remote = remote.Remote(functools.partial(registry.session_for, self.settings))

    def groups(self, packages: Iterable[str]) -> dict[Key, Any]:
        """Every release of the packages by package, version and platform, in the table's order."""
        registry, releases = reading("registry"), reading("releases")
        return {
            (group.package, str(group.version), group.platform): group
            for package in packages
            for group in releases.group_files(
                package, registry.project_files(package, self.settings.indexes, self.remote)
            )
        }

    def rows(self, groups: Mapping[Key, Any], title: str) -> dict[Key, dict[str, Any]]:
        """The rows of these releases as their metadata says them."""
        from concurrent.futures import ThreadPoolExecutor

        read_texts, build_row = reading("wheeltexts").read_texts, reading("rows").build_row
        found: dict[Key, dict[str, Any]] = {}

        def read(group: Any) -> dict[str, Any]:
            texts = None if group.sdist is not None else read_texts(self.remote, group.newest)
            row: dict[str, Any] = build_row(group, texts, None, None)
            return row

        progress = reading("progress").Progress(title, len(groups), lambda: self.remote.bytes_read)
        with progress, ThreadPoolExecutor(8) as pool:
            for key, row in zip(groups, pool.map(read, groups.values()), strict=True):
                found[key] = row
                progress.step(" ".join(key))
        return found


# --- refresh -------------------------------------------------------------------------------------


def refresh(form: str) -> int:
    """Add the releases that the index has and the table has not, and note changed files; say what changed."""
    tables = Tables.bundled()
    known = {_key(row): row for row in tables.store.all(TABLE)}
    index = Index()
    groups = index.groups(PACKAGES)
    rows_module = reading("rows")
    listed = {key: _listed(rows_module, group) for key, group in groups.items()}
    new = {key: group for key, group in groups.items() if key not in known}
    rows = {key: {**row, **_changes(row, listed.get(key))} for key, row in known.items()}
    changed = {key: sorted(_changes(known[key], listed.get(key))) for key in known if rows[key] != known[key]}
    rows |= index.rows(new, "reading new releases")
    found: list[dict[str, Any]] = [
        *({"change": "new", "release": " ".join(key), "row": rows[key]} for key in new),
        *({"change": "changed", "release": " ".join(key), "keys": keys} for key, keys in changed.items()),
    ]
    wrong = problems(rows.values())
    if wrong:
        print(
            "tfgpu-doctor tables: what the index holds breaks the table's rules; nothing was written:", file=sys.stderr
        )
        for problem in wrong[:20]:
            print(f"  {problem}", file=sys.stderr)
        return 1
    path = None
    if found:
        path = write([rows[key] for key in sorted(rows, key=_place)])
    _report(found, path, tables.date, form)
    return 0


def _listed(rows_module: Any, group: Any) -> dict[str, Any]:
    """What the index alone says of a release: its files, and whether they are yanked."""
    row: dict[str, Any] = rows_module.build_row(group, None, None, None)
    return {key: row[key] for key in ("pythons", "wheels", "yanked")}


def _changes(row: Mapping[str, Any], listed: Mapping[str, Any] | None) -> dict[str, Any]:
    return {} if listed is None else {key: value for key, value in listed.items() if row.get(key) != value}


def write(rows: list[dict[str, Any]]) -> Path:
    """Lay the table into the user's data folder, with its hash beside it; what was there before is kept for undo."""
    folder = user_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{TABLE}.json"
    today = datetime.now(timezone.utc).date()
    text: str = reading("table").dump_table(rows, f"{today:%Y-%m-%d}")
    raw = text.encode("utf-8")
    for file in (path, _hash_of(path)):
        if file.exists():
            file.replace(file.with_name(f"{file.name}.previous"))
    _put(path, raw)
    _put(_hash_of(path), f"{hashlib.sha256(raw).hexdigest()}\n".encode("ascii"))
    return path


def _hash_of(path: Path) -> Path:
    return path.with_suffix(".json.sha256")


def _put(path: Path, raw: bytes) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(raw)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def undo() -> int:
    """Go back to the table before the last refresh: the refresh before it, or the bundled table."""
    path = user_folder() / f"{TABLE}.json"
    if not path.exists():
        print("There is no refreshed table: the one that ships with the tool is in use.")
        return 0
    for file in (path, _hash_of(path)):
        file.unlink(missing_ok=True)
        previous = file.with_name(f"{file.name}.previous")
        if previous.exists():
            previous.replace(file)
    print(f"{path}: {'the refresh before the last one is back' if path.exists() else 'removed'}.")
    return 0


def _report(found: list[dict[str, Any]], path: Path | None, before: str, form: str) -> None:
    if form == "json":
        print(json.dumps({"before": before, "written": None if path is None else str(path), "changes": found}))
        return
    for entry in found:
        if entry["change"] == "new":
            row = entry["row"]
            kind = "GPU build" if row["gpu"] else "CPU build"
            print(f"new: {entry['release']} ({kind}, Python {', '.join(row['pythons'])})")
        else:
            print(f"changed: {entry['release']}: {', '.join(entry['keys'])}")
    if path is None:
        print(f"Nothing new since {before}.")
    else:
        print(f"Wrote {path}. Back to the tables before: tfgpu-doctor tables refresh --undo")


# --- verify --------------------------------------------------------------------------------------


def verify(args: argparse.Namespace) -> int:
    """Read releases again and compare what their metadata says with the table."""
    tables = Tables.bundled()
    packages = (args.package,) if args.package else PACKAGES
    wanted = args.key or [max((r.version for r in tables.releases()), key=order)]
    known = {
        _key(row): row
        for row in tables.store.all(TABLE)
        if row["version"] in wanted
        and row["package"] in packages
        and (args.platform is None or row["platform"].startswith(args.platform))
    }
    missing = [version for version in wanted if version not in {version for _, version, _ in known}]
    if missing:
        from doctor.tables.lookup import nearest

        near = nearest(missing[0], [row.version for row in tables.releases(None)])
        print(f"tfgpu-doctor tables: no release {', '.join(missing)} in the table; the nearest are {', '.join(near)}",
              file=sys.stderr)  # fmt: skip
        return 2
    index = Index()
    groups = index.groups(sorted({package for package, _, _ in known}))
    gone = [key for key in known if key not in groups]
    read = index.rows({key: groups[key] for key in known if key in groups}, "reading releases again")
    differences = {key: _different(known[key], row) for key, row in read.items()}
    for key in known:
        name = " ".join(key)
        if key in gone:
            print(f"{name}: no longer on the index")
        elif not differences[key]:
            print(f"{name}: as in the table ({', '.join(OF_METADATA)})")
        else:
            for column, (ours, theirs) in differences[key].items():
                print(f"{name}: {column}: the table has {json.dumps(ours)}, the wheel says {json.dumps(theirs)}")
    return 1 if gone or any(differences.values()) else 0


def _different(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    pairs = {column: (ours.get(column), theirs.get(column)) for column in OF_METADATA}
    return {column: pair for column, pair in pairs.items() if pair[0] != pair[1]}


def _key(row: Mapping[str, Any]) -> Key:
    return row["package"], row["version"], row["platform"]


def _place(key: Key) -> tuple[Any, ...]:
    from doctor.tables.rows import PLATFORMS

    package, version, platform = key
    return package, order(version), (*PLATFORMS, "any").index(platform)
