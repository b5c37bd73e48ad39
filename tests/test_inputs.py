"""Tests the inputs: files, folders, standard input, and addresses on a server that may refuse requests."""

from __future__ import annotations

import gzip
import html.parser
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest

from doctor import addresses
from doctor.addresses import fetch
from doctor.cli import main
from doctor.errors import InputError
from doctor.inputs import Input, expand, opened
from tests.in_process import called_as_text

if TYPE_CHECKING:
    from typing import TypeAlias

ROOT = Path(__file__).resolve().parent.parent
LOG = (
    "2020-05-01 10:00:00.1: W tensorflow/stream_executor/platform/default/dso_loader.cc:55] Could not load"
    " dynamic library 'libcudnn.so.7'; dlerror: libcudnn.so.7: cannot open shared object file: No such file"
    " or directory\n"
)
Run: TypeAlias = "Callable[..., subprocess.CompletedProcess[str]]"


@pytest.fixture
def explain(tmp_path: Path) -> Run:
    """Run `tfgpu-doctor explain` in a separate folder."""

    def run(*arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        given = {**os.environ, **env}
        return called_as_text("explain", *arguments, input=stdin.encode(), cwd=tmp_path, env=given)

    return run


# --- files and folders


def test_text_files_of_a_folder_are_read_in_order_and_others_skipped(explain: Run, tmp_path: Path) -> None:
    (tmp_path / "logs/deep").mkdir(parents=True)
    (tmp_path / "logs/.git").mkdir()
    for name in ("b.log", "a.txt", "deep/c", ".git/d.log", "image.png"):
        (tmp_path / "logs" / name).write_text(LOG)
    (tmp_path / "logs/model.bin").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "logs/empty.log").write_bytes(b"")
    run = explain("logs", "--format", "json")
    assert run.returncode == 1
    assert run.stderr == ""
    names = [json.loads(row)["source"]["name"] for row in run.stdout.splitlines()]
    assert names == [str(Path("logs") / n) for n in ("a.txt", "b.log", "deep/c")]


def test_one_bad_file_does_not_stop_the_rest(explain: Run, tmp_path: Path) -> None:
    for name in ("a.log", "c.log"):
        (tmp_path / name).write_text(LOG)
    (tmp_path / "b.log").write_bytes(bytes(range(256)) * 20)
    run = explain("a.log", "missing.log", "b.log", "c.log", "--format", "json", "--exit-zero")
    assert run.returncode == 2
    assert len(run.stdout.splitlines()) == 2
    assert "`missing.log`: No such file" in run.stderr
    assert "`b.log`: binary data" in run.stderr


def test_many_reports_keep_their_order_on_all_cores(explain: Run, tmp_path: Path) -> None:
    names = [f"{i:03d}.log" for i in range(120)]
    for i, name in enumerate(names):
        (tmp_path / name).write_text(LOG * (1 + i % 7))
    bad = names[3], names[50]  # one is read before the worker processes start, the other by a worker
    for name in bad:
        (tmp_path / name).write_bytes(b"\x7fELF" + bytes(1000))
    run = explain(*names, "--format", "json")
    assert run.returncode == 2
    assert [json.loads(row)["source"]["name"] for row in run.stdout.splitlines()] == [
        n for n in names if n not in bad
    ]
    assert all(name in run.stderr for name in bad)


def test_summary_counts_causes(explain: Run, tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / f"{i}.log").write_text(LOG)
    (tmp_path / "x.log").write_text("nothing here\n")
    run = explain(".", "--summary", "--format", "json")
    document = json.loads(run.stdout)
    assert document["reports"] == 4
    assert {row["code"]: row["count"] for row in document["causes"]} == {
        "cudnn-missing": 3,
        "undetermined": 1,
    }
    text = explain(".", "--summary").stdout
    assert text.startswith("4 reports\n")
    assert "75.0 %  cudnn-missing" in text


