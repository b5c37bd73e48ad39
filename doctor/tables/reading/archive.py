"""Reads a zip file (a wheel) on a server: lists its central directory, and decompresses one member as a
stream.

Source: PKWARE APPNOTE.TXT 6.3.10, sections 4.3.7 (local header), 4.3.12 (central directory), 4.3.14-16 (end
of central directory).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from doctor.tables.reading.remote import Remote
from doctor.values import dataclass

TAIL = 65_536 + 22 + 20
INFLATED_PIECE = 8 << 20
MOST_MEMBERS = 200_000
LARGEST_DIRECTORY = 64 << 20
LARGEST_MEMBER = 8 << 30
MOST_INFLATED = 60
"""The highest allowed ratio of the unpacked to the packed size, for a member larger than SMALL bytes.
TensorFlow's libraries reach a ratio of five."""
SMALL = 64 << 20


class ArchiveError(Exception):
    """The file is not a zip file, is damaged, exceeds a size limit, or uses features that wheels do not
    use."""


@dataclass(frozen=True)
class Member:
    """One file in the archive. Sizes and offset are in bytes."""

    name: str
    method: int
    crc: int
    packed: int
    size: int
    offset: int


def list_members(remote: Remote, url: str, length: int) -> list[Member]:
    """Return the members in the central directory of the zip file at `url`, which has `length` bytes. Raises
    ArchiveError, RemoteError."""
    start = max(0, length - TAIL)
    tail = remote.read(url, start, length)
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) - end < 22:
        raise ArchiveError(f"{url}: no end of central directory, so this is not a zip file")
    count, size, offset = struct.unpack_from("<HII", tail, end + 10)
    if offset == 0xFFFFFFFF or size == 0xFFFFFFFF or count == 0xFFFF:
        locator = tail.rfind(b"PK\x06\x07", 0, end)
        if locator >= 0:
            (end64,) = struct.unpack_from("<Q", tail, locator + 8)
            record = remote.read(url, end64, min(end64 + 56, length))
            if record[:4] != b"PK\x06\x06" or len(record) < 56:
                raise ArchiveError(f"{url}: the zip64 end of central directory is not where its locator says")
            count, size, offset = struct.unpack_from("<QQQ", record, 32)
    if count > MOST_MEMBERS or size > LARGEST_DIRECTORY:
        raise ArchiveError(
            f"{url}: a directory of {size} bytes with {count} members is too large for a wheel"
        )
    if offset + size > length:
        raise ArchiveError(f"{url}: the central directory lies outside the file")
    directory = (
        tail[offset - start : offset - start + size]
        if offset >= start
        else remote.read(url, offset, offset + size)
    )
    return _parse_directory(directory, count, url)


def _parse_directory(directory: bytes, count: int, url: str) -> list[Member]:
    members: list[Member] = []
    position = 0
    for _ in range(count):
        if directory[position : position + 4] != b"PK\x01\x02" or len(directory) < position + 46:
            raise ArchiveError(
                f"{url}: the central directory is cut off after {len(members)} of {count} members"
            )
        flags, method = struct.unpack_from("<HH", directory, position + 8)
        crc, packed, size, name_length, extra_length, comment = struct.unpack_from(
            "<IIIHHH", directory, position + 16
        )
        (offset,) = struct.unpack_from("<I", directory, position + 42)
        position += 46
        raw = directory[position : position + name_length]
        name = raw.decode("utf-8" if flags & 0x800 else "cp437", "replace")
        extra = directory[position + name_length : position + name_length + extra_length]
        if 0xFFFFFFFF in (packed, size, offset):
            try:
                size, packed, offset = _zip64(extra, size, packed, offset)
            except struct.error as error:
                raise ArchiveError(f"{url}: the zip64 field of {name} is cut off") from error
        position += name_length + extra_length + comment
        members.append(Member(name, method, crc, packed, size, offset))
    return members


def _zip64(extra: bytes, *values: int) -> list[int]:
    """Return the values. Those that do not fit into 32 bits are taken from the zip64 field, which contains
    only these values, in the same order (APPNOTE 4.5.3)."""
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, position)
        if kind == 1:
            wide = iter(struct.unpack_from(f"<{length // 8}Q", extra, position + 4))
            return [next(wide, value) if value == 0xFFFFFFFF else value for value in values]
        position += 4 + length
    return list(values)


def inflate(remote: Remote, url: str, member: Member) -> Iterator[bytes]:
    """Yield the content of a member in pieces of a few megabytes, without keeping them in memory. Raises
    ArchiveError if the compression method is unknown, if the stream is broken or, at the end, if the CRC is
    wrong."""
    if member.size > LARGEST_MEMBER or (member.size > SMALL and member.size > member.packed * MOST_INFLATED):
        raise ArchiveError(
            f"{url}: {member.name} would expand from {member.packed} to {member.size} bytes, too much for a"
            " library"
        )
    header = remote.read(url, member.offset, member.offset + 30)
    if header[:4] != b"PK\x03\x04":
        raise ArchiveError(f"{url}: no member begins at byte {member.offset} ({member.name})")
    name_length, extra_length = struct.unpack_from("<HH", header, 26)
    start = member.offset + 30 + name_length + extra_length
    packed = remote.stream(url, start, start + member.packed)
    crc = size = 0
    if member.method == 0:
        for piece in packed:
            crc = zlib.crc32(piece, crc)
            yield piece
    elif member.method == 8:
        inflater = zlib.decompressobj(-15)
        try:
            for piece in packed:
                while piece:
                    content = inflater.decompress(piece, INFLATED_PIECE)
                    piece = inflater.unconsumed_tail
                    size += len(content)
                    if size > member.size:
                        raise ArchiveError(
                            f"{url}: {member.name} contains more than the {member.size} bytes that the"
                            " directory states"
                        )
                    crc = zlib.crc32(content, crc)
                    yield content
            content = inflater.flush()
        except zlib.error as error:
            raise ArchiveError(f"{url}: {member.name} cannot be inflated: {error}") from error
        crc = zlib.crc32(content, crc)
        if content:
            yield content
    else:
        raise ArchiveError(
            f"{url}: {member.name} is compressed with method {member.method}, which wheels do not use"
        )
    if crc != member.crc:
        raise ArchiveError(
            f"{url}: the CRC of {member.name} is {crc:08x}, but the directory says {member.crc:08x}"
        )


def read_member(remote: Remote, url: str, member: Member, limit: int = 64 << 20) -> bytes:
    """Return the content of a small member. Raises ArchiveError if its declared size is more than `limit`
    bytes."""
    if member.size > limit:
        raise ArchiveError(f"{url}: {member.name} has {member.size} bytes; at most {limit} were expected")
    return b"".join(inflate(remote, url, member))
