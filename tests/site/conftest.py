"""Provides fixtures for the tests of the web site: the site as a release makes it, a server for it, and a
browser."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
READY = "document.getElementById('state').classList.contains('ready')"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that cannot run on this machine, with the reason."""
    needs = {
        "chromium": CHROMIUM,
        "chromium-driver": shutil.which("chromedriver"),
        "npm": shutil.which("npm"),
        "nodejs": shutil.which("node"),
    }
    missing = [name for name, there in needs.items() if not there]
    if not missing:
        return
    skip = pytest.mark.skip(
        reason=f"programs that build or run the page are missing: apt install {' '.join(missing)}"
    )
    for item in items:
        if item.get_closest_marker("page") is not None:
            item.add_marker(skip)


class Page:
    """A browser, with the actions that the tests of the page need."""

    def __init__(self, profile: Path, *more: str, width: int = 1400) -> None:
        selenium = pytest.importorskip(
            "selenium.webdriver", reason="the page is driven by selenium (pip install '.[tests]')"
        )
        from selenium.webdriver.chrome.service import Service

        options = selenium.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},1000", *more):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = selenium.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_script_timeout(60)

    def open(self, address: str) -> None:
        self.driver.get("about:blank")  # an open page would not be loaded again for another fragment
        self.driver.get(address)

    def js(self, expression: str, *arguments: object) -> Any:
        return self.driver.execute_script(f"return {expression}", *arguments)

    def until(self, expression: str, seconds: float = 60) -> Any:
        """Wait until an expression is true. Returns its value."""
        end = time.monotonic() + seconds
        while not (found := self.js(expression)):
            assert time.monotonic() < end, (
                f"not within {seconds} s: {expression}\n{self.js('document.body.innerText')[:2000]}"
            )
            time.sleep(0.02)
        return found

    def ready(self) -> None:
        self.until(f"{READY} || document.getElementById('state').classList.contains('failed')")
        assert self.js(READY), self.js("document.getElementById('state').innerText")

    def ask(self, call: str, parameters: dict[str, str], text: str = "") -> dict[str, Any]:
        """Call the judge in the page. Return its unchanged answer."""
        answer = self.driver.execute_async_script(
            "const [call, parameters, text, done] = arguments;import('./judge.js').then(({ask}) => ask(call,"
            " parameters, new TextEncoder().encode(text))).then(done);",
            call,
            parameters,
            text,
        )
        assert isinstance(answer, dict)
        return answer

    def paste(self, text: str) -> str:
        """Put a text into the page and press the button, as a person would. Returns the code of the
        verdict."""
        self.until("document.getElementById('judge')?.disabled === false")
        self.driver.execute_script(
            "document.getElementById('verdicts').replaceChildren(); document.getElementById('text').value ="
            " arguments[0];document.getElementById('judge').click()",
            text,
        )
        found = self.until("document.querySelector('#verdicts article')?.dataset.verdict")
        return str(found)

    def complaints(self) -> list[str]:
        """Return the messages in the browser's console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


class Host:
    """A plain web server for a folder, like any static host."""

    def __init__(self, folder: Path) -> None:
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
        )
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        self.address = f"http://127.0.0.1:{self.server.server_port}/"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that scripts/build_site makes. It is not at the root of the host, because the site must work
    in any folder."""
    folder = tmp_path_factory.mktemp("host") / "some" / "where"
    command = [sys.executable, str(ROOT / "scripts" / "build_site"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if "could not fetch" in done.stderr:
        pytest.skip("the site needs packages of a registry, and none can be reached")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source code of axe, a script that finds accessibility problems."""
    folder = tmp_path_factory.mktemp("axe")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / "scripts" / "site" / name, folder)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip("axe is in a package registry, and none can be reached")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def host(built: Path) -> Iterator[str]:
    """The address of the site."""
    server = Host(built.parent.parent)
    yield server.address + "some/where/"
    server.stop()


@pytest.fixture(scope="module")
def browser(host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A browser in which the page has been opened once."""
    page = Page(tmp_path_factory.mktemp("profile"))
    try:
        page.open(host)
        page.ready()
        yield page
    finally:
        page.driver.quit()


@pytest.fixture
def page(browser: Page, host: str) -> Iterator[Page]:
    """The page, after its judge has started. Whatever the test does, the browser's console must stay
    empty."""
    browser.complaints()
    if browser.js("location.href") not in (host, f"{host}#explain"):
        browser.open(host)
    browser.ready()
    yield browser
    assert browser.complaints() == []


def json_lines(text: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.decode().splitlines()]
