"""Fetches reports from the web: an issue, a pull request, a comment on either of them, a gist, a file, or any
other plain text.

This module reads GitHub through its public API, with the token in GITHUB_TOKEN or GH_TOKEN if one is set. It
sends the token only to the API. GITHUB_SERVER_URL and GITHUB_API_URL select another GitHub server (GitHub
Enterprise); GitHub Actions sets them.
"""

from __future__ import annotations

import os
import re
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from doctor import __version__, lazy
from doctor.errors import InputError
from doctor.redact import without_doors

if TYPE_CHECKING:
    import requests

    from doctor.web import Limit

LARGEST = 64 * 1024 * 1024
"""At most this many bytes are fetched from one URL."""
TIMEOUT = (10, 30)
"""Time limits in seconds: for opening a connection, and for the wait between two pieces of a response."""
LONGEST = 120.0
"""Time limit, in seconds, for one URL, including its pages of comments."""
PAGES = 20
"""At most this many pages of comments are read. A page has a hundred comments."""

_ISSUE = lazy.compile(r"/(?P<repo>[\w.-]+/[\w.-]+)/(?:issues|pull)/(?P<number>\d+)(?:/|$)")
_BLOB = lazy.compile(r"/(?P<repo>[\w.-]+/[\w.-]+)/(?:blob|raw)/(?P<rest>.+)")
_GIST = lazy.compile(r"/(?:[\w.-]+/)?(?P<id>[0-9a-f]{8,})(?:/|$)")


def fetch(address: str, *, comments: bool = False) -> IO[bytes]:
    """Return the report at a URL. comments: also read the comments of an issue.

    Raises InputError if the report is missing, private, too large, too slow, not text, or unreachable; its
    hint says what to do. Redirects are followed only to public hosts, and to hosts like the one that the user
    gave (doctor.web).
    """
    import requests

    from doctor.web import Limit, guarded

    own = [os.environ.get(name) or "" for name in ("GITHUB_SERVER_URL", "GITHUB_API_URL")]
    with guarded(requests.Session(), [address, *own]) as session, Limit(session, LONGEST) as limit:
        return _fetch(_Reading(without_doors(address), session, limit), address, comments)


class _Reading(NamedTuple):
    """The state of reading one URL. name: the URL without passwords and tokens, for messages."""

    name: str
    session: requests.Session
    limit: Limit

    def error(self, what: str, hint: str = "") -> InputError:
        """Return an InputError about this URL."""
        if self.limit.passed:
            return InputError(
                f"cannot read `{self.name}`: it takes longer than {self.limit.seconds:.0f} s",
                "download it, then run `tfgpu-doctor explain FILE`",
            )
        return InputError(f"cannot read `{self.name}`: {what}", hint)


def _fetch(at: _Reading, address: str, comments: bool) -> IO[bytes]:
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
        if not host:
            raise ValueError("the URL has no host")
    except ValueError as error:
        raise at.error("it is not a valid URL") from error
    server = urlsplit(os.environ.get("GITHUB_SERVER_URL") or "https://github.com")
    if host in ("github.com", "www.github.com") or parts.netloc.lower() == server.netloc.lower():
        comment = re.fullmatch(r"issuecomment-(\d+)", parts.fragment)
        if issue := _ISSUE.match(parts.path):
            return _issue(at, issue["repo"], issue["number"], comment[1] if comment else None, comments)
        if blob := _BLOB.match(parts.path):
            return _text(at, f"{parts.scheme}://{parts.netloc}/{blob['repo']}/raw/{blob['rest']}")
    if host == "gist.github.com" and (gist := _GIST.match(parts.path)):
        return _gist(at, gist["id"])
    return _text(at, address)


# --- GitHub ----------------------------------------------------------------------------------------


def _issue(at: _Reading, repo: str, number: str, comment: str | None, comments: bool) -> IO[bytes]:
    """Return the title and text of an issue, with its comments if `comments` is set; or, if the number of a
    comment is given, only that comment."""
    if comment:
        return _stream(_body(_api(at, f"repos/{repo}/issues/comments/{comment}")))
    issue = _api(at, f"repos/{repo}/issues/{number}")
    text = f"# {_string(issue, 'title')}\n\n{_body(issue)}"
    for page in range(1, PAGES + 1) if comments else ():
        found = _api(at, f"repos/{repo}/issues/{number}/comments", f"?per_page=100&page={page}")
        if not isinstance(found, list):
            break
        text += "".join(f"\n\n{_body(item)}" for item in found)
        if len(found) < 100:
            break
    return _stream(text)


def _gist(at: _Reading, number: str) -> IO[bytes]:
    gist = _api(at, f"gists/{number}")
    files = gist.get("files") if isinstance(gist, dict) else None
    texts = []
    for file in files.values() if isinstance(files, dict) else ():
        whole = _string(file, "raw_url")  # an answer of the API contains only the first megabyte of a file
        if whole and file.get("truncated"):
            texts.append(_text(at, whole).read().decode("utf-8", "replace"))
        else:
            texts.append(_string(file, "content"))
    return _stream("\n".join(texts))


