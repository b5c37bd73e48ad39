"""Tests `tfgpu-doctor serve`: only somebody on this machine who knows the address can use it."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor import api
from doctor.site import judge
from doctor.site.server import Server

ROOT = Path(__file__).resolve().parents[2]
LOG = b"Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.02,))
        thread.start()
        yield found
        found.shutdown()
        thread.join()


class Asked:
    def __init__(
        self, server: Server, method: str, path: str, body: bytes = b"", **headers: str | None
    ) -> None:
        host = f"127.0.0.1:{server.server_port}"
        given: dict[str, str | None] = {
            "Host": host,
            **({"Origin": f"http://{host}"} if method == "POST" else {}),
            **headers,
        }
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
        connection.putrequest(method, path, skip_host=True)
        for name, value in given.items():
            if value is not None:
                connection.putheader(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        self.status, self.headers, self.body = response.status, response.headers, response.read()
        connection.close()


def test_the_page_and_its_files_have_the_security_headers(server: Server) -> None:
    for path, kind in (
        ("", "text/html"),
        ("app.js", "text/javascript"),
        ("style.css", "text/css"),
        ("tables/gpu.html", "text/html"),
        ("icon.svg", "image/svg+xml"),
    ):
        found = Asked(server, "GET", f"/{server.token}/{path}")
        assert found.status == 200
        assert (found.headers["Content-Type"] or "").startswith(kind)
        assert found.headers["X-Content-Type-Options"] == "nosniff"
        assert found.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
        assert "Access-Control-Allow-Origin" not in found.headers
    assert b'name="judge" content="server"' in Asked(server, "GET", f"/{server.token}/").body
    assert Asked(server, "HEAD", f"/{server.token}/").body == b""


def test_it_gives_the_same_answer_as_the_tool(server: Server) -> None:
    found = json.loads(Asked(server, "POST", f"/{server.token}/judge/explain?name=-", LOG).body)
    assert found["report"] == api.explain(LOG).to_dict()
    checked = json.loads(Asked(server, "POST", f"/{server.token}/judge/check").body)
    assert checked["report"]["source"]["kind"] == "machine"


@pytest.mark.parametrize(
    "path",
    ["/", "/index.html", "/{wrong}/", "/{short}/", "/{token}", "//{token}x/", "/{wrong}/judge/explain"],
)
def test_without_the_token_every_request_is_refused(server: Server, path: str) -> None:
    token = server.token
    where = path.format(token=token, wrong=token[::-1], short=token[:-1])
    for method in ("GET", "POST"):
        found = Asked(server, method, where, LOG)
        assert (found.status, found.body) == (404, b"")


def test_requests_with_another_host_or_origin_are_refused(server: Server) -> None:
    """The requests use another site's name that leads to this address (DNS rebinding), or come from a page on
    another site."""
    port = server.server_port
    for host in ("example.org", f"example.org:{port}", f"127.0.0.1.example.org:{port}", "127.0.0.1", None):
        assert Asked(server, "GET", f"/{server.token}/", Host=host).status == 404
    assert Asked(server, "GET", f"/{server.token}/", Host=f"localhost:{port}").status == 200
    for origin in ("http://example.org", "null", f"http://localhost:{port}", None):
        assert Asked(server, "POST", f"/{server.token}/judge/check", Origin=origin).status == 403


@pytest.mark.parametrize(
    "path",
    [
        "../pages.py",
        "..%2f..%2fetc/passwd",
        "tables/../../../etc/passwd",
        "/etc/passwd",
        "tables",
        "nothing.html",
    ],
)
def test_no_path_leads_outside_the_site(server: Server, path: str) -> None:
    assert Asked(server, "GET", f"/{server.token}/{path}").status == 404


def test_too_large_bodies_and_unknown_calls_are_reported(server: Server) -> None:
    where = f"/{server.token}/judge/explain"
    assert Asked(server, "POST", where, Content_Length=str(judge.LARGEST + 2)).status == 413
    for wrong in ("-1", "1e3", "\u0663"):
        assert Asked(server, "POST", where, Content_Length=wrong.encode().decode("latin-1")).status == 400
    assert "no call" in json.loads(Asked(server, "POST", f"/{server.token}/judge/install").body)["error"]
    assert "empty" in json.loads(Asked(server, "POST", where).body)["error"]
    assert Asked(server, "DELETE", where).status == 501


def test_a_browser_that_disconnects_causes_no_traceback(
    server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    for path in ("tables/gpu.html", "judge/explain"):
        with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
            connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )  # the server closes the connection with a reset
            host = f"127.0.0.1:{server.server_port}"
            method = "POST" if path.startswith("judge") else "GET"
            connection.sendall(
                f"{method} /{server.token}/{path} HTTP/1.1\r\nHost: {host}\r\nOrigin:"
                f" http://{host}\r\nContent-Length: 9\r\n\r\n".encode()
            )
    assert Asked(server, "GET", f"/{server.token}/").status == 200
    assert capfd.readouterr().err == ""


def test_it_listens_on_the_loopback_address_only(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 32
    with Server() as other:
        assert other.token != server.token


def test_ctrl_c_ends_it_quietly_and_a_port_in_use_is_reported(server: Server) -> None:
    command = [sys.executable, "-m", "doctor", "serve", "--no-browser"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        assert (process.returncode, said) == (0, b"")
    taken = subprocess.run(
        [*command, "--port", str(server.server_port)], cwd=ROOT, capture_output=True, timeout=60, check=False
    )
    assert taken.returncode == 3
    assert b"hint: leave out --port" in taken.stderr


def test_the_judge_in_the_browser_never_examines_a_machine() -> None:
    assert "no call" in judge.answer("check", {})["error"]
    assert judge.answer("plan", {"gpu": "RTX 3080"})["plan"]["machine"]["platform"]["value"] == "linux"
    assert "machine" in judge.answer("plan", {"machine": "/etc/passwd"})["error"]
    assert "requirements" in judge.answer("plan", {"requirements": "/etc/passwd"})["error"]
