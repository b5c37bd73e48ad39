"""Reads tables: finds the file of a table, reads its text once, and parses only the requested lines.

A table is a JSON document with one row per line. So a diff shows rows, and a look-up does not have to parse
the whole file:

    {"table": "cuda", "schema": 1, "date": "2026-11-21",
    "rows": [
    {"cuda": "12.5", …},
    …
    ]}
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from doctor import resources
from doctor.backports import removesuffix
from doctor.folders import data_base

if TYPE_CHECKING:
    from pathlib import Path  # the functions import it themselves, because few runs need it
    from typing import Concatenate, ParamSpec, Protocol

    P = ParamSpec("P")
else:
    Protocol = object

R = TypeVar("R")

BUNDLED = "compat_tables"
"""The package that contains the tables that ship with the tool. It may not be a folder in the file system."""

_HEAD = 4096
"""The first line of a table file ends within this many characters."""
_MOST_REMEMBERED = 20_000
"""The maximum number of answers to keep. Without it, a report could fill the memory with answers."""


class TableError(ValueError):
    """A table file cannot be read, or does not have the expected format."""


class Remembering(Protocol):
    """An object that keeps the answers to its look-ups."""

    @property
    def answers(self) -> dict[Any, Any]: ...


M = TypeVar("M", bound=Remembering)


def remembered(look_up: Callable[Concatenate[M, P], R]) -> Callable[Concatenate[M, P], R]:
    """Decorate a look-up so that the tables object caches its answers, because many reports need the same
    look-up.

    The other arguments must be hashable, and the caller must not change an answer.
    """

    @functools.wraps(look_up)
    def known(tables: M, /, *asked: P.args, **named: P.kwargs) -> R:
        key = (look_up, asked, *named.items())
        answers = tables.answers
        try:
            answer: R = answers[key]
        except KeyError:
            answer = look_up(tables, *asked, **named)
            if len(answers) >= _MOST_REMEMBERED:
                answers.clear()
            answers[key] = answer
        return answer

    return known


def user_folder() -> Path | None:
    """Return the folder for refreshed tables (the platform's folder for application data, below the user's
    home), or None if the user has no home folder.

    TFGPU_DOCTOR_TABLES overrides it (an empty value means: no refreshed tables at all, see `Store`).
    """
    from pathlib import Path

    place = _user_folder()
    return Path(place) if place is not None else None


def _user_folder() -> str | None:
    override = os.environ.get("TFGPU_DOCTOR_TABLES")
    if override:
        return override
    base = data_base()
    return os.path.join(base, "tfgpu-doctor", "tables") if base is not None else None  # noqa: PTH118


def refreshed_folder() -> Path | None:
    """Return the folder for refreshed tables, or None if it does not exist."""
    place = _user_folder()
    return user_folder() if place is not None and os.path.isdir(place) else None  # noqa: PTH112


def head_date(text: str) -> str | None:
    """Return the date in a table's first line, or None if there is none."""
    head = text[:_HEAD]
    end = head.find('"rows"')
    # version 0.1 wrote "generated" into refreshed tables
    match = re.search(r'"(?:date|generated)"\s*:\s*"(\d{4}-\d\d-\d\d)', head[: end if end >= 0 else _HEAD])
    return match.group(1) if match else None


