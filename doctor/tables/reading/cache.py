"""A cache for facts that were read from wheels, in the user's cache folder under the wheel's sha256.

A sha256 always means the same wheel, so an entry stays valid. Its kind is part of the name and ends in a
number ("texts-1"); a better reader uses the next number, reads again and replaces the older entry. So the
folder holds only one small file for each kind and wheel.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from doctor import lazy
from doctor.errors import UnableError
from doctor.files import NO_HOME, cache_base, write_whole


def default_folder() -> Path:
    """The user's cache folder by the platform's own rule. Raises UnableError if this user has none."""
    base = cache_base()
    if base is None:
        raise UnableError(f"there is no place for a cache: {NO_HOME}", "set XDG_CACHE_HOME")
    folder = Path(base) / "tfgpu-doctor"
    return folder / "Cache" if sys.platform == "win32" else folder


_SHA256 = lazy.compile(r"[0-9a-f]{64}")
"""Matches a hash from an index, which becomes a file's name; nothing else may."""


class Cache:
    """A folder of small JSON files. Entries are written atomically, so an interrupted run leaves only whole
    ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, sha256: str, kind: str) -> Any | None:
        """What was stored, or None. An entry that cannot be read counts as none."""
        if not _SHA256.fullmatch(sha256):
            return None
        try:
            return json.loads(self._path(sha256, kind).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def put(self, sha256: str, kind: str, facts: Any) -> None:
        """Store `facts` (plain JSON values), unless the file's sha256 is unknown. Raises OSError."""
        if not _SHA256.fullmatch(sha256):
            return
        write_whole(self._path(sha256, kind), json.dumps(facts).encode("utf-8"))
        what, _, number = kind.rpartition("-")
        for older in range(1, int(number)):
            self._path(sha256, f"{what}-{older}").unlink(missing_ok=True)

    def _path(self, sha256: str, kind: str) -> Path:
        return self.folder / f"{sha256}.{kind}.json"
