"""The package index as the tables see it: which releases there are, and what one of them says.

The reader of wheels is the one that builds the bundled tables: it stands in doctor/tables/reading of an installed tool
and in scripts/tables of a checkout.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from doctor.tables.ordering import order
from doctor.tables.rows import PLATFORMS
from doctor.tables.store import BUNDLED

PACKAGES = ("tensorflow", "tensorflow-gpu")

Key = tuple[str, str, str]
"""Package, version and platform of a row."""


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
        reading("rows").complete_windows(list(found.values()))
        return found

    def _row(self, group: Any, full: bool) -> dict[str, Any]:
        texts = reading("wheeltexts").read_texts(self.remote, group.newest)
        binary = glibc = None
        if full:
            binaries = reading("binaries")
            if binaries.wanted(texts, group.package, group.platform):
                seen = binaries.scan(self.remote, group.newest, texts)
                dlls = None
                if binaries.composes_names(seen, group.platform):
                    dlls = binaries.scan_dll_names(self.remote, group.newest, texts)
                binary = binaries.derive(seen, group.platform, dlls)
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


def key_of(row: Mapping[str, Any]) -> Key:
    return row["package"], row["version"], row["platform"]


def place(key: Key) -> tuple[Any, ...]:
    package, version, platform = key
    return package, order(version), (*PLATFORMS, "any").index(platform)