class Store:
    """The tables in one folder, with an optional folder of refreshed tables that override them."""

    def __init__(self, folder: Path | None = None, refreshed: Path | None = None) -> None:
        """Use the tables in `folder`; None means the tables that ship with the tool."""
        self.folder = folder
        self.refreshed = refreshed
        self.notes: list[str] = []
        self._texts: dict[str, str] = {}
        self._rows: dict[str, dict[int, dict[str, Any]]] = {}
        """The rows of each table that `matching` parsed, by the offsets of their lines."""
        self._parsed: dict[str, tuple[dict[str, Any], ...]] = {}
        self._made: dict[str, tuple[Any, ...]] = {}
        self.answers: dict[Any, Any] = {}

    def text(self, table: str) -> str:
        """Return the text of a table's file. A file that is missing in a folder other than the bundled one
        counts as a table without rows, and is noted. Raises TableError if the file is not UTF-8, or if a
        bundled file is missing."""
        if table not in self._texts:
            self._texts[table] = self._read(table)
        return self._texts[table]

    def has(self, table: str) -> bool:
        """Whether the table exists."""
        return self.folder is None or (self.folder / f"{table}.json").is_file()

    def date(self, table: str) -> str | None:
        """Return the day on which the table was generated ("2026-11-21")."""
        return head_date(self.text(table))

    def all(self, table: str) -> tuple[dict[str, Any], ...]:
        """Return every row. The table is parsed only once."""
        if table not in self._parsed:
            try:
                document = json.loads(self.text(table))
                rows = document["rows"] if isinstance(document, dict) else document
            except (ValueError, KeyError) as error:
                raise TableError(f"{self._place(table)} is not a table: {error}") from error
            self._parsed[table] = tuple(row for row in rows if isinstance(row, dict))
        return self._parsed[table]

    def made(self, table: str, make: Callable[[dict[str, Any]], R]) -> tuple[R, ...]:
        """Return every row, converted by `make`. Rows are converted only once, so each table must always get
        the same `make`."""
        if table not in self._made:
            self._made[table] = tuple(make(raw) for raw in self.all(table))
        return self._made[table]

    def parsed(self, table: str) -> bool:
        """Whether the whole table has been parsed already."""
        return table in self._parsed

    def matching(self, table: str, *needles: str) -> Iterable[dict[str, Any]]:
        """Yield the rows whose lines contain any of the needles, parsed one by one. Other rows may be among
        them, so the caller must check the fields."""
        if table in self._parsed:
            yield from self._parsed[table]
            return
        text = self.text(table)
        rows = self._rows.setdefault(table, {})
        seen: set[int] = set()
        for needle in needles:
            at = text.find(needle)
            while at >= 0:
                start = text.rfind("\n", 0, at) + 1
                end = text.find("\n", at)
                end = len(text) if end < 0 else end
                if start not in seen:
                    seen.add(start)
                    row = rows.get(start) or _row(text[start:end])
                    if row is None:  # a line is not one row: parse the whole file
                        yield from self.all(table)
                        return
                    rows[start] = row
                    yield row
                at = text.find(needle, end)

    def _read(self, table: str) -> str:
        try:
            bundled = self._shipped(table).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            if isinstance(error, FileNotFoundError) and self.folder is not None:
                only = self._read_refreshed(table, None)
                if only is None:
                    self.notes.append(f"{self._place(table)} is missing; its rows count as unknown")
                return only or '{"rows": []}'
            raise TableError(f"cannot read {self._place(table)}: {error or 'it does not exist'}") from error
        newer = self._read_refreshed(table, head_date(bundled))
        return bundled if newer is None else newer

    def _shipped(self, table: str) -> bytes:
        """Return the content of the table file in `folder`, not of the refreshed file. Raises OSError."""
        if self.folder is None:
            return resources.read(BUNDLED, f"{table}.json")
        return (self.folder / f"{table}.json").read_bytes()

    def _place(self, table: str) -> str:
        return f"{BUNDLED if self.folder is None else self.folder}{os.sep}{table}.json"

    def _read_refreshed(self, table: str, bundled_date: str | None) -> str | None:
        """Return the text of the refreshed table, or None if there is none, if it is older than the bundled
        table, or if it does not match its recorded hash."""
        if self.refreshed is None:
            return None
        path = self.refreshed / f"{table}.json"
        try:
            raw = path.read_bytes()
        except OSError:
            return None
        problem = _mismatch(raw, path)
        if problem is None:
            text = raw.decode("utf-8", "replace")
            date = head_date(text)
            if date is None or (bundled_date is not None and date < bundled_date):
                problem = "is older than the table that ships with this version"
            else:
                return text
        self.notes.append(f"{path} {problem}; the bundled table is used")
        return None


def _mismatch(raw: bytes, path: Path) -> str | None:
    """Return why a refreshed file is not trusted, or None if it is. The file beside it contains its
    SHA-256."""
    import hashlib

    try:
        recorded = path.with_suffix(".json.sha256").read_text(encoding="ascii").split()[0]
    except (OSError, UnicodeDecodeError, IndexError):
        return "has no readable hash beside it"
    if hashlib.sha256(raw).hexdigest() != recorded:
        return "does not match the hash recorded when it was written"
    return None


def _row(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(removesuffix(line.strip().rstrip(","), "]}").rstrip().rstrip(","))
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
