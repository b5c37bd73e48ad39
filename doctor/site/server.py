"""Serves the page to one person on their own machine, at the loopback address and behind a random token.

The token is in the path of the URL, so that no other user of the machine and no other page can send requests.
A browser names the host that it connected to in the header `Host`, and the site whose page makes the request
in the header `Origin`. The server refuses requests with another host or from another site.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from doctor.printable import complain
from doctor.site import judge
from doctor.site.pages import pages

ADDRESS = "127.0.0.1"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
TYPES = {
    ".js": "text/javascript",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""The content type of each file, by its extension. They are not taken from the machine's list of types,
because browsers reject a script or a style sheet with another type."""


class Server(ThreadingHTTPServer):
    """Serves the site and answers its calls. port: 0 for any free port. Raises OSError if the port is not
    available."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        self.files = pages("server")
        self.token = secrets.token_urlsafe(24)
        super().__init__((ADDRESS, port), _Handler)

    @property
    def address(self) -> str:
        """The URL of the page."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a browser that closed the connection; print one line for other errors."""
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError)):
            complain(f"{type(error).__name__}: {error}")


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "tfgpu-doctor"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        path = self._path()
        if path is None:
            return
        name = path or "index.html"
        data = self.server.files.get(name)
        if data is None:
            self._answer(HTTPStatus.NOT_FOUND)
        else:
            self._answer(HTTPStatus.OK, data, TYPES[name[name.rfind(".") :]])

    do_HEAD = do_GET  # noqa: N815 http.server calls this name

    def do_POST(self) -> None:
        path = self._path()
        if path is None:
            return
        folder, _, call = path.partition("/")
        if self.headers.get("Origin") != f"http://{self.headers.get('Host')}":
            self._answer(HTTPStatus.FORBIDDEN)
            return
        length = self.headers.get("Content-Length") or "0"
        if folder != "judge" or not (length.isascii() and length.isdigit()):
            self._answer(HTTPStatus.BAD_REQUEST)
            return
        if int(length) > judge.LARGEST + 1:  # one byte more is allowed: the judge then explains the limit
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        body = self.rfile.read(int(length))
        answer = judge.answer(call, dict(parse_qsl(urlsplit(self.path).query)), body, here=True)
        self._answer(HTTPStatus.OK, json.dumps(answer).encode(), "application/json")

    def _path(self) -> str | None:
        """Return the path after the token. If the request is not allowed, answer it with an error and return
        None."""
        hosts = {f"{name}:{self.server.server_port}" for name in (ADDRESS, "localhost")}
        token, slash, path = urlsplit(self.path).path.lstrip("/").partition("/")
        if (
            self.headers.get("Host") in hosts
            and slash
            and hmac.compare_digest(token.encode(), self.server.token.encode())
        ):
            return path
        self._answer(HTTPStatus.NOT_FOUND)
        return None

    def _answer(self, status: HTTPStatus, data: bytes = b"", kind: str = "text/plain") -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Keep no log of the requests."""
