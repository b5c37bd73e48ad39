"""Bytes from a file on a server, part by part (HTTP range requests, RFC 9110 section 14), or from a file:// address."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import requests

TRIES = 5
TIMEOUT_S = (20, 60)
# What a broken connection loses is the piece it broke in
PIECE = 1 << 16


class RemoteError(Exception):
    """A file could not be read from the server; the text names the address and the reason."""


class Remote:
    """Reads through one requests.Session per thread; counts the bytes that came in.

    `make_session` is called once in each thread that uses the object.
    """

    def __init__(self, make_session: Callable[[], requests.Session], pause_s: float = 0.5) -> None:
        self._make_session = make_session
        self._local = threading.local()
        self._pause_s = pause_s
        self.bytes_read = 0

    def _session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = self._make_session()
        return session

    def get(self, url: str, headers: Mapping[str, str]) -> requests.Response | None:
        """The whole of a small page; None where it does not exist. Raises RemoteError."""
        reason = ""
        for attempt in range(TRIES):
            time.sleep(attempt * self._pause_s)
            try:
                answer = self._session().get(url, headers=headers, timeout=TIMEOUT_S)
            except requests.RequestException as error:
                reason = _first_cause(error)
                continue
            if answer.status_code == 404:
                return None
            if answer.ok:
                self.bytes_read += len(answer.content)
                return answer
            reason = f"status {answer.status_code}"
            if answer.status_code < 500 and answer.status_code != 429:
                break
        raise RemoteError(f"{_without_secrets(url)}: {reason}")

    def size(self, url: str) -> int:
        """The length of the file in bytes. Raises RemoteError where the server does not serve parts of files."""
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
                if answer.status_code == 206 and total.isdigit():
                    return int(total)
                if answer.status_code == 200:
                    raise RemoteError(
                        f"{_without_secrets(url)}: the server ignores range requests, so parts of a wheel cannot be "
                        "read. Next: point PIP_INDEX_URL at an index whose file server answers 206 to a Range header"
                    )
                reason = f"status {answer.status_code}"
        raise RemoteError(f"{_without_secrets(url)}: {reason}")

    def read(self, url: str, start: int, stop: int) -> bytes:
        """Bytes start..stop (stop excluded)."""
        return b"".join(self.stream(url, start, stop))

    def stream(self, url: str, start: int, stop: int) -> Iterator[bytes]:
        """Bytes start..stop in pieces; a connection that breaks is taken up again where it broke.

        Raises RemoteError after TRIES failures without a byte between them.
        """
        if url.startswith("file:"):
            yield from self._stream_local(_local(url), start, stop)
            return
        failures, reason = 0, ""
        while start < stop:
            if failures == TRIES:
                raise RemoteError(f"{_without_secrets(url)}: {reason} (bytes {start} to {stop})")
            time.sleep(failures * self._pause_s)
            try:
                with self._ask(url, start, stop) as answer:
                    if answer.status_code != 206:
                        reason = f"status {answer.status_code} to a range request"
                        failures += 1
                        continue
                    for piece in answer.iter_content(PIECE):
                        failures = 0
                        start += len(piece)
                        self.bytes_read += len(piece)
                        yield piece
                if start < stop:
                    reason = "the connection ended early"
                    failures += 1
            except requests.RequestException as error:
                reason = _first_cause(error)
                failures += 1

    def _ask(self, url: str, start: int, stop: int) -> requests.Response:
        # identity: an encoded answer would not be the bytes of the range
        headers = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        return self._session().get(url, headers=headers, stream=True, timeout=TIMEOUT_S)

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


def _local(url: str) -> Path:
    return Path(url2pathname(unquote(urlsplit(url).path)))


def _without_secrets(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _first_cause(error: BaseException) -> str:
    """The innermost reason, in one line: requests wraps "connection refused" four deep."""
    seen: BaseException = error
    while True:
        inner = getattr(seen, "reason", None) or seen.__cause__ or seen.__context__
        if not isinstance(inner, BaseException) or inner is seen:
            break
        seen = inner
    return str(seen).splitlines()[0] if str(seen) else type(seen).__name__
