"""Caches facts that were read from wheels in the user's cache folder, by the sha256 of the wheel. A sha256
always means the same wheel, so an entry stays valid. The file name also contains the kind of facts, which
ends in a number ("texts-1"). An improved reader uses the next number, reads the wheel again and replaces the
older entry. So the folder has only one small file for each wheel and kind of facts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from doctor import lazy
from doctor.errors import UnableError
from doctor.files import write_whole
from doctor.folders import NO_HOME, cache_base


def default_folder() -> Path:
    """Return the user's cache folder, according to the rules of the platform. Raises UnableError if there is
    none."""
    base = cache_base()
    if base is None:
        raise UnableError(f"there is no folder for a cache: {NO_HOME}", "set XDG_CACHE_HOME")
    folder = Path(base) / "tfgpu-doctor"
    return folder / "Cache" if sys.platform == "win32" else folder


_SHA256 = lazy.compile(r"[0-9a-f]{64}")
"""Matches a valid hash from an index. Only a string that matches may become a file name."""


class Cache:
    """A folder of small JSON files. Entries are written atomically, so an interrupted run leaves only
    complete entries."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, sha256: str, kind: str) -> Any | None:
        """Return the stored facts, or None if there is no entry, or if it cannot be read."""
        if not _SHA256.fullmatch(sha256):
            return None
        try:
            return json.loads(self._path(sha256, kind).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def put(self, sha256: str, kind: str, facts: Any) -> None:
        """Store `facts` (plain JSON values), unless the sha256 of the wheel is unknown. Raises OSError."""
        if not _SHA256.fullmatch(sha256):
            return
        write_whole(self._path(sha256, kind), json.dumps(facts).encode("utf-8"))
        what, _, number = kind.rpartition("-")
        for older in range(1, int(number)):
            self._path(sha256, f"{what}-{older}").unlink(missing_ok=True)

    def _path(self, sha256: str, kind: str) -> Path:
        return self.folder / f"{sha256}.{kind}.json"