def test_html_summary_is_one_complete_page(explain: Run, tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / f"{i}.log").write_text(LOG)
    page = explain(".", "--summary", "--format", "html", "--output", "page.html")
    assert page.returncode in (0, 1)
    assert page.stdout == ""
    text = (tmp_path / "page.html").read_text()
    parser = html.parser.HTMLParser()
    opened: list[str] = []

    def start(tag: str, attrs: object) -> None:
        if tag not in ("meta", "br"):
            opened.append(tag)

    parser.handle_starttag = start  # type: ignore[method-assign]
    closed: list[str] = []
    parser.handle_endtag = closed.append  # type: ignore[method-assign]
    parser.feed(text)
    assert sorted(opened) == sorted(closed)
    assert opened.count("html") == opened.count("table") == 1
    assert "<h1>3 reports</h1>" in text
    assert "<td>3</td><td>100.0 %</td><td><code>cudnn-missing</code></td>" in text


def test_gzip_file_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "train.log.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    with opened(Input(str(path))) as stream:
        assert stream.read() == LOG.encode()


def test_error_names_the_damaged_archive(explain: Run, tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(LOG.encode() * 100)[:60])
    run = explain("a.gz")
    assert run.returncode == 2
    assert "a.gz" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("name", ["no/such/file", "a\0b", "x" * 5000])
def test_file_that_cannot_be_opened_is_an_error_in_one_line(name: str) -> None:
    with pytest.raises(InputError, match="cannot read"):
        opened(Input(name))


def test_similar_file_name_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "training.log").write_text(LOG)
    with pytest.raises(InputError) as caught:
        opened(Input(str(tmp_path / "trainning.log")))
    assert "training.log" in caught.value.hint


def test_standard_input_is_read_by_default(explain: Run) -> None:
    assert json.loads(explain("--format", "json", stdin=LOG).stdout)["source"]["name"] == "-"
    empty = explain(stdin="")
    assert (empty.returncode, empty.stdout) == (2, "")
    assert "2>&1" in empty.stderr


def test_input_that_is_given_twice_is_answered_twice() -> None:
    assert [item.name for item in expand(["a", "-", "a"])] == ["a", "-", "a"]


# --- addresses


class Handler(BaseHTTPRequestHandler):
    """Simulates GitHub, with a few issues and files."""

    seen: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        Handler.seen.append((self.path, self.headers.get("Authorization")))
        host = f"http://127.0.0.1:{self.server.server_address[1]}"  # type: ignore[attr-defined]
        pages: dict[str, tuple[int, str, str]] = {
            "/raw.log": (200, "text/plain", LOG),
            "/page": (200, "text/html; charset=utf-8", "<html>"),
            "/image": (200, "image/png", "x"),
            "/private": (403, "text/plain", ""),
            "/broken": (500, "text/plain", ""),
            "/large": (200, "text/plain", "x" * 5000),
            "/own/er/raw/main/logs/a.log": (200, "text/plain", LOG),
            "/api/repos/own/er/issues/1": (
                200,
                "application/json",
                json.dumps({"title": "No GPU", "body": "first\r\n" + LOG}),
            ),
            "/api/repos/own/er/issues/1/comments?per_page=100&page=1": (
                200,
                "application/json",
                json.dumps([{"body": f"comment {i}"} for i in range(100)]),
            ),
            "/api/repos/own/er/issues/1/comments?per_page=100&page=2": (
                200,
                "application/json",
                json.dumps([{"body": "the last"}, {}, None]),
            ),
            "/api/repos/own/er/issues/comments/77": (
                200,
                "application/json",
                json.dumps({"body": "only this"}),
            ),
            "/api/repos/own/er/issues/3": (410, "application/json", "{}"),
            "/api/repos/own/er/issues/4": (403, "application/json", "{}"),
            "/api/repos/own/er/issues/5": (401, "application/json", "{}"),
            "/api/repos/own/er/issues/6": (200, "application/json", "not json"),
            "/api/gists/0123456789abcdef": (
                200,
                "application/json",
                json.dumps(
                    {
                        "files": {
                            "a": {"content": "in full"},
                            "b": {"truncated": True, "raw_url": f"{host}/raw.log"},
                        }
                    }
                ),
            ),
        }
        status, kind, body = pages.get(self.path, (404, "text/plain", ""))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if self.path.endswith("/issues/4"):
            self.send_header("X-RateLimit-Remaining", "0")
            self.send_header("X-RateLimit-Reset", "1767323045")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a local server that simulates GitHub."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{httpd.server_address[1]}"
    Handler.seen.clear()
    monkeypatch.setenv("GITHUB_SERVER_URL", address)
    monkeypatch.setenv("GITHUB_API_URL", f"{address}/api")
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield address
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def text(address: str, *, comments: bool = False) -> str:
    return fetch(address, comments=comments).read().decode()


