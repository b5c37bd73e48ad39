"""Tests the HTML report in a real browser: it is a single page that loads no other files."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from doctor.facts import Facts, Source
from doctor.findings import Diagnosis, Finding, shell
from doctor.render import Options, around, rendered
from doctor.shell import Literal
from tests.render.conftest import MISMATCH, Run

HTML = Options("html")
BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Checked(HTMLParser):
    """Collects tags, and fails if they are not nested properly."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page(diagnosis: Diagnosis) -> str:
    before, _, after = around(HTML)
    return before + rendered(diagnosis, HTML) + after


def hostile(text: str) -> Diagnosis:
    finding = Finding(
        "cuda-missing",
        "error",
        text,
        text,
        (Source(text, 1, text),),
        (text,),
        (shell(Literal(text), text),),
        shell(Literal(text)),
    )
    return Diagnosis(Facts((), "report", text, 1), (finding, finding))


def test_page_is_well_formed_and_loads_nothing(diagnosed: Callable[..., Diagnosis]) -> None:
    checked = Checked()
    checked.feed(page(diagnosed(MISMATCH)))
    assert checked.open == []
    for tag, attributes in checked.seen:
        assert tag not in ("script", "img", "link", "iframe", "object")
        assert not {"src", "href", "onclick", "style"} & set(attributes)
    assert re.search(r"@import|url\(", page(diagnosed(MISMATCH))) is None


def test_no_text_of_a_report_becomes_html() -> None:
    nasty = "</pre></style><script>alert(1)</script><img src=x onerror=alert(1)>&lt;b&gt; \"'"
    text = page(hostile(nasty))
    checked = Checked()
    checked.feed(text)
    assert not {"script", "img", "b"} & {tag for tag, _ in checked.seen}
    assert html.escape(nasty) in text


def test_several_reports_make_one_page(tool: Run, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(MISMATCH)
    text = tool("explain", "a.txt", "b.txt", "--format", "html").stdout.decode()
    assert text.count("<!doctype html>") == text.count("</html>") == 1
    assert text.count("<article") == 2


HARNESS = """<!doctype html><meta charset="utf-8"><body><script>
const page = PAGE; const results = [];
function tried(width) {
  return new Promise(done => {
    const frame = document.createElement('iframe');
    frame.width = width; frame.height = 900; frame.srcdoc = page;
    frame.onload = () => {
      const d = frame.contentDocument, w = frame.contentWindow;
      const lum = c => c.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) / 3;
      const pre = d.querySelector('pre');
      const style = w.getComputedStyle(d.body);
      done({width, scroll: d.documentElement.scrollWidth, background: lum(style.backgroundColor),
        ink: lum(style.color), size: parseFloat(style.fontSize),
        heading: d.querySelector('h1').textContent,
        pre: pre.textContent, preScrolls: pre.scrollWidth > pre.clientWidth,
        loaded: w.performance.getEntriesByType('resource').length,
        owned: w.owned === 1 || window.owned === 1});
    };
    document.body.append(frame);
  });
}
(async () => {
  for (const width of [360, 1000]) results.push(await tried(width));
  const out = document.createElement('output');
  out.textContent = JSON.stringify(results); document.body.append(out);
})();
</script>"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs a browser: apt install chromium")
@pytest.mark.parametrize(("scheme", "dark"), [(0, True), (1, False)])
def test_browser_shows_it_on_a_phone_and_a_desktop_in_dark_and_light(
    tmp_path: Path, scheme: int, dark: bool
) -> None:
    command = "python3 -m pip install " + " ".join(f"'package-{i}=={i}'" for i in range(40))
    finding = Finding(
        "cuda-missing",
        "error",
        "A <b>title</b>",
        "Because. " * 40 + "x" * 300,
        (
            Source(
                "/a/very/long/path/" * 12 + "report.txt",
                1,
                "<script>parent.owned=1;owned=1</script>" + "y" * 400,
            ),
        ),
        prescription=(shell(Literal(command), "w"),),
        proof=shell(Literal("true")),
    )
    text = page(Diagnosis(Facts((), "report", "r", 1), (finding, finding)))
    assert BROWSER is not None
    harness = tmp_path / "harness.html"
    harness.write_text(HARNESS.replace("PAGE", json.dumps(text).replace("</", "<\\/")), encoding="utf-8")
    run = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--blink-settings=preferredColorScheme={scheme}",
            "--virtual-time-budget=8000",
            "--dump-dom",
            harness.as_uri(),
        ],
        capture_output=True,
        timeout=120,
        check=True,
    )
    found = re.search(r"<output>(.*?)</output>", run.stdout.decode(), re.DOTALL)
    assert found, run.stderr.decode()[-2000:]
    for seen in json.loads(html.unescape(found[1])):
        assert seen["scroll"] <= seen["width"], "the page must not scroll sideways"
        assert (seen["background"] < 64) is dark
        assert (seen["ink"] > 128) is dark, "light text on a dark page, and vice versa"
        assert seen["size"] >= 16
        assert seen["heading"] == "A <b>title</b>"
        assert seen["pre"] == command
        assert seen["preScrolls"], "a long command is not wrapped"
        assert seen["loaded"] == 0
        assert seen["owned"] is False
