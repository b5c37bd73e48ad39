"""The action `tables refresh`: reads the releases that are in the package index but not in the tables, and
writes the new tables into the user's data folder. `--undo` restores the earlier tables.

The bundled tables are never changed.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from doctor.errors import UnableError
from doctor.files import write_whole
from doctor.folders import NO_HOME, temporary_folder
from doctor.printable import say
from doctor.tables.index import PACKAGES, Index
from doctor.tables.invariants import problems
from doctor.tables.ordering import key_of, table_order
from doctor.tables.store import user_folder
from doctor.tables.tables import Tables
from doctor.tables.tensorflow import TABLE

OF_INDEX = ("pythons", "wheels", "yanked")
"""The keys of a row whose values come from the index alone."""


def refresh(form: str, full: bool) -> int:
    """Add to the tables what only the index has: TensorFlow releases, NVIDIA's wheels, and the GPUs that
    cuDNN releases support. Also update releases whose files changed. Print the changes as `form` (json or
    text). With `full`, read the libraries of new releases, too. Return 1 if rows break a rule, otherwise
    0."""
    tables = Tables.bundled()
    index = Index()
    found: list[dict[str, Any]] = []
    fresh: dict[str, list[dict[str, Any]]] = {
        TABLE: _tensorflow(tables, index, found, full),
        "nvidia_wheels": _nvidia(tables, index, found, "nvidia_wheels"),
        "cudnn": _nvidia(tables, index, found, "cudnn"),
    }
    wrong = [
        *problems(fresh[TABLE]),
        *(p for name in ("nvidia_wheels", "cudnn") for p in wheel_problems(fresh[name])),
    ]
    if wrong:
        say("tfgpu-doctor tables: the rows from the index break the tables' rules, so nothing was written:")
        for problem in wrong[:20]:
            say(f"  {problem}")
        return 1
    changed = [name for name in fresh if any(entry["table"] == name for entry in found)]
    written = [write(name, fresh[name]) for name in changed]
    _report(found, written, tables.date, form)
    return 0


def _tensorflow(
    tables: Tables, index: Index, found: list[dict[str, Any]], full: bool
) -> list[dict[str, Any]]:
    """Return the rows for the TensorFlow table according to the current index. Adds the changes to
    `found`."""
    from doctor.tables.reading.rows import build_row

    known = {key_of(row): row for row in tables.store.all(TABLE)}
    groups = index.groups(PACKAGES)
    rows = dict(known)
    for key, row in known.items():
        if key not in groups:
            continue
        listed = build_row(groups[key], None, None, None)
        other = {column: listed[column] for column in OF_INDEX if row.get(column) != listed[column]}
        if other:
            rows[key] = {**row, **other}
            found.append({"table": TABLE, "change": "changed", "what": " ".join(key), "keys": sorted(other)})
    new = index.rows(
        {key: group for key, group in groups.items() if key not in known}, "reading new releases", full
    )
    for key, row in new.items():
        rows[key] = row
        found.append({"table": TABLE, "change": "new", "what": " ".join(key), "row": row})
    return [rows[key] for key in sorted(rows, key=table_order)]


def _nvidia(tables: Tables, index: Index, found: list[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    """Return the rows for a table of NVIDIA's wheels, including those of releases that are new in the
    index. Adds the new rows to `found`."""
    from doctor.tables.reading import nvidia
    from doctor.tables.reading.cache import Cache

    rows = list(tables.store.all(table))
    # by release, because a release may have several wheels for Linux x86_64, listed in any order
    known = {(row.get("package"), row["version"]) for row in rows}
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        cache, cudnn = Cache(Path(folder)), table == "cudnn"
        new = [
            nvidia.read_cudnn(project, file, index.settings, cache)
            if cudnn
            else nvidia.read_wheel(project, file, index.remote, cache)
            for project, file in index.wheels(nvidia.CUDNN if cudnn else nvidia.PROJECTS)
            if (project, file.filename.split("-")[1]) not in known
        ]
    found += [{"table": table, "change": "new", "what": row["source"], "row": row} for row in new]
    return [*rows, *new]


def wheel_problems(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the faults in rows about NVIDIA's wheels, one line for each fault."""
    return [
        f"{row.get('source')}: no version, or no sha256 for its file"
        for row in rows
        if "package" in row
        and not (row.get("version") and re.fullmatch(r"[0-9a-f]{64}", row.get("sha256", "")))
    ]


def write(table: str, rows: list[dict[str, Any]]) -> Path:
    """Write a table and its hash to the user's data folder. Return the path of the table. The previous files
    are kept for `--undo`."""
    from doctor.tables.reading.table import dump_table

    folder = user_folder()
    if folder is None:
        raise UnableError(
            f"there is no folder for refreshed tables: {NO_HOME}", "set TFGPU_DOCTOR_TABLES to a folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{table}.json"
    raw = dump_table(rows, table).encode("utf-8")
    for file in (path, _hash_of(path)):
        if file.exists():
            file.replace(file.with_name(f"{file.name}.previous"))
    write_whole(path, raw)
    write_whole(_hash_of(path), f"{hashlib.sha256(raw).hexdigest()}\n".encode("ascii"))
    return path


def _hash_of(path: Path) -> Path:
    return path.with_suffix(".json.sha256")


def undo() -> int:
    """Restore the tables from before the last refresh: those of an earlier refresh, or the bundled ones."""
    folder = user_folder()
    paths = sorted(folder.glob("*.json")) if folder is not None else []
    if not paths:
        say("There are no refreshed tables: the tool already uses the tables that ship with it.", sys.stdout)
        return 0
    for path in paths:
        for file in (path, _hash_of(path)):
            file.unlink(missing_ok=True)
            previous = file.with_name(f"{file.name}.previous")
            if previous.exists():
                previous.replace(file)
        say(
            f"{path}: {'the tables of the previous refresh are restored' if path.exists() else 'removed'}.",
            sys.stdout,
        )
    return 0


def _report(found: list[dict[str, Any]], written: list[Path], before: str, form: str) -> None:
    if form == "json":
        say(
            json.dumps({"before": before, "written": [str(path) for path in written], "changes": found}),
            sys.stdout,
        )
        return
    for entry in found:
        if entry["change"] == "changed":
            say(f"changed: {entry['what']}: {', '.join(entry['keys'])}", sys.stdout)
        elif entry["table"] == TABLE:
            kind = "GPU build" if entry["row"]["gpu"] else "CPU build"
            say(f"new: {entry['what']} ({kind}, Python {', '.join(entry['row']['pythons'])})", sys.stdout)
        else:
            say(f"new: {entry['what']} ({entry['table']})", sys.stdout)
    if not written:
        say(f"Nothing new since {before}.", sys.stdout)
        return
    say(f"Wrote {', '.join(str(path) for path in written)}.", sys.stdout)
    say("To go back to the earlier tables: tfgpu-doctor tables refresh --undo", sys.stdout)
