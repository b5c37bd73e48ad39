"""Groups the files in an index by release and platform, and chooses the wheel to read for each release."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from doctor.backports import removesuffix
from doctor.tables.ordering import Key, table_order
from doctor.tables.reading.registry import IndexFile
from doctor.tables.reading.wheelnames import WheelName, parse_wheel_name
from doctor.values import dataclass

FIRST = Version("0.12")


@dataclass(frozen=True)
class Group:
    """All wheels of one release for one platform, oldest Python first. With platform "any", the source
    archive of the release."""

    package: str
    version: Version
    platform: str
    wheels: tuple[tuple[WheelName, IndexFile], ...]
    sdist: IndexFile | None = None

    @property
    def newest(self) -> IndexFile:
        """The file to read for the table row: the wheel for the newest Python, or the source archive."""
        return self.sdist or self.wheels[-1][1]

    @property
    def key(self) -> Key:
        """The package, version and platform."""
        return self.package, str(self.version), self.platform


def group_files(package: str, files: Iterable[IndexFile], pre: bool = False) -> list[Group]:
    """Return the groups in the same order as the table. They include pre-releases only with `pre`, and a
    source archive only if the release has no wheel."""
    wheels: dict[tuple[Version, str], list[tuple[WheelName, IndexFile]]] = {}
    sdists: dict[Version, IndexFile] = {}
    for file in files:
        name = parse_wheel_name(file.filename)
        if name is not None and name.package != package:
            name = None
        version = name.version if name else _sdist_version(package, file.filename)
        if version is None or version < FIRST or (version.is_prerelease and not pre):
            continue
        if name:
            wheels.setdefault((version, name.platform), []).append((name, file))
        else:
            sdists[version] = file
    groups = [
        Group(package, version, platform, tuple(sorted(found, key=_by_python)))
        for (version, platform), found in wheels.items()
    ]
    with_wheels = {version for version, _ in wheels}
    groups += [
        Group(package, version, "any", (), file)
        for version, file in sdists.items()
        if version not in with_wheels
    ]
    return sorted(groups, key=lambda group: table_order(group.key))


def _by_python(wheel: tuple[WheelName, IndexFile]) -> tuple[list[int], str]:
    return [int(part) for part in wheel[0].python.split(".")], wheel[1].filename


def _sdist_version(package: str, filename: str) -> Version | None:
    for suffix in (".tar.gz", ".zip"):
        stem = removesuffix(filename, suffix)
        name, _, version = stem.rpartition("-")
        if stem != filename and canonicalize_name(name) == package:
            try:
                return Version(version)
            except InvalidVersion:
                return None
    return None
