"""Lists the files in a package registry. Its address comes from pip's configuration, and its simple index may
be HTML or JSON.

Sources: PEP 503 (HTML simple index), PEP 592 (yanked), PEP 691 (JSON), pip's user guide, "Configuration".
"""

from __future__ import annotations

import ast
import functools
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.request import url2pathname

import requests
from packaging.utils import canonicalize_name

from doctor.redact import without_doors
from doctor.tables.reading.remote import Remote, RemoteError
from doctor.values import dataclass

JSON_INDEX = "application/vnd.pypi.simple.v1+json"
HTML_INDEX = "application/vnd.pypi.simple.v1+html"
ACCEPT = f"{JSON_INDEX}, {HTML_INDEX};q=0.2, text/html;q=0.1"


class RegistryError(Exception):
    """The registry cannot be read; the message states the reason and the next step."""


@dataclass(frozen=True)
class IndexFile:
    """One file of a project as the index lists it. `sha256` is "" if the index has none. `yanked` is the
    reason ("" if there is none), or None for a file that is not yanked."""

    filename: str
    url: str
    sha256: str
    requires_python: str | None = None
    yanked: str | None = None


@dataclass(frozen=True)
class PipSettings:
    """The settings that pip uses on this machine."""

    indexes: tuple[str, ...]
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None


def pip_settings() -> PipSettings:
    """Return pip's settings, from its configuration (files, PIP_* variables) and, for the URL of the index,
    from its built-in default.

    Raises RegistryError if pip is not installed.
    """
    try:
        shown = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise RegistryError(
            f"pip cannot report the address of the package index ({error}). Next: run {sys.executable} -m"
            " ensurepip, or run this command with a Python that has pip"
        ) from error
    return settings_from_pip(shown)


def settings_from_pip(config_list: str) -> PipSettings:
    """Return the settings in the output of `pip config list`. As in pip, environment variables override
    [install] in the files, which overrides [download], which overrides [global]."""
    values: dict[str, str] = {}
    rank: dict[str, int] = {}
    for line in config_list.splitlines():
        name, separator, value = line.partition("=")
        section, dot, key = name.rpartition(".")
        order = {"global": 0, "download": 1, "install": 2, ":env:": 3}.get(section)
        if not separator or not dot or order is None or order < rank.get(key, 0):
            continue
        rank[key], values[key] = order, str(ast.literal_eval(value))
    main = values.get("index-url") or values.get("pypi-url") or _default_index()
    addresses = [main, *values.get("extra-index-url", "").split()]
    return PipSettings(
        tuple(dict.fromkeys(address.rstrip("/") for address in addresses)),
        cert=values.get("cert"),
        client_cert=values.get("client-cert"),
        proxy=values.get("proxy"),
    )


def _default_index() -> str:
    try:
        from pip._internal.models.index import PyPI
    except ImportError as error:
        raise RegistryError(
            "pip has no index-url configured and its built-in default cannot be read from this pip. "
            "Next: set PIP_INDEX_URL to the address of a simple index"
        ) from error
    return str(PyPI.simple_url)


def session_for(settings: PipSettings) -> requests.Session:
    """Return an HTTP session with the CA bundle, the client certificate and the proxy of pip's
    configuration."""
    session = requests.Session()
    if settings.cert:
        session.verify = settings.cert
    if settings.client_cert:
        session.cert = settings.client_cert
    if settings.proxy:
        session.proxies = {"http": settings.proxy, "https": settings.proxy}
    session.headers["User-Agent"] = "tfgpu-doctor build_tables"
    return session


def remote_for(settings: PipSettings) -> Remote:
    """Return a reader of files that uses pip's settings."""
    return Remote(functools.partial(session_for, settings), named=settings.indexes)


