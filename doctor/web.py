"""Reads from servers that may be hostile, with limits on time, size and destination.

A session from `guarded` never connects to a loopback, link-local or private address unless the user gave an
address of that kind. The check looks at the established connection, so neither a redirect nor a DNS name can
bypass it. The session follows no redirect from https to http. `Limit` ends everything that takes too long,
including slow headers and bodies.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
import time
import weakref
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

PIECE = 1 << 14
"""The number of bytes that are read from a connection at once."""
REDIRECTS = 10
"""At most this many redirects are followed for one request."""


class RefusedError(Exception):
    """A server's response demands something that is not allowed; the message says what."""


def kind_of(address: str) -> str:
    """Return the kind of an IP address: public, private, loopback or link-local. Addresses that belong to no
    host (0.0.0.0, multicast) count as link-local."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(ip, "ipv4_mapped", None) or getattr(ip, "sixtofour", None)
    if mapped is not None:
        ip = mapped
    if ip.is_loopback:
        return "loopback"
    if ip.is_link_local or ip.is_unspecified or ip.is_multicast:
        return "link-local"
    return "private" if ip.is_private else "public"


_ALLOWED = {
    "public": {"public"},
    "private": {"public", "private"},
    "loopback": {"public", "private", "loopback"},
    "link-local": {"public", "link-local"},
}
"""Maps the kind of address that the user gave to the kinds of addresses to which a server may redirect."""


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _kinds_of(host: str) -> set[str]:
    """Return the kinds of a host's addresses; empty if the host is unknown."""
    try:
        return {kind_of(str(found[4][0])) for found in socket.getaddrinfo(host, None)} if host else set()
    except (OSError, ValueError):
        return set()


class Guard:
    """Decides which connections a session may make, and keeps its open sockets. named: URLs that the user
    gave."""

    def __init__(self, named: Iterable[str]) -> None:
        self.named = {_host(url) for url in named}
        self.kinds: set[str] | None = None
        self.sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def check(self, host: str, address: str) -> None:
        """Raise RefusedError if the user's addresses do not allow a connection to `address`, to which `host`
        resolved."""
        kind = kind_of(address)
        if kind == "public" or host.strip("[]").lower() in self.named:
            return
        if self.kinds is None:
            self.kinds = set().union(*(_ALLOWED[kind] for name in self.named for kind in _kinds_of(name)))
        if kind not in self.kinds:
            raise RefusedError(f"it redirects to {host}, a {kind} address that you did not give")

    def cut(self) -> None:
        """Close every open connection."""
        for sock in list(self.sockets):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def guarded(session: requests.Session, named: Iterable[str]) -> requests.Session:
    """Add a guard to a session, as its attribute `guard`, and return the session. named: the URLs that the
    user gave."""
    guard = Guard(named)
    adapter = _adapter(guard)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    session.guard = guard  # type: ignore[attr-defined]
    # `get` follows redirects itself, and does not read the body of a redirect:
    session.get_redirect_target = lambda answer: None  # type: ignore[method-assign,assignment]
    return session


def get(
    session: requests.Session, url: str, headers: Mapping[str, str], timeout: tuple[float, float]
) -> requests.Response:
    """Return the streamed response to a request of a guarded session, after at most REDIRECTS redirects.
    Headers for one host are not sent to another host.

    Raises RefusedError and requests.RequestException.
    """
    sent = dict(headers)
    for _ in range(REDIRECTS + 1):
        answer = session.get(url, headers=sent, timeout=timeout, stream=True)
        to = requests.Session.get_redirect_target(session, answer)
        if to is None:
            return answer
        answer.close()
        to = urljoin(answer.url, to)
        scheme, old = urlsplit(to).scheme.lower(), urlsplit(answer.url).scheme.lower()
        if scheme not in ("http", "https") or (scheme, old) == ("http", "https"):
            raise RefusedError(f"it redirects from {old} to {scheme}")
        if session.should_strip_auth(answer.url, to):  # type: ignore[no-untyped-call]
            sent = {k: v for k, v in sent.items() if k.lower() not in ("authorization", "cookie")}
        url = to
    raise RefusedError(f"it redirects more than {REDIRECTS} times")


def _adapter(guard: Guard) -> HTTPAdapter:
    """Return a requests adapter for a session. The guard registers each connection, and checks it before
    anything is sent."""

    def classes(checked: bool) -> dict[str, type]:
        def opened(connection: Any, sock: Any) -> Any:
            guard.sockets.add(sock)
            if checked:
                try:
                    guard.check(connection.host, sock.getpeername()[0])
                except BaseException:
                    sock.close()
                    raise
            return sock

        class Plain(HTTPConnection):
            def _new_conn(self) -> Any:
                return opened(self, super()._new_conn())

        class Secure(HTTPSConnection):
            def _new_conn(self) -> Any:
                return opened(self, super()._new_conn())

            def connect(self) -> None:
                super().connect()
                if self.sock is not None:  # the encrypted socket, which replaced the plain one
                    guard.sockets.add(self.sock)

        class PlainPool(HTTPConnectionPool):
            ConnectionCls = Plain

        class SecurePool(HTTPSConnectionPool):
            ConnectionCls = Secure

        return {"http": PlainPool, "https": SecurePool}

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
            super().init_poolmanager(*args, **kwargs)
            self.poolmanager.pool_classes_by_scheme = classes(checked=True)

        def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
            manager = super().proxy_manager_for(*args, **kwargs)
            # not checked, because the user configured the proxy, which decides what it reaches
            manager.pool_classes_by_scheme = classes(checked=False)
            return manager

    return Adapter()


class Limit:
    """A context with a time limit, in seconds, for everything that a guarded session does in it."""

    def __init__(self, session: requests.Session, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._guard: Guard = session.guard  # type: ignore[attr-defined]
        self._done = threading.Event()

    def __enter__(self) -> Limit:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def _watch(self) -> None:
        pause = self.seconds
        while not self._done.wait(pause):
            self._guard.cut()
            pause = 0.2  # then close new connections too

    def __exit__(self, *_: object) -> None:
        self._done.set()

    @property
    def passed(self) -> bool:
        """Whether the time limit has passed."""
        return time.monotonic() >= self._end


def body(answer: requests.Response, largest: int) -> Iterator[bytes]:
    """Yield the body of a streamed response in pieces, decompressed step by step. Raises RefusedError if the
    content is larger than `largest` bytes, or compressed in an unknown way or repeatedly;
    requests.RequestException if the connection breaks."""
    encoding = answer.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise RefusedError(f"it is compressed with `{encoding[:40]}`, which was not requested")
    unpack = None if encoding in ("", "identity") else zlib.decompressobj(47 if "gzip" in encoding else 15)
    size = 0
    try:
        for packed in answer.raw.stream(PIECE, decode_content=False):
            left = packed
            while left:
                piece = unpack.decompress(left, 1 << 20) if unpack is not None else left
                left = unpack.unconsumed_tail if unpack is not None else b""
                size += len(piece)
                if size > largest:
                    raise RefusedError(f"it is larger than {max(largest >> 20, 1)} MiB")
                if piece:
                    yield piece
    except zlib.error as error:
        raise RefusedError(f"it cannot be decompressed: {error}") from error
    except requests.RequestException:
        raise
    except Exception as error:
        from urllib3.exceptions import HTTPError

        if isinstance(error, (HTTPError, OSError, ValueError)):
            raise requests.ConnectionError(str(error)) from error
        raise