def _api(at: _Reading, path: str, query: str = "") -> Any:
    base = (os.environ.get("GITHUB_API_URL") or "https://api.github.com").rstrip("/")
    token = os.environ.get("GITHUB_TOKEN") or os.environ.get("GH_TOKEN")
    headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    with _get(at, f"{base}/{path}{query}", headers) as answer:
        _check_status(at, answer, token is not None)
        data = _read(at, answer)
    import json

    try:
        return json.loads(data)
    except ValueError as error:
        raise at.error("the API's response is not JSON") from error


def _check_status(at: _Reading, answer: requests.Response, token: bool) -> None:
    """Raise InputError, with the reason and what to do, if the API refuses a request. token: whether the
    request had one."""
    status = answer.status_code
    if status < 400:
        return
    name = "GITHUB_TOKEN (or GH_TOKEN)"
    if status in (403, 429) and (
        answer.headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in answer.headers
    ):
        hint = (
            "wait, or copy the text into a file" if token else f"set {name}: with a token the limit is higher"
        )
        raise at.error(f"GitHub allows no more requests from this machine{_until(answer)}", hint)
    if status == 401:
        raise at.error("GitHub rejects the token", f"renew {name} or unset it")
    if status in (404, 403, 451):
        hint = (
            f"check that the token in {name} gives access to it" if token else f"if it is private, set {name}"
        )
        raise at.error("it does not exist, or it is private", hint)
    if status == 410:
        raise at.error("it was deleted")
    raise at.error(f"GitHub returned status {status}", "try again later")


def _until(answer: requests.Response) -> str:
    """Return " until HH:MM UTC", the end of a rate limit, or "" if the response does not state it."""
    reset = answer.headers.get("X-RateLimit-Reset", "")
    if not (reset.isdigit() and len(reset) < 12):
        return ""
    import datetime

    return f" until {datetime.datetime.fromtimestamp(int(reset), datetime.timezone.utc):%H:%M} UTC"


def _string(item: Any, key: str) -> str:
    value = item.get(key) if isinstance(item, dict) else None
    return value if isinstance(value, str) else ""


def _body(item: Any) -> str:
    return _string(item, "body").replace("\r\n", "\n")


def _stream(text: str) -> IO[bytes]:
    return BytesIO(text.encode("utf-8", "replace"))


# --- any URL ---------------------------------------------------------------------------------------


def _text(at: _Reading, place: str) -> IO[bytes]:
    """Return the plain text at a URL. Raises InputError for a web page."""
    with _get(at, place, {"Accept": "text/plain, */*;q=0.5"}) as answer:
        status = answer.status_code
        if status in (401, 403):
            raise at.error(f"the server denies access (status {status})", "copy its text into a file")
        if status in (404, 410):
            raise at.error("it does not exist")
        if status == 429:
            raise at.error("the server allows no more requests from this machine", "wait a while")
        if status >= 400:
            raise at.error(f"the server returned status {status}")
        kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind in ("text/html", "application/xhtml+xml"):
            raise at.error(
                "it is a web page, not the text of a report",
                "give the URL of the raw text, or run `tfgpu-doctor explain -` and paste the text",
            )
        if kind.startswith(("image/", "video/", "audio/", "font/")):
            raise at.error(f"it is {kind}, not text", "copy the text out of it")
        return BytesIO(_read(at, answer))


def _get(at: _Reading, place: str, headers: dict[str, str]) -> requests.Response:
    import requests

    from doctor.web import RefusedError, get

    try:
        return get(at.session, place, {"User-Agent": f"tfgpu-doctor/{__version__}", **headers}, TIMEOUT)
    except RefusedError as error:
        raise at.error(str(error), "if you trust that server, give the URL of the text itself") from error
    except requests.Timeout as error:
        raise at.error("the server did not answer in time", "try again later") from error
    except requests.exceptions.SSLError as error:
        raise at.error(
            "its certificate is not trusted",
            "if a proxy replaces certificates, set REQUESTS_CA_BUNDLE to its certificate file",
        ) from error
    except requests.ConnectionError as error:
        raise at.error(f"{urlsplit(place).hostname} cannot be reached", "check the network") from error
    except (requests.RequestException, ValueError) as error:
        raise at.error(without_doors(f"{type(error).__name__}: {error}")[:300]) from error


def _read(at: _Reading, answer: requests.Response) -> bytes:
    """Return the whole body of a response. Raises InputError if it is larger than LARGEST."""
    import requests

    from doctor.web import RefusedError, body

    try:
        data = b"".join(body(answer, LARGEST))
    except RefusedError as error:
        raise at.error(str(error), "download it, then run `tfgpu-doctor explain FILE`") from error
    except requests.RequestException as error:
        raise at.error("the connection broke", "try again") from error
    if at.limit.passed:  # the limit cut the connection, which some responses do not show
        raise at.error("it arrived incomplete")
    length = answer.headers.get("Content-Length", "")
    if length.isdigit() and not answer.headers.get("Content-Encoding") and len(data) < int(length):
        raise at.error("the connection broke", "try again")
    return data
