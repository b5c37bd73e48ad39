"""`tables refresh` and `tables verify`: the tables against the package index, in the user's own data folder.

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
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from doctor.errors import UnableError, UsageError
from doctor.tables.invariants import problems
from doctor.tables.store import BUNDLED, user_folder
from doctor.tables.tables import Tables
from doctor.tables.tensorflow import TABLE, order

PACKAGES = ("tensorflow", "tensorflow-gpu")
OF_METADATA = (
    "pythons", "wheels", "requires_python", "requires", "extras", "build_info", "summary", "size_mib", "yanked", "gpu",
)  # fmt: skip
"""The keys that reading a wheel's metadata decides; the others come from its libraries."""

OF_INDEX = ("pythons", "wheels", "yanked")
"""The keys that the index alone decides."""

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
    """Exit code 0; 1 where verify finds a difference or refresh finds rows that break a rule.

    Raises UsageError for a release that is not in the table, UnableError where the index cannot be read.
    """
    if args.table == "refresh" and args.undo:
        return undo()
    try:
        return refresh(args.format, args.full) if args.table == "refresh" else verify(args)
    except ModuleNotFoundError as error:
        raise UnableError(str(error)) from error
    except (reading("registry").RegistryError, reading("remote").RemoteError, reading("archive").ArchiveError) as error:
        what, _, hint = str(error).partition(". Next: ")
        raise UnableError(what, hint) from error


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

    def wheels(self, projects: Iterable[str]) -> list[tuple[str, Any]]:
        """One wheel a release for Linux x86_64 of each project, as (project, file)."""
        from concurrent.futures import ThreadPoolExecutor

        registry, nvidia = reading("registry"), reading("nvidia")
        names = tuple(projects)

        def listed(project: str) -> list[Any]:
            files: list[Any] = nvidia.linux_wheels(registry.project_files(project, self.settings.indexes, self.remote))
            return files

        with ThreadPoolExecutor(8) as pool:
            return [(name, file) for name, files in zip(names, pool.map(listed, names), strict=True) for file in files]

    def rows(self, groups: Mapping[Key, Any], title: str, full: bool = False) -> dict[Key, dict[str, Any]]:
        """The rows of these releases as their metadata says them, and with `full` their libraries too."""
        from concurrent.futures import ThreadPoolExecutor

        found: dict[Key, dict[str, Any]] = {}
        progress = reading("progress").Progress(title, len(groups), lambda: self.remote.bytes_read)
        with progress, ThreadPoolExecutor(1 if full else 8) as pool:
            made = pool.map(functools.partial(self._row, full=full), groups.values())
            for key, row in zip(groups, made, strict=True):
                found[key] = row
                progress.step(" ".join(key))
        return found

    def _row(self, group: Any, full: bool) -> dict[str, Any]:
        texts = None if group.sdist is not None else reading("wheeltexts").read_texts(self.remote, group.newest)
        binary = glibc = None
        if full and texts is not None:
            binaries = reading("binaries")
            if binaries.wanted(texts, group.package, group.platform):
                seen = binaries.scan(self.remote, group.newest, texts)
                binary = binaries.derive(seen, group.platform)
                glibc = self._glibc(group, texts, seen) if group.platform.startswith("linux") else {}
        row: dict[str, Any] = reading("rows").build_row(group, texts, binary, glibc)
        return row

    def _glibc(self, group: Any, texts: Any, seen: Any) -> dict[str, str]:
        """The glibc that the wheel of each Python needs."""
        found = {}
        for name, file in group.wheels:
            theirs = texts if file is group.newest else reading("wheeltexts").read_texts(self.remote, file)
            needed = reading("binaries").glibc_of_other_python(self.remote, file, theirs, texts, seen)
            if needed:
                found[name.python] = needed
        return found


# --- refresh -------------------------------------------------------------------------------------


def refresh(form: str, full: bool) -> int:
    """Add what the index has and the tables have not: TensorFlow releases, NVIDIA's wheels, cuDNN's GPUs; and note
    releases whose files changed. Says what changed."""
    tables = Tables.bundled()
    index = Index()
    found: list[dict[str, Any]] = []
    fresh: dict[str, list[dict[str, Any]]] = {
        TABLE: _tensorflow(tables, index, found, full),
        "nvidia_wheels": _nvidia(tables, index, found, "nvidia_wheels"),
        "cudnn": _nvidia(tables, index, found, "cudnn"),
    }
    wrong = [*problems(fresh[TABLE]), *(p for name in ("nvidia_wheels", "cudnn") for p in wheel_problems(fresh[name]))]
    if wrong:
        print(
            "tfgpu-doctor tables: what the index holds breaks the tables' rules; nothing was written:", file=sys.stderr
        )
        for problem in wrong[:20]:
            print(f"  {problem}", file=sys.stderr)
        return 1
    changed = [name for name in fresh if any(entry["table"] == name for entry in found)]
    written = [write(name, fresh[name]) for name in changed]
    _report(found, written, tables.date, form)
    return 0


