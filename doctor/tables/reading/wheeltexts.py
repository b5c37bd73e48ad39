"""Reads the small parts of a wheel: its zip directory, METADATA and build_info.py (about a megabyte in
all)."""

from __future__ import annotations

import io
import re
import tarfile
import zlib
from dataclasses import asdict
from typing import Any

from doctor import lazy
from doctor.tables.reading.archive import ArchiveError, Member, list_members, read_member
from doctor.tables.reading.metadata import parse_build_info, parse_metadata
from doctor.tables.reading.registry import IndexFile
from doctor.tables.reading.remote import Remote
from doctor.values import dataclass

# The libraries that contain TensorFlow's runtime and kernels, with their names from 0.12 to 2.22. The same
# toolchain builds the other libraries (contrib operations, single pybind11 modules, TensorFlow Lite) in the
# same run.
CORE_LIBRARY = lazy.compile(
    r"/(?:_pywrap_tensorflow(?:_internal|_common)?|lib_?(?:pywrap_)?tensorflow_(?:framework|cc|common))"
    r"\.(?:so|pyd|dll|(?:[\d.]+\.)?dylib)(?:\.\d+)*$"
)


SMALL_ARCHIVE = 1 << 20


@dataclass(frozen=True)
class WheelTexts:
    """The facts from the small parts of a wheel. `core`: the members that contain code for the GPU, without
    duplicates. `shared_objects`: the number of all libraries in the wheel (0 in empty wheels that only
    require another distribution)."""

    size: int
    metadata_member: str
    build_info_member: str | None
    summary: str | None
    requires_python: str | None
    requires: list[str]
    extras: dict[str, dict[str, str]]
    build_info: dict[str, Any] | None
    core: list[Member]
    shared_objects: int

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for the cache."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> WheelTexts:
        """Make an object from the result of to_json. Raises TypeError or KeyError for other data."""
        return cls(**{**stored, "core": [Member(**member) for member in stored["core"]]})


def read_texts(remote: Remote, file: IndexFile) -> WheelTexts:
    """Read the zip directory, METADATA and build_info.py of a wheel with range requests. Raises RemoteError,
    ArchiveError; ValueError for an invalid build_info.py.

    For a source archive, it reads PKG-INFO. TensorFlow has a source archive only for a withdrawn release
    (tensorflow-gpu 2.12.0).
    """
    length = remote.size(file.url)
    if file.filename.endswith(".tar.gz"):
        return _read_source_archive(remote, file, length)
    members = list_members(remote, file.url, length)
    # the METADATA of the wheel itself, not one of a package inside the wheel
    described = next((m for m in members if re.search(r"^[^/]+\.dist-info/METADATA$", m.name)), None)
    if described is None:
        raise ArchiveError(f"{file.url}: has no METADATA, so this is not a wheel")
    metadata = parse_metadata(read_member(remote, file.url, described).decode("utf-8", "replace"))
    built = next((m for m in members if m.name.endswith("/python/platform/build_info.py")), None)
    build_info = read_member(remote, file.url, built).decode("utf-8", "replace") if built else None
    core: dict[tuple[int, int], Member] = {}
    for member in sorted(members, key=lambda member: (len(member.name), member.name)):
        if CORE_LIBRARY.search("/" + member.name) and member.size:
            core.setdefault((member.crc, member.size), member)
    libraries = sum(1 for member in members if re.search(r"\.(?:so|pyd|dll|dylib)(?:\.\d+)*$", member.name))
    return WheelTexts(
        length,
        described.name,
        built.name if built else None,
        metadata.summary,
        metadata.requires_python,
        list(metadata.requires),
        metadata.extras,
        None if build_info is None else parse_build_info(build_info),
        sorted(core.values(), key=lambda member: member.name),
        libraries,
    )


def _read_source_archive(remote: Remote, file: IndexFile, length: int) -> WheelTexts:
    if length > SMALL_ARCHIVE:
        raise ArchiveError(
            f"{file.url}: a source archive of {length} bytes is too large for a withdrawn release"
        )
    try:
        unpack = zlib.decompressobj(31)
        content_of_all = unpack.decompress(remote.read(file.url, 0, length), 16 * SMALL_ARCHIVE)
        if unpack.unconsumed_tail:
            raise ArchiveError(
                f"{file.url}: it contains more than {16 * SMALL_ARCHIVE} bytes, too much for a withdrawn"
                " release"
            )
        with tarfile.open(fileobj=io.BytesIO(content_of_all), mode="r:") as archive:
            name = min((name for name in archive.getnames() if name.endswith("/PKG-INFO")), key=len)
            content = archive.extractfile(name)
            text = content.read(SMALL_ARCHIVE).decode("utf-8", "replace") if content else ""
    except (tarfile.TarError, zlib.error, OSError, EOFError, ValueError) as error:
        raise ArchiveError(f"{file.url}: cannot be read as a source archive: {error}") from error
    metadata = parse_metadata(text)
    return WheelTexts(
        length,
        name,
        None,
        metadata.summary,
        metadata.requires_python,
        list(metadata.requires),
        metadata.extras,
        None,
        [],
        0,
    )