def project_files(project: str, indexes: tuple[str, ...], remote: Remote) -> list[IndexFile]:
    """Return every file of `project` in all `indexes`. If two indexes list the same file name, the first one
    counts.

    Raises RegistryError if no index has the project, or if an index cannot be reached.
    """
    found: dict[str, IndexFile] = {}
    refused: list[str] = []
    for index in indexes:
        page = f"{index}/{canonicalize_name(project)}/"
        if page.startswith("file:"):
            text, content_type = _local_page(page), "text/html"
            if text is None:
                continue
        else:
            try:
                answer = remote.get(page, headers={"Accept": ACCEPT})
            except RemoteError as error:
                raise RegistryError(
                    f"the package index in pip's configuration cannot be read: {error}. Next: check the"
                    " network, PIP_INDEX_URL, PIP_CERT and the proxy with `pip download --no-deps"
                    " tensorflow`; until then the bundled tables are used"
                ) from error
            if answer is None:
                continue
            text, content_type = answer
        for file in parse_index(text, content_type, page):
            if _may_be_read(file.url, page):
                found.setdefault(file.filename, file)
            else:
                refused.append(file.url)
    if not found and refused:
        raise RegistryError(
            f"the index lists {project} at {without_doors(refused[0])}, which is neither an https address nor"
            " on the index's own server. Next: set PIP_INDEX_URL to an index that offers its files over https"
        )
    if not found:
        raise RegistryError(
            f"none of the indexes in pip's configuration has the project {project}. Next: look at the output"
            " of `pip config list`, and set PIP_INDEX_URL to an index that has the project"
        )
    return list(found.values())


def _may_be_read(url: str, page: str) -> bool:
    """Whether a file that an index lists may be read: only over https, or from the server of the index in the
    user's configuration."""
    try:
        its, own = urlsplit(url), urlsplit(page)
    except ValueError:
        return False
    if its.scheme == "https":
        return True
    return its.scheme == own.scheme and (
        its.scheme == "file" or (its.scheme == "http" and its.hostname == own.hostname)
    )


def _local_page(page: str) -> str | None:
    path = Path(url2pathname(unquote(urlsplit(page).path))) / "index.html"
    return path.read_text(encoding="utf-8") if path.is_file() else None


def parse_index(text: str, content_type: str, page: str) -> list[IndexFile]:
    """Return the files on the page of one project. The content type says whether the page is JSON or HTML.
    Raises RegistryError for anything else."""
    if "json" in content_type:
        try:
            return _parse_json(text, page)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RegistryError(f"the index page {page} is not a PEP 691 document: {error!r}") from error
    parser = _Anchors()
    parser.feed(text)
    parser.close()
    files = []
    for attributes, label in parser.anchors:
        url, fragment = urldefrag(urljoin(page, attributes.get("href") or ""))
        digest = re.search(r"sha256=([0-9a-f]{64})", fragment)
        yanked = attributes.get("data-yanked") or "" if "data-yanked" in attributes else None
        filename = label.strip() if not re.search(r"[/\\\0]", label) else ""
        filename = filename or unquote(urlsplit(url).path.rpartition("/")[2])
        files.append(
            IndexFile(
                filename, url, digest[1] if digest else "", attributes.get("data-requires-python"), yanked
            )
        )
    return files


def _parse_json(text: str, page: str) -> list[IndexFile]:
    files = []
    for entry in json.loads(text)["files"]:
        name, hashes = str(entry["filename"]), entry.get("hashes", {})
        if re.search(r"[/\\\0]", name):  # not a valid file name
            continue
        yanked = entry.get("yanked", False)
        files.append(
            IndexFile(
                name,
                urljoin(page, entry["url"]),
                _sha256(hashes.get("sha256")),
                needs if isinstance(needs := entry.get("requires-python"), str) else None,
                (yanked if isinstance(yanked, str) else "") if yanked is not False else None,
            )
        )
    return files


def _sha256(value: object) -> str:
    return value if isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) else ""


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: list[tuple[dict[str, str | None], str]] = []
        self._open: dict[str, str | None] | None = None
        self._label = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._open, self._label = dict(attrs), ""

    def handle_data(self, data: str) -> None:
        self._label += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._open is not None:
            if self._open.get("href"):
                self.anchors.append((self._open, self._label))
            self._open = None