def _tensorflow(tables: Tables, index: Index, found: list[dict[str, Any]], full: bool) -> list[dict[str, Any]]:
    """The rows of the TensorFlow table as the index has them now; notes the changes in `found`."""
    known = {_key(row): row for row in tables.store.all(TABLE)}
    groups = index.groups(PACKAGES)
    build_row = reading("rows").build_row
    rows = dict(known)
    for key, row in known.items():
        if key not in groups:
            continue
        listed = build_row(groups[key], None, None, None)
        other = {column: listed[column] for column in OF_INDEX if row.get(column) != listed[column]}
        if other:
            rows[key] = {**row, **other}
            found.append({"table": TABLE, "change": "changed", "what": " ".join(key), "keys": sorted(other)})
    new = index.rows({key: group for key, group in groups.items() if key not in known}, "reading new releases", full)
    for key, row in new.items():
        rows[key] = row
        found.append({"table": TABLE, "change": "new", "what": " ".join(key), "row": row})
    return [rows[key] for key in sorted(rows, key=_place)]


def _nvidia(tables: Tables, index: Index, found: list[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    """The rows of a table of NVIDIA's wheels with those that are new on the index; notes these in `found`."""
    nvidia = reading("nvidia")
    rows = list(tables.store.all(table))
    known = {row["source"] for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        cache = reading("cache").Cache(Path(folder))
        if table == "cudnn":
            new = [nvidia.read_cudnn(project, file, index.settings, cache)
                   for project, file in index.wheels(nvidia.CUDNN) if file.filename not in known]  # fmt: skip
        else:
            new = [nvidia.read_wheel(project, file, index.remote, cache)
                   for project, file in index.wheels(nvidia.PROJECTS) if file.filename not in known]  # fmt: skip
    found += [{"table": table, "change": "new", "what": row["source"], "row": row} for row in new]
    return [*rows, *new]


def wheel_problems(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """What is wrong with rows that come from NVIDIA's wheels, one line each."""
    return [
        f"{row.get('source')}: no version, or no sha256 beside its file"
        for row in rows
        if "package" in row and not (row.get("version") and re.fullmatch(r"[0-9a-f]{64}", row.get("sha256", "")))
    ]


def write(table: str, rows: list[dict[str, Any]]) -> Path:
    """Lay a table into the user's data folder, with its hash beside it; what was there before is kept for undo."""
    folder = user_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{table}.json"
    text: str = reading("table").dump_table(rows, f"{datetime.now(timezone.utc):%Y-%m-%d}")
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
    """Go back to the tables before the last refresh: those of the refresh before it, or the bundled ones."""
    paths = sorted(user_folder().glob("*.json"))
    if not paths:
        print("There is no refreshed table: those that ship with the tool are in use.")
        return 0
    for path in paths:
        for file in (path, _hash_of(path)):
            file.unlink(missing_ok=True)
            previous = file.with_name(f"{file.name}.previous")
            if previous.exists():
                previous.replace(file)
        print(f"{path}: {'the refresh before the last one is back' if path.exists() else 'removed'}.")
    return 0


def _report(found: list[dict[str, Any]], written: list[Path], before: str, form: str) -> None:
    if form == "json":
        print(json.dumps({"before": before, "written": [str(path) for path in written], "changes": found}))
        return
    for entry in found:
        if entry["change"] == "changed":
            print(f"changed: {entry['what']}: {', '.join(entry['keys'])}")
        elif entry["table"] == TABLE:
            kind = "GPU build" if entry["row"]["gpu"] else "CPU build"
            print(f"new: {entry['what']} ({kind}, Python {', '.join(entry['row']['pythons'])})")
        else:
            print(f"new: {entry['what']} ({entry['table']})")
    if not written:
        print(f"Nothing new since {before}.")
        return
    print(f"Wrote {', '.join(str(path) for path in written)}.")
    print("Back to the tables before: tfgpu-doctor tables refresh --undo")


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
        raise UsageError(f"no release {', '.join(missing)} in the table", f"the nearest are {', '.join(near)}")
    index = Index()
    groups = index.groups(sorted({package for package, _, _ in known}))
    gone = [key for key in known if key not in groups]
    read = index.rows({key: groups[key] for key in known if key in groups}, "reading releases again", args.full)
    differences = {key: _different(known[key], row, [*row] if args.full else OF_METADATA) for key, row in read.items()}
    for key in known:
        name = " ".join(key)
        if key in gone:
            print(f"{name}: no longer on the index")
        elif not differences[key]:
            print(f"{name}: as in the table ({'every key' if args.full else ', '.join(OF_METADATA)})")
        else:
            for column, (ours, theirs) in differences[key].items():
                print(f"{name}: {column}: the table has {json.dumps(ours)}, the wheel says {json.dumps(theirs)}")
    return 1 if gone or any(differences.values()) else 0


def _different(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], columns: Iterable[str]
) -> dict[str, tuple[Any, Any]]:
    pairs = {column: (ours.get(column), theirs.get(column)) for column in columns}
    return {column: pair for column, pair in pairs.items() if pair[0] != pair[1]}


def _key(row: Mapping[str, Any]) -> Key:
    return row["package"], row["version"], row["platform"]


def _place(key: Key) -> tuple[Any, ...]:
    from doctor.tables.rows import PLATFORMS

    package, version, platform = key
    return package, order(version), (*PLATFORMS, "any").index(platform)
