"""Tests reading members of a zip file on a server by range requests."""

from __future__ import annotations

import io
import random
import shutil
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from doctor.backports import removeprefix
from doctor.tables.reading.archive import ArchiveError, Member, inflate, list_members, read_member
from doctor.tables.reading.remote import Remote, RemoteError
from tests.tables_build.made_wheels import Index, make_wheel, served

NOISE = random.Random(7).getrandbits(3 << 23).to_bytes(3 << 20, "little")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel with three thousand small members and a large one. It is made only once."""
    made = tmp_path_factory.mktemp("wheel") / "a.whl"
    members: dict[str, str | bytes] = {
        f"package/module_{number}.py": f"x = {number}\n" for number in range(3000)
    }
    members["package/library.so"] = NOISE
    make_wheel(made, members)
    with zipfile.ZipFile(made, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("stored.txt", b"as it is")
    return made


@pytest.fixture
def index(wheel: Path, tmp_path: Path) -> Iterator[Index]:
    shutil.copy(wheel, tmp_path)
    with served(Index(tmp_path)) as index:
        yield index


def opened(index: Index) -> tuple[Remote, str, dict[str, Member]]:
    remote = Remote(requests.Session, named=["http://127.0.0.1"], pause_s=0)
    url = index.url.replace("simple", "files") + "/a.whl"
    return remote, url, {member.name: member for member in list_members(remote, url, remote.size(url))}


def test_reading_two_members_transfers_only_these_and_the_directory(index: Index) -> None:
    remote, url, members = opened(index)
    assert len(members) == 3002
    assert read_member(remote, url, members["package/module_2999.py"]) == b"x = 2999\n"
    assert read_member(remote, url, members["stored.txt"]) == b"as it is"
    assert remote.bytes_read < 400_000 < len(NOISE)


def test_a_broken_connection_is_resumed_where_it_broke(index: Index) -> None:
    remote, url, members = opened(index)
    index.break_after = [1_000_000, 500_000, 500_000]
    assert b"".join(inflate(remote, url, members["package/library.so"])) == NOISE
    starts = [
        int(removeprefix(asked, "bytes=").partition("-")[0]) for _, asked in index.requests[-4:] if asked
    ]
    assert starts == sorted(set(starts))
    assert starts[-1] - starts[0] > 1_800_000


def test_a_connection_that_always_breaks_is_an_error(index: Index) -> None:
    remote, url, members = opened(index)
    index.break_after = [0] * 50
    with pytest.raises(RemoteError, match=r"a\.whl"):
        b"".join(inflate(remote, url, members["package/library.so"]))


def test_content_that_contradicts_the_directory_is_an_error(index: Index) -> None:
    remote, url, members = opened(index)
    member = members["stored.txt"]
    lying = Member(member.name, member.method, member.crc ^ 1, member.packed, member.size, member.offset)
    with pytest.raises(ArchiveError, match=r"the CRC of stored\.txt"):
        read_member(remote, url, lying)


def test_a_member_that_is_too_large_for_a_text_is_not_read(index: Index) -> None:
    remote, url, members = opened(index)
    with pytest.raises(ArchiveError, match="at most 1000 were expected"):
        read_member(remote, url, members["package/library.so"], limit=1000)


@pytest.mark.parametrize(
    "content", [b"", b"no zip file", b"PK\x05\x06" + b"\xff" * 18, b"PK\x05\x06" + bytes(6)]
)
def test_a_file_that_is_not_a_zip_file_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.whl").write_bytes(content)
    url = (tmp_path / "a.whl").as_uri()
    remote = Remote(requests.Session, named=["http://127.0.0.1"])
    with pytest.raises(ArchiveError):
        list_members(remote, url, remote.size(url))


def test_parts_of_a_file_address_are_read(tmp_path: Path) -> None:
    make_wheel(tmp_path / "a.whl", {"one": "1", "two": "2" * 5000})
    remote, url = Remote(requests.Session, named=["http://127.0.0.1"]), (tmp_path / "a.whl").as_uri()
    members = {member.name: member for member in list_members(remote, url, remote.size(url))}
    assert read_member(remote, url, members["two"]) == b"2" * 5000


def test_a_zip64_directory_is_read(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("one", "1")
    data = content.getvalue()
    end = data.rfind(b"PK\x05\x06")
    size, offset = struct.unpack_from("<II", data, end + 12)
    record = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, offset)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1)
    tail = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    (tmp_path / "a.whl").write_bytes(data[:end] + record + locator + tail)
    remote, url = Remote(requests.Session, named=["http://127.0.0.1"]), (tmp_path / "a.whl").as_uri()
    (member,) = list_members(remote, url, remote.size(url))
    assert read_member(remote, url, member) == b"1"
