"""Reads parts of a file on a server (HTTP range requests, RFC 9110 section 14), or at a file:// URL."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import requests

from doctor.redact import without_doors
from doctor.web import Limit, RefusedError, body, get, guarded

TRIES = 5
TIMEOUT_S = (20, 60)
PAGE_LIMIT = 64 << 20
"""The largest allowed size of an index page, in bytes. The page of the largest project has five million
bytes."""
FILE_LIMIT = 16 << 30
PAGE_LIMIT_S = 120.0
SLOWEST = 20_000
"""The lowest allowed speed, in bytes per second, for a larger file after PAGE_LIMIT_S seconds."""
# a broken connection loses only the piece in which it broke
PIECE = 1 << 16


class RemoteError(Exception):
    """A file could not be read from the server; the message states the URL and the reason."""


class Page(NamedTuple):
    """The text of an index page, and its content type."""

    text: str
    content_type: str


class Remote:
    """Reads with one requests.Session per thread, and counts the received bytes.

    `make_session` is called once in each thread that uses this object. `named`: the indexes in the user's
    configuration; other kinds of addresses are refused (doctor.web).
    """

    def __init__(
        self, make_session: Callable[[], requests.Session], pause_s: float = 0.5, named: Iterable[str] = ()
    ) -> None:
        self._make_session = make_session
        self._named = tuple(named)
        self._local = threading.local()
        self._pause_s = pause_s
        self.bytes_read = 0

    def _session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = guarded(self._make_session(), self._named)
        return session

    def get(self, url: str, headers: Mapping[str, str]) -> Page | None:
        """Return the content of a small page, or None if it does not exist. Raises RemoteError."""
        reason = ""
        for attempt in range(TRIES):
            time.sleep(attempt * self._pause_s)
            session = self._session()
            try:
                with Limit(session, PAGE_LIMIT_S) as limit, get(session, url, headers, TIMEOUT_S) as answer:
                    if answer.status_code == 404:
                        return None
                    if answer.ok:
                        content = b"".join(body(answer, PAGE_LIMIT))
                        self.bytes_read += len(content)
                        _check_time(limit, url)
                        text = content.decode(answer.encoding or "utf-8", "replace")
                        return Page(text, answer.headers.get("Content-Type", ""))
            except (requests.RequestException, LookupError) as error:
                _check_time(limit, url)
                reason = _first_cause(error)
                continue
            except RefusedError as error:
                raise RemoteError(f"{without_doors(url)}: {error}") from error
            reason = f"status {answer.status_code}"
            if answer.status_code < 500 and answer.status_code != 429:
                break
        raise RemoteError(f"{without_doors(url)}: {reason}")

    def size(self, url: str) -> int:
        """Return the length of the file in bytes. Raises RemoteError if the server does not serve parts of
        files."""
        if url.startswith("file:"):
            return _local(url).stat().st_size
        reason = ""
        for attempt in range(TRIES):
            time.sleep(attempt * self._pause_s)
            try:
                answer = self._ask(url, 0, 1)
            except requests.RequestException as error:
                reason = _first_cause(error)
                continue
            with answer:
                total = answer.headers.get("Content-Range", "").rpartition("/")[2]
                if answer.status_code == 206 and total.isdecimal() and len(total) < 20:
                    if int(total) > FILE_LIMIT:
                        raise RemoteError(f"{without_doors(url)}: {total} bytes are too many for a wheel")
                    return int(total)
                if answer.status_code == 200:
                    raise RemoteError(
                        f"{without_doors(url)}: the server ignores range requests, so parts of a wheel cannot"
                        " be read. Next: point PIP_INDEX_URL at an index whose file server answers 206 to a"
                        " Range header"
                    )
                reason = f"status {answer.status_code}"
        raise RemoteError(f"{without_doors(url)}: {reason}")

    def read(self, url: str, start: int, stop: int) -> bytes:
        """Return the bytes start..stop (stop excluded) of the file at `url`."""
        return b"".join(self.stream(url, start, stop))

    def stream(self, url: str, start: int, stop: int) -> Iterator[bytes]:
        """Yield the bytes start..stop in pieces. After a broken connection, reading continues from the same
        position.

        Raises RemoteError after TRIES failures in a row that delivered no byte.
        """
        if url.startswith("file:"):
            yield from self._stream_local(_local(url), start, stop)
            return
        session = self._session()
        with Limit(session, PAGE_LIMIT_S + (stop - start) / SLOWEST) as limit:
            yield from self._stream(url, start, stop, limit)

    def _stream(self, url: str, start: int, stop: int, limit: Limit) -> Iterator[bytes]:
        failures, reason = 0, ""
        while start < stop:
            _check_time(limit, url)
            if failures == TRIES:
                raise RemoteError(f"{without_doors(url)}: {reason} (bytes {start} to {stop})")
            time.sleep(failures * self._pause_s)
            try:
                with self._ask(url, start, stop) as answer:
                    if answer.status_code != 206:
                        reason = f"status {answer.status_code} to a range request"
                        failures += 1
                        continue
                    for piece in body(answer, FILE_LIMIT):
                        failures = 0
                        kept = piece[: stop - start]
                        start += len(kept)
                        self.bytes_read += len(piece)
                        yield kept
                        if start >= stop:  # a server may send more than was requested, even endlessly
                            break
                if start < stop:
                    reason = "the connection ended early"
                    failures += 1
            except requests.RequestException as error:
                reason = _first_cause(error)
                failures += 1

    def _ask(self, url: str, start: int, stop: int) -> requests.Response:
        # identity, because an encoded answer would not contain the bytes of the range
        headers = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        try:
            return get(self._session(), url, headers, TIMEOUT_S)
        except RefusedError as error:
            raise RemoteError(f"{without_doors(url)}: {error}") from error

    def _stream_local(self, path: Path, start: int, stop: int) -> Iterator[bytes]:
        with path.open("rb") as file:
            file.seek(start)
            while start < stop:
                piece = file.read(min(PIECE, stop - start))
                if not piece:
                    raise RemoteError(f"{path}: ends before byte {stop}")
                start += len(piece)
                self.bytes_read += len(piece)
                yield piece


def _check_time(limit: Limit, url: str) -> None:
    """Raise RemoteError if the time for reading `url` has passed."""
    if limit.passed:
        raise RemoteError(f"{without_doors(url)}: it takes longer than {limit.seconds:.0f} s")


def _local(url: str) -> Path:
    return Path(url2pathname(unquote(urlsplit(url).path)))


def _first_cause(error: BaseException) -> str:
    """Return the innermost cause of an error on one line: the library `requests` wraps "connection refused"
    in four exceptions."""
    seen: BaseException = error
    while True:
        inner = getattr(seen, "reason", None) or seen.__cause__ or seen.__context__
        if not isinstance(inner, BaseException) or inner is seen:
            break
        seen = inner
    return str(seen).splitlines()[0] if str(seen) else type(seen).__name__
