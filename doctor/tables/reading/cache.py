"""Facts that were read from a wheel, kept in the user's cache folder under the wheel's sha256.

A wheel never changes under its sha256, so an entry is good for ever; its kind is part of the name and ends in a number
("texts-1"), so that a better reader, which asks for another number, reads again and takes the place of the older.
So the folder holds one small file for each kind and wheel that the index has, whatever runs.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def default_folder() -> Path:
    """The user's cache folder by the platform's own rule (XDG Base Directory, Apple, Windows Known Folders)."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "tfgpu-doctor" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/tfgpu-doctor"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tfgpu-doctor"


class Cache:
    """A folder of small JSON files. Written atomically: an interrupted run leaves whole entries only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, sha256: str, kind: str) -> Any | None:
        """What was stored, or None. An entry that cannot be read counts as none."""
        try:
            return json.loads(self._path(sha256, kind).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def put(self, sha256: str, kind: str, facts: Any) -> None:
        """Store `facts` (plain JSON values). Raises OSError."""
        descriptor, name = tempfile.mkstemp(dir=self.folder, suffix=".part")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(facts, file)
            Path(name).replace(self._path(sha256, kind))
            what, _, number = kind.rpartition("-")
            for older in range(1, int(number)):
                self._path(sha256, f"{what}-{older}").unlink(missing_ok=True)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _path(self, sha256: str, kind: str) -> Path:
        return self.folder / f"{sha256}.{kind}.json"
