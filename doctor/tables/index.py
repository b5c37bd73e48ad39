"""Lists the releases in the package index, and reads the rows of chosen releases.

The functions import `doctor.tables.reading` only when they are called, because it needs requests and
packaging, which no look-up needs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.tables.ordering import Key

PACKAGES = ("tensorflow", "tensorflow-gpu")


class Index:
    """The package index: lists its releases, and reads the rows of chosen releases."""

    def __init__(self) -> None:
        from doctor.tables.reading import registry

        self.settings = registry.pip_settings()
        self.remote = registry.remote_for(self.settings)

    def groups(self, packages: Iterable[str]) -> dict[Key, Any]:
        """Return every release of the packages by its key, in the order of the table."""
        from doctor.tables.reading import registry, releases

        return {
            group.key: group
            for package in packages
            for group in releases.group_files(
                package, registry.project_files(package, self.settings.indexes, self.remote)
            )
        }

    def wheels(self, projects: Iterable[str]) -> list[tuple[str, Any]]:
        """Return one Linux x86_64 wheel for each release of each project, as (project, file)."""
        from concurrent.futures import ThreadPoolExecutor

        from doctor.tables.reading import nvidia, registry

        names = tuple(projects)

        def listed(project: str) -> list[Any]:
            files: list[Any] = nvidia.linux_wheels(
                registry.project_files(project, self.settings.indexes, self.remote)
            )
            return files

        with ThreadPoolExecutor(8) as pool:
            return [(name, file) for name, files in zip(names, pool.map(listed, names)) for file in files]

    def rows(self, groups: Mapping[Key, Any], title: str, full: bool) -> dict[Key, dict[str, Any]]:
        """Return the rows of these releases, read from their metadata and, with `full`, also from their
        libraries. title: what the progress line says."""
        from concurrent.futures import ThreadPoolExecutor

        from doctor.tables.reading.progress import Progress
        from doctor.tables.reading.rows import complete_windows

        found: dict[Key, dict[str, Any]] = {}
        progress = Progress(title, len(groups), lambda: self.remote.bytes_read)
        with progress, ThreadPoolExecutor(1 if full else 8) as pool:
            made = pool.map(functools.partial(self._row, full=full), groups.values())
            for key, row in zip(groups, made):
                found[key] = row
                progress.step(" ".join(key))
        complete_windows(list(found.values()))
        return found

    def _row(self, group: Any, full: bool) -> dict[str, Any]:
        from doctor.tables.reading import binaries
        from doctor.tables.reading.rows import build_row
        from doctor.tables.reading.wheeltexts import read_texts

        texts = read_texts(self.remote, group.newest)
        binary = glibc = None
        if full and binaries.wanted(texts, group.package, group.platform):
            seen = binaries.scan(self.remote, group.newest, texts)
            dlls = None
            if binaries.composes_names(seen, group.platform):
                dlls = binaries.scan_dll_names(self.remote, group.newest, texts)
            binary = binaries.derive(seen, group.platform, dlls)
            glibc = self._glibc(group, texts, seen) if group.platform.startswith("linux") else {}
        return build_row(group, texts, binary, glibc)

    def _glibc(self, group: Any, texts: Any, seen: Any) -> dict[str, str]:
        """Return the glibc version that the wheel for each Python version needs, by Python version."""
        from doctor.tables.reading.binaries import glibc_of_other_python
        from doctor.tables.reading.wheeltexts import read_texts

        found = {}
        for name, file in group.wheels:
            theirs = texts if file is group.newest else read_texts(self.remote, file)
            needed = glibc_of_other_python(self.remote, file, theirs, texts, seen)
            if needed:
                found[name.python] = needed
        return found
