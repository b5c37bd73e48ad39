"""Tests servers that send very slowly, never end, compress too much data, redirect to addresses that the user
did not ask for, or lie about lengths."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import struct
import tarfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
import requests

from doctor import addresses
from doctor.backports import removeprefix
from doctor.errors import InputError
from doctor.tables.reading import remote as remotes
from doctor.tables.reading.archive import ArchiveError, inflate, list_members
from doctor.tables.reading.cache import Cache
from doctor.tables.reading.registry import IndexFile, RegistryError, parse_index, project_files
from doctor.tables.reading.remote import Remote, RemoteError
from doctor.tables.reading.wheeltexts import read_texts
from doctor.web import Guard, RefusedError, guarded, kind_of
from tests.sampling import each, sampled


@lru_cache(maxsize=None)
def bomb() -> bytes:
    """Data that is small to send, but unpacks to more than the tool reads."""
    return gzip.compress(bytes(80 << 20), 1)


class Hostile(BaseHTTPRequestHandler):
    """A server whose behaviour depends on the requested path."""

    protocol_version = "HTTP/1.0"
    files: ClassVar[dict[str, bytes]] = {}
    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        Hostile.seen.append(self.path)
        how, _, rest = self.path[1:].partition("/")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            getattr(self, f"say_{how}")(rest)

    def _head(self, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Type": "text/plain", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def say_text(self, rest: str) -> None:
        self._head()
        self.wfile.write(b"tensorflow 2.15.0\n")

    def say_drip(self, rest: str) -> None:
        self._head()
        for _ in range(600):
            self.wfile.write(b"x")
            self.wfile.flush()
            time.sleep(0.1)

    def say_headers(self, rest: str) -> None:
        self.wfile.write(b"HTTP/1.0 200 OK\r\n")
        for number in range(600):
            self.wfile.write(f"X-{number % 50}: y".encode())
            self.wfile.flush()
            time.sleep(0.1)

    def say_silent(self, rest: str) -> None:
        time.sleep(30)

    def say_endless(self, rest: str) -> None:
        self._head(206 if rest == "range" else 200, Content_Range="bytes 0-1/2000000")
        while True:
            self.wfile.write(b"x" * 65536)

    def say_bomb(self, rest: str) -> None:
        data = bomb()
        self._head(Content_Encoding="gzip", Content_Length=str(len(data)))
        self.wfile.write(data)

    def say_nested(self, rest: str) -> None:
        data = gzip.compress(bomb(), 9)
        self._head(Content_Encoding="gzip, gzip", Content_Length=str(len(data)))
        self.wfile.write(data)

    def say_to(self, rest: str) -> None:
        self._head(302, Location=rest)
        self.wfile.write(b"")

    def say_loop(self, rest: str) -> None:
        self._head(302, Location=f"/loop/{rest}x")

    def say_redirect(self, rest: str) -> None:
        """Send a redirect whose body never ends."""
        self._head(302, Location="/text/x")
        while True:
            self.wfile.write(b"x" * 65536)

    def say_short(self, rest: str) -> None:
        self._head(Content_Length="1000")
        self.wfile.write(b"tensorflow 2.15.0\n")

    def say_long(self, rest: str) -> None:
        self._head(Content_Length="5")
        self.wfile.write(b"tensorflow 2.15.0\n")

    def say_file(self, rest: str) -> None:
        data = Hostile.files[rest]
        asked = removeprefix(self.headers.get("Range", "bytes=0-"), "bytes=").split("-")
        start, stop = int(asked[0]), int(asked[1] or len(data) - 1) + 1
        self._head(206, Content_Range=f"bytes {start}-{stop - 1}/{len(data)}")
        self.wfile.write(data[start:stop])

    def say_simple(self, rest: str) -> None:
        kind = "application/vnd.pypi.simple.v1+json" if rest.startswith("json") else "text/html"
        self._head(Content_Type=kind)
        self.wfile.write(Hostile.files[rest.strip("/")])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    httpd.daemon_threads = True
    threading.Thread(target=httpd.serve_forever, args=(0.02,), daemon=True).start()
    Hostile.seen.clear()
    Hostile.files.clear()
    yield f"http://127.0.0.1:{httpd.server_address[1]}"
    httpd.shutdown()
    httpd.server_close()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "LONGEST", 0.5)
    monkeypatch.setattr(remotes, "PAGE_LIMIT_S", 0.5)


def remote(server: str) -> Remote:
    return Remote(requests.Session, pause_s=0, named=[server])


def timed(work: Callable[[], object]) -> float:
    start = time.monotonic()
    with pytest.raises((InputError, RemoteError)) as caught:
        work()
    assert "takes longer than" in str(caught.value)
    return time.monotonic() - start


# --- time


@pytest.mark.parametrize("how", sampled(["drip", "headers", "silent"], 1))
def test_reading_a_url_has_a_time_limit(how: str, server: str, quick: None) -> None:
    assert timed(lambda: addresses.fetch(f"{server}/{how}/x").read()) < 8


@pytest.mark.parametrize("how", ["drip", "headers"])
def test_reading_a_page_of_an_index_has_a_time_limit(how: str, server: str, quick: None) -> None:
    assert timed(lambda: remote(server).get(f"{server}/{how}/x", {})) < 8


def test_reading_a_file_has_a_time_limit(server: str, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    head = Hostile._head
    monkeypatch.setattr(Hostile, "_head", lambda self, **more: head(self, 206, **more))
    assert timed(lambda: remote(server).read(f"{server}/drip/x", 0, 10_000)) < 8


# --- size


@pytest.mark.parametrize("how", ["endless", "bomb"])
def test_a_url_has_a_size_limit_compressed_or_not(how: str, server: str) -> None:
    with pytest.raises(InputError, match="larger than 64 MiB"):
        addresses.fetch(f"{server}/{how}/x")


def test_content_that_is_compressed_twice_is_refused(server: str) -> None:
    with pytest.raises(InputError, match="compressed with"):
        addresses.fetch(f"{server}/nested/x")


@pytest.mark.parametrize("how", ["endless", "bomb", "nested"])
def test_a_page_of_an_index_has_a_size_limit(how: str, server: str) -> None:
    with pytest.raises(RemoteError, match=r"larger than|compressed with"):
        remote(server).get(f"{server}/{how}/x", {})


def test_no_more_than_the_requested_range_is_read(server: str) -> None:
    assert remote(server).read(f"{server}/endless/range", 0, 1_000_000) == b"x" * 1_000_000


def test_a_response_that_is_shorter_than_announced_is_an_error(server: str) -> None:
    with pytest.raises(InputError, match="the connection broke"):
        addresses.fetch(f"{server}/short/x")


def test_a_response_that_is_longer_than_announced_is_cut(server: str) -> None:
    assert addresses.fetch(f"{server}/long/x").read() == b"tenso"


# --- where


@pytest.mark.parametrize(
    "to",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://[fe80::1]/x",
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "gopher://x/",
    ],
)
def test_a_server_cannot_redirect_to_a_private_address(to: str, server: str) -> None:
    start = time.monotonic()
    with pytest.raises(InputError):
        addresses.fetch(f"{server}/to/{to}")
    assert time.monotonic() - start < 25


@pytest.mark.parametrize("to", ["/text/x", "text/x"])
def test_a_server_may_redirect_within_the_allowed_addresses(to: str, server: str) -> None:
    assert b"tensorflow" in addresses.fetch(f"{server}/to/{server}/text/x").read()


def test_the_number_of_redirects_is_limited(server: str) -> None:
    with pytest.raises(InputError, match="redirects more than"):
        addresses.fetch(f"{server}/loop/x")
    assert len(Hostile.seen) < 15


def test_the_body_of_a_redirect_is_not_read(server: str) -> None:
    assert b"tensorflow" in addresses.fetch(f"{server}/redirect/x").read()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "127.1"])
def test_a_public_url_cannot_redirect_to_loopback(host: str, server: str) -> None:
    """The user gave the address of a public server. A redirect or a DNS name leads to a loopback address."""
    port = server.rpartition(":")[2]
    session = guarded(requests.Session(), ["https://example.org/report"])
    with pytest.raises((RefusedError, requests.RequestException)) as caught:
        session.get(f"http://{host}:{port}/text/x", timeout=5)
    assert Hostile.seen == [], "nothing may be sent there"
    if host in ("127.0.0.1", "localhost"):
        assert isinstance(caught.value, RefusedError)


@each(
    "named, kind, may",
    [
        ("8.8.8.8", "10.0.0.1", False),
        ("8.8.8.8", "127.0.0.1", False),
        ("8.8.8.8", "169.254.169.254", False),
        ("8.8.8.8", "9.9.9.9", True),
        ("10.0.0.1", "10.0.0.2", True),
        ("10.0.0.1", "127.0.0.1", False),
        ("10.0.0.1", "169.254.169.254", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "169.254.169.254", False),
        ("8.8.8.8", "::1", False),
        ("8.8.8.8", "::ffff:127.0.0.1", False),
        ("8.8.8.8", "fd00::1", False),
        ("8.8.8.8", "fe80::1%eth0", False),
        ("8.8.8.8", "0.0.0.0", False),
        ("8.8.8.8", "224.0.0.1", False),
    ],
)
def test_allowed_connections_depend_on_the_addresses_that_the_user_gave(
    named: str, kind: str, may: bool
) -> None:
    guard = Guard([f"http://{named}/x"])
    if may:
        guard.check("elsewhere.example", kind)
    else:
        with pytest.raises(RefusedError):
            guard.check("elsewhere.example", kind)


@pytest.mark.parametrize("address", ["0.0.0.0", "169.254.169.254", "fe80::1", "::", "255.255.255.255"])
def test_addresses_that_belong_to_no_host_are_not_public(address: str) -> None:
    assert kind_of(address) != "public"


def test_a_token_is_not_sent_to_another_server(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[str | None] = []
    monkeypatch.setattr(
        Hostile, "say_text", lambda self, rest: (got.append(self.headers.get("Authorization")), self._head())
    )
    monkeypatch.setenv("GITHUB_SERVER_URL", server)
    monkeypatch.setenv("GITHUB_API_URL", f"{server}/to/{server.replace('127.0.0.1', 'localhost')}/text")
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret")
    with pytest.raises(InputError):
        addresses.fetch(f"{server}/own/er/issues/1")
    assert got == [None]


def test_a_message_contains_no_secret_from_the_url(server: str) -> None:
    with pytest.raises(InputError) as caught:
        addresses.fetch(f"{server.replace('//', '//u:hunterzwei@')}/to/file:///x?sig=hunterzwei")
    assert "hunterzwei" not in str(caught.value) + caught.value.hint


# --- indexes and wheels


def page(url: str, **more: object) -> bytes:
    entry = {
        "filename": "tensorflow-9.1.0-cp311-cp311-win_amd64.whl",
        "url": url,
        "hashes": {"sha256": "0" * 64},
        **more,
    }
    return json.dumps({"files": [entry]}).encode()


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x/y.whl", "http://elsewhere.example/y.whl", "http://[x", "data:,x"]
)
def test_a_wheel_over_http_from_another_server_is_refused(url: str, server: str) -> None:
    Hostile.files["json/tensorflow"] = page(url)
    with pytest.raises(RegistryError):
        project_files("tensorflow", (f"{server}/simple/json",), remote(server))


@pytest.mark.parametrize("url", ["https://elsewhere.example/y.whl", "../../file/y.whl"])
def test_a_wheel_over_https_or_from_the_indexs_server_is_accepted(url: str, server: str) -> None:
    Hostile.files["json/tensorflow"] = page(url)
    (file,) = project_files("tensorflow", (f"{server}/simple/json",), remote(server))
    assert file.sha256 == "0" * 64


@pytest.mark.parametrize(
    "digest",
    ["../../../../tmp/x", "/etc/x", "0" * 63, "0" * 65, "", None, 7, ["x"], "0" * 63 + "/", "G" * 64],
)
def test_a_hash_in_an_index_does_not_become_a_path(digest: object, tmp_path: Path) -> None:
    (file,) = parse_index(
        page("https://x.example/y.whl", hashes={"sha256": digest}).decode(), "json", "https://x.example/"
    )
    assert file.sha256 == ""
    before = sorted(tmp_path.parent.rglob("*"))
    cache = Cache(tmp_path)
    for given in (file.sha256, str(digest)):
        cache.put(given, "texts-1", {"x": 1})
        assert cache.get(given, "texts-1") is None
    assert sorted(tmp_path.parent.rglob("*")) == before


@pytest.mark.parametrize("name", ["../x.whl", "a/b.whl", "a\\b.whl", "a\0.whl"])
def test_a_file_name_in_an_index_is_only_a_file_name(name: str) -> None:
    assert (
        parse_index(page("https://x.example/y.whl", filename=name).decode(), "json", "https://x.example/")
        == []
    )


def wheel(content: bytes, stated: int | None = None) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("x-1.dist-info/METADATA", content)
    data = bytearray(file.getvalue())
    if stated is not None:
        struct.pack_into("<I", data, data.rfind(b"PK\x01\x02") + 24, stated)
    return bytes(data)


def test_an_archive_member_that_is_larger_than_stated_is_refused(server: str) -> None:
    Hostile.files["a.whl"] = wheel(bytes(8 << 20), stated=1000)
    with pytest.raises(ArchiveError, match="more than the 1000 bytes"):
        read_texts(remote(server), IndexFile("a.whl", f"{server}/file/a.whl", ""))


def test_an_archive_member_with_an_extreme_compression_ratio_is_not_unpacked(server: str) -> None:
    Hostile.files["a.whl"] = wheel(bytes(100 << 20))
    (member,) = list_members(remote(server), f"{server}/file/a.whl", len(Hostile.files["a.whl"]))
    with pytest.raises(ArchiveError, match="too much for a library"):
        next(inflate(remote(server), f"{server}/file/a.whl", member))


def test_an_archive_with_too_many_members_is_not_read(server: str) -> None:
    data = bytearray(wheel(b"x"))
    at = data.rfind(b"PK\x05\x06")
    tail = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 10**7, 10**7, 46 * 10**7, 0)
    data[at:at] = tail + struct.pack("<4sIQI", b"PK\x06\x07", 0, at, 1)
    end = data.rfind(b"PK\x05\x06")
    struct.pack_into("<HHII", data, end + 8, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
    Hostile.files["a.whl"] = bytes(data)
    with pytest.raises(ArchiveError, match="too large for a wheel"):
        list_members(remote(server), f"{server}/file/a.whl", len(data))


def test_a_decompression_bomb_is_not_unpacked(server: str) -> None:
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w") as archive:
        entry = tarfile.TarInfo("x/PKG-INFO")
        entry.size = 100 << 20
        archive.addfile(entry, io.BytesIO(bytes(entry.size)))
    Hostile.files["a.tar.gz"] = gzip.compress(inner.getvalue(), 1)
    assert len(Hostile.files["a.tar.gz"]) < 1 << 20
    with pytest.raises(ArchiveError, match="contains more than"):
        read_texts(remote(server), IndexFile("a.tar.gz", f"{server}/file/a.tar.gz", ""))


def test_a_broken_archive_is_reported_as_an_archive_error(server: str) -> None:
    data = wheel(zlib.compress(hashlib.sha256(b"x").digest()))
    for cut in range(0, len(data), 7):
        Hostile.files["a.whl"] = data[:cut] + b"\xff" * 9 + data[cut + 9 :]
        try:
            read_texts(remote(server), IndexFile("a.whl", f"{server}/file/a.whl", ""))
        except (ArchiveError, RemoteError):
            continue