def test_raw_file_is_read(server: str) -> None:
    assert text(f"{server}/raw.log") == LOG


def test_issue_is_read_through_the_api(server: str) -> None:
    assert text(f"{server}/own/er/issues/1") == "# No GPU\n\nfirst\n" + LOG
    assert text(f"{server}/own/er/pull/1?x=1#top").startswith("# No GPU")
    assert {token for _, token in Handler.seen} == {None}


def test_comments_are_read_page_by_page_if_requested(server: str) -> None:
    whole = text(f"{server}/own/er/issues/1", comments=True)
    assert "comment 99" in whole
    assert "the last" in whole
    assert "comment" not in text(f"{server}/own/er/issues/1")


def test_only_the_linked_comment_is_read(server: str) -> None:
    assert text(f"{server}/own/er/issues/1#issuecomment-77") == "only this"


def test_file_in_a_repository_is_read_as_raw_text(server: str) -> None:
    assert text(f"{server}/own/er/blob/main/logs/a.log") == LOG


def test_gist_is_read_with_its_truncated_files(server: str) -> None:
    assert text("https://gist.github.com/somebody/0123456789abcdef") == "in full\n" + LOG


def test_token_is_sent_only_to_the_api(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", "s3cret")
    text("https://gist.github.com/0123456789abcdef")
    text(f"{server}/own/er/blob/main/logs/a.log")
    assert dict(Handler.seen) == {
        "/api/gists/0123456789abcdef": "Bearer s3cret", "/raw.log": None, "/own/er/raw/main/logs/a.log": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("own/er/issues/2", "does not exist, or it is private", "GITHUB_TOKEN"),
        ("own/er/issues/3", "was deleted", ""),
        ("own/er/issues/4", "no more requests from this machine until 03:04 UTC", "GITHUB_TOKEN"),
        ("own/er/issues/5", "rejects the token", "GITHUB_TOKEN"),
        ("own/er/issues/6", "not JSON", ""),
        ("page", "web page", "raw text"),
        ("image", "image/png, not text", ""),
        ("private", "the server denies access", "copy"),
        ("missing", "does not exist", ""),
        ("broken", "returned status 500", ""),
        ("large", "larger than", "download"),
    ],
)
def test_refused_request_says_why_and_what_to_do(
    server: str, path: str, message: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path == "large":
        monkeypatch.setattr(addresses, "LARGEST", 1000)
    with pytest.raises(InputError, match=message) as caught:
        text(f"{server}/{path}")
    assert hint in caught.value.hint
    assert f"{server}/{path}" in str(caught.value)


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1/x", "http://", "https://[x", "http://nosuchhost.invalid/"]
)
def test_unreachable_url_is_an_error_in_one_line(address: str) -> None:
    with pytest.raises(InputError):
        fetch(address)


def test_explain_reads_a_url(server: str, explain: Run) -> None:
    run = explain(f"{server}/own/er/issues/1", "--format", "json")
    found = json.loads(run.stdout)
    assert found["findings"][0]["code"] == "cudnn-missing"
    assert found["findings"][0]["evidence"][0]["line"] == 4


def test_a_file_instead_of_a_command_gets_a_hint_to_explain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a log.txt"
    log.write_text("x", encoding="utf-8")
    assert main([str(log)]) == 2
    assert f"hint: to diagnose it, run `tfgpu-doctor explain '{log}'`" in capsys.readouterr().err
    assert main(["https://example.org/issues/1"]) == 2
    assert "explain https://example.org/issues/1" in capsys.readouterr().err
    assert main(["no-such-file.log"]) == 2
    assert "explain" not in capsys.readouterr().err


def test_standard_input_instead_of_a_command_gets_a_hint_to_explain(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["-"]) == 2
    assert "`tfgpu-doctor explain -`" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "hinted"), [("doker.log", True), ("nofile.log", False)])
def test_a_missing_file_gets_the_name_of_a_similar_one(tmp_path: Path, name: str, hinted: bool) -> None:
    """The same ending alone does not make names similar."""
    (tmp_path / "docker.log").write_text("x")
    with pytest.raises(InputError) as caught:
        opened(Input(str(tmp_path / name)))
    assert ("docker.log" in caught.value.hint) is hinted
