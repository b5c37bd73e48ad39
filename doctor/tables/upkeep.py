"""The actions `tables refresh`, which adds releases that the package index has and the tables lack, and
`tables verify`, which compares the tables with the index."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from doctor.errors import UnableError, UsageError
from doctor.printable import say
from doctor.tables.index import PACKAGES, Index
from doctor.tables.ordering import key_of, nearest, order
from doctor.tables.refresh import refresh, undo
from doctor.tables.tables import Tables
from doctor.tables.tensorflow import TABLE


def run(args: argparse.Namespace) -> int:
    """Run refresh or verify. Return the exit code: 1 if verify finds a difference or refresh finds rows that
    break a rule, otherwise 0.

    Raises UsageError for a release that is not in the table, UnableError if the index cannot be read.
    """
    if args.table == "refresh" and args.undo:
        return undo()
    from doctor.tables.reading.archive import ArchiveError
    from doctor.tables.reading.registry import RegistryError
    from doctor.tables.reading.remote import RemoteError

    try:
        return refresh(args.format, args.full) if args.table == "refresh" else verify(args)
    except (RegistryError, RemoteError, ArchiveError) as error:
        what, _, hint = str(error).partition(". Next: ")
        raise UnableError(what, hint) from error


def verify(args: argparse.Namespace) -> int:
    """Read releases again and compare them with the table. Return 1 if they differ, otherwise 0."""
    from doctor.tables.reading.rows import OF_METADATA

    compared = (*OF_METADATA, "gpu")  # without the libraries, only these values can be read again
    tables = Tables.bundled()
    packages = (args.package,) if args.package else PACKAGES
    wanted = args.key or [max((r.version for r in tables.releases()), key=order)]
    known = {
        key_of(row): row
        for row in tables.store.all(TABLE)
        if row["version"] in wanted
        and row["package"] in packages
        and (args.platform is None or row["platform"].startswith(args.platform))
    }
    missing = [version for version in wanted if version not in {version for _, version, _ in known}]
    if missing:
        near = nearest(missing[0], [row.version for row in tables.releases(None)])
        raise UsageError(
            f"the table has no release {', '.join(missing)}", f"the nearest are {', '.join(near)}"
        )
    index = Index()
    groups = index.groups(sorted({package for package, _, _ in known}))
    gone = [key for key in known if key not in groups]
    read = index.rows(
        {key: groups[key] for key in known if key in groups}, "reading releases again", args.full
    )
    differences = {
        key: _different(known[key], row, [*row] if args.full else compared) for key, row in read.items()
    }
    for key in known:
        name = " ".join(key)
        if key in gone:
            say(f"{name}: no longer in the index", sys.stdout)
        elif not differences[key]:
            say(f"{name}: as in the table ({'every key' if args.full else ', '.join(compared)})", sys.stdout)
        else:
            for column, (ours, theirs) in differences[key].items():
                values = f"the table has {json.dumps(ours)}, the wheel says {json.dumps(theirs)}"
                say(f"{name}: {column}: {values}", sys.stdout)
    return 1 if gone or any(differences.values()) else 0


def _different(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], columns: Iterable[str]
) -> dict[str, tuple[Any, Any]]:
    pairs = {column: (ours.get(column), theirs.get(column)) for column in columns}
    return {column: pair for column, pair in pairs.items() if pair[0] != pair[1]}
