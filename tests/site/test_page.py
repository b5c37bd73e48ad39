"""Tests the page in a real browser: it gives the same answers as the command, contains what a person needs,
and sends no data to anybody."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor import api
from doctor.site.pages import EXAMPLES
from tests.site.conftest import READY, ROOT, Host, Page, json_lines

pytestmark = [pytest.mark.page, pytest.mark.slow]

LOGS = sorted(p for p in (ROOT / "tests/data/logs").rglob("*.log"))
MACHINES = sorted(p for p in (ROOT / "tests/data/machines").iterdir() if p.is_dir())
NASTY = "</pre></script><script>window.owned=1</script><img src=x onerror=window.owned=1><b>&lt;i&gt;</b> \"'"
OOM = "Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR"


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_gets_the_same_verdict_as_from_the_tool(page: Page, name: str) -> None:
    text = (ROOT / "doctor/site/web/examples" / f"{name}.txt").read_text(encoding="utf-8")
    wanted = api.explain(text).verdict
    page.js("document.getElementById('verdicts').replaceChildren()")
    page.js("document.querySelector(`[data-example='${arguments[0]}']`).click()", name)
    assert page.until("document.querySelector('#verdicts article')?.dataset.verdict") == wanted.code
    assert page.js("document.querySelector('#verdicts h2').textContent") == wanted.title
    lines = sorted({e.line for e in wanted.evidence if e.line is not None})
    assert (
        page.js(
            "[...document.querySelector('#verdicts .lines').querySelectorAll('tr.seen th')].map(e =>"
            " Number(e.textContent))"
        )
        == lines
    )
    assert page.js(
        "[...document.querySelectorAll('#verdicts .meta a')].every(a => a.href.includes('/findings/'))"
    )


def test_json_for_sixty_recorded_logs_is_the_same_as_the_commands(
    page: Page, cli: Callable[..., subprocess.CompletedProcess[bytes]]
) -> None:
    chosen = [str(path.relative_to(ROOT)) for path in LOGS[:: max(1, len(LOGS) // 60)]][:60]
    assert len(chosen) >= 50
    theirs = json_lines(cli("explain", *chosen, "--format", "json").stdout)
    for path, wanted in zip(chosen, theirs):
        ours = page.ask("explain", {"name": path}, (ROOT / path).read_bytes().decode())
        assert ours["report"] == wanted, path


PLANS: list[dict[str, str]] = [
    {"gpu": "RTX 3090", "os": "Ubuntu 22.04", "driver": "470.82"},
    {"gpu": "GTX 1080", "os": "Debian 12", "tensorflow": "2.15"},
    {"gpu": "RTX 3070", "os": "Windows 11"},
    {"os": "linux aarch64", "gpu": "GH200"},
    {"cpu": "1", "python": "3.10"},
    {"os": "macOS arm64"},
]


def test_plans_are_the_same_as_the_tools(page: Page) -> None:
    for wish in PLANS:
        asked = {"os": "Linux", **wish, "cpu": bool(wish.get("cpu"))}
        wanted = api.plan(**asked).to_dict()  # type: ignore[arg-type]
        assert page.ask("plan", wish)["plan"] == wanted, wish


def test_a_plan_follows_the_input_and_its_link_restores_the_input(page: Page, host: str) -> None:
    page.open(f"{host}#plan")
    page.driver.find_element("css selector", "#plan [name=gpu]").send_keys("RTX 3090")
    page.until("document.querySelector('#plans article.plan')")
    link = page.until("location.href.includes('gpu=RTX+3090') && location.href")
    first = page.js("document.querySelector('#plans h2').textContent")
    assert "TensorFlow" in first
    page.open(link)
    assert page.until("document.querySelector('#plans h2')?.textContent") == first
    page.driver.find_element("css selector", "#plan [name=gpu]").send_keys(" of no such kind")
    assert "not in the tables" in page.until("document.querySelector('#plans [role=alert]')?.textContent")


def test_pasted_text_becomes_no_markup(page: Page) -> None:
    report = f"{NASTY}\ntensorflow 2.15.0 {NASTY}\nE {OOM} {NASTY}\nCUDA_VISIBLE_DEVICES={NASTY}\n"
    assert page.paste(report) == api.explain(report).verdict.code
    assert NASTY in page.js("document.querySelector('#verdicts .lines').textContent")
    assert page.js("document.querySelectorAll('main script, main img, main b, main i').length") == 0
    assert page.js("window.owned === undefined")


def test_names_of_files_and_libraries_become_no_markup(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "<img src=x onerror=window.owned=1>.log"
    file.write_text(
        f"Could not load dynamic library 'lib<img src=x onerror=owned=1>.so.11'\nE {OOM}\n", encoding="utf-8"
    )
    (tmp_path / "b.log").write_bytes("Num GPUs Available: 0\n".encode("utf-16"))
    page.driver.find_element("css selector", "#files").send_keys(f"{file}\n{tmp_path / 'b.log'}")
    page.until("document.querySelectorAll('#verdicts article').length === 2")
    assert page.js("document.querySelector('.verdict-list').textContent.includes('<img src=x')")
    assert page.js("document.querySelectorAll('main img').length === 0 && window.owned === undefined")


def test_a_megabyte_is_judged_while_the_page_answers(page: Page) -> None:
    noise = "".join(
        f"2024-01-01 00:00:00.{n:06}: I tensorflow/core/x.cc:1] step {n} of many, loss 0.{n}\n"
        for n in range(16000)
    )
    report = f"{noise}E {OOM}\n{noise[:100_000]}"
    assert len(report) > 1 << 20
    start = time.monotonic()
    assert page.paste(report) == "cudnn-init-oom"
    assert time.monotonic() - start < 20
    assert page.js("document.querySelectorAll('#verdicts tr').length") < 100
    took, ticks = page.driver.execute_async_script(
        "const [report, done] = arguments; let ticks = 0; setInterval(() => { ticks += 1; }, 20);const data ="
        " new TextEncoder().encode(report.repeat(8)); const start ="
        " performance.now();import('./judge.js').then(({ask}) => ask('explain', {}, data)).then(() =>"
        " done([performance.now() - start, ticks]))",
        report,
    )
    assert ticks > took / 20 / 5, "the judge works in a worker: the page itself stays free"


def test_first_and_later_answers_come_within_their_time_limits(
    page: Page, host: str, record_property: Callable[[str, object], None]
) -> None:
    """The budget is 5 s and 0.5 s on a machine that does nothing else. Here, other tests run at the same
    time."""
    start = time.monotonic()
    page.open(host)
    page.paste(OOM)
    first = time.monotonic() - start
    later = []
    for path in LOGS[:: len(LOGS) // 9]:
        start = time.monotonic()
        page.paste(path.read_bytes().decode())
        later.append(time.monotonic() - start)
    record_property("first", first)
    record_property("later", statistics.median(later))
    print(
        f"first answer with a warm cache {first:.2f} s, later ones {statistics.median(later):.2f} s (median),"
        f" {max(later):.2f} s (worst)"
    )
    assert first < 10
    assert statistics.median(later) < 1


def test_the_chosen_system_changes_the_verdict(page: Page) -> None:
    report = (ROOT / "tests/data/logs/recorded/packaging/cpu-package.log").read_text(encoding="utf-8")
    before = page.paste(report)
    wanted = api.explain(report, platform="windows").verdict.code
    assert wanted != before
    page.driver.execute_script(
        "const s = document.querySelector('#verdicts select'); s.value = 'windows'; s.dispatchEvent(new"
        " Event('change'))"
    )
    page.until(f"document.querySelector('#verdicts article')?.dataset.verdict === '{wanted}'")


def test_the_markdown_is_redacted_and_the_link_contains_no_report(page: Page) -> None:
    page.driver.execute_script(
        "window.copied = []; navigator.clipboard.writeText = async (text) => { copied.push(text); }"
    )
    page.paste(f"/home/margarethe/venv/lib/python3.11/site-packages/x.py\nE {OOM}\n")
    for button in ("Markdown", "link"):
        page.driver.execute_script(
            "[...document.querySelectorAll('#verdicts button')].find(b =>"
            " b.textContent.includes(arguments[0])).click()",
            button,
        )
    markdown, link = page.until("copied.length === 2 && copied")
    assert "cudnn-init-oom" in markdown
    assert "margarethe" not in markdown
    assert link.endswith("/findings/cudnn-init-oom.html")


def test_a_verdict_can_be_reached_with_the_keyboard_alone(page: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    text = page.driver.find_element("css selector", "#text")
    text.send_keys(OOM)
    text.send_keys(Keys.CONTROL, Keys.ENTER)
    assert page.until("document.querySelector('#verdicts article')?.dataset.verdict") == "cudnn-init-oom"
    # the verdict appears while the key is still being handled, and gets the focus after that
    assert page.until("document.activeElement.id === 'verdicts'")


def test_two_machines_are_shown_side_by_side_with_their_differences(
    page: Page, host: str, tmp_path: Path, cli: Callable[..., subprocess.CompletedProcess[bytes]]
) -> None:
    files, verdicts = [], []
    for machine in (MACHINES[0], MACHINES[-1]):
        file = tmp_path / f"{machine.name}.json"
        file.write_bytes(cli("check", "--root", str(machine), "--format", "json").stdout)
        files.append(str(file))
        verdicts.append(json.loads(file.read_bytes())["findings"][0]["title"])
    page.open(f"{host}#machines")
    page.ready()
    page.driver.find_element("css selector", "#reports").send_keys("\n".join(files))
    page.until("document.querySelectorAll('#compared article').length === 2")
    assert (
        page.js("[...document.querySelectorAll('#compared article > h2')].map(e => e.textContent)")
        == verdicts
    )
    assert page.js("document.querySelectorAll('#differences tbody tr').length") > 0


# --- the tables --------------------------------------------------------------------------------------

SHOWN = "[...document.querySelectorAll('table.data tbody tr')].filter(r => !r.hidden)"


def search(page: Page, words: str) -> list[str]:
    page.driver.find_element("css selector", "[name=q]").send_keys(words)
    found = page.js(f"{SHOWN}.map(r => r.cells[0].textContent)")
    assert isinstance(found, list)
    return found


def test_a_table_is_searched_filtered_and_sorted(page: Page, host: str) -> None:
    page.open(f"{host}tables/tensorflow.html")
    found = search(page, "2.15.1 linux-x86")
    assert found == ["tensorflow 2.15.1"]
    assert page.js("location.hash") == "#q=2.15.1+linux-x86"
    assert "libtensorflow" in page.js(f"{SHOWN}[0].querySelector('details').textContent")
    page.open(f"{host}tables/tensorflow.html#c2=yes")
    page.until(f"{SHOWN}.every(r => r.cells[2].textContent === 'yes')", 10)
    page.driver.execute_script("document.querySelectorAll('table.data thead button')[3].click()")
    cuda = [
        tuple(map(int, text.split(".")))
        for text in page.js(f"{SHOWN}.map(r => r.cells[3].textContent)")
        if text[:1].isdigit()
    ]
    assert cuda == sorted(cuda)


def test_tables_and_findings_work_as_files(built: Path, browser: Page) -> None:
    browser.open((built / "tables" / "gpu.html").as_uri())
    assert "GeForce RTX 3080" in search(browser, "rtx 3080")
    browser.open((built / "index.html").as_uri())
    assert "opened this page as a file" in browser.js("document.getElementById('state').innerText")
    browser.complaints()


# --- what a person is owed ---------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    "where",
    [
        "",
        "#plan&gpu=RTX+3090",
        "#machines",
        "tables/index.html",
        "tables/driver.html",
        "findings/index.html",
        "findings/gpu-hidden.html",
    ],
)
def test_the_pages_are_accessible(browser: Page, host: str, axe: str, where: str, dark: bool) -> None:
    page = browser
    page.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
    )
    page.open(host + where)
    if where == "":
        page.paste((ROOT / "doctor/site/web/examples/in-words.txt").read_text(encoding="utf-8"))
    elif "plan" in where:
        page.until("document.querySelector('#plans article')")
    page.driver.execute_script(axe)
    found = page.driver.execute_async_script(
        "axe.run(document, {resultTypes: ['violations']}).then(arguments[0])"
    )["violations"]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    said = [(v["id"], v["impact"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found]
    assert [v for v in said if v[1] in ("serious", "critical")] == []


def test_a_narrow_screen_does_not_scroll_sideways_and_the_layout_does_not_shift(
    page: Page, host: str
) -> None:
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True},
    )
    try:
        page.open(host)
        page.ready()
        shift = page.driver.execute_async_script(
            "const done = arguments[0]; let sum = 0;new PerformanceObserver(list => { for (const e of"
            " list.getEntries()) sum += e.value; }).observe({type: 'layout-shift', buffered:"
            " true});setTimeout(() => done(sum), 300)"
        )
        assert shift < 0.02
        page.paste((ROOT / "doctor/site/web/examples/cudnn-handle.txt").read_text(encoding="utf-8"))
        for where in (
            "",
            "#plan&gpu=T4",
            "tables/index.html",
            "tables/tensorflow.html",
            "findings/index.html",
        ):
            if where:
                page.open(host + where)
                if "plan" in where:
                    page.until("document.querySelector('#plans article')")
            # before its first frame, Chromium sometimes reports the width of a table that is not cut yet
            drawn = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
            page.driver.execute_async_script(drawn)
            assert page.js("document.documentElement.scrollWidth") <= 360, where
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# --- what a reader sees -------------------------------------------------------------------------------------


def requested(log: Path) -> list[tuple[str, str]]:
    """Return (who made the request, address) for every request in a log of the browser's network."""
    document = json.loads(log.read_text(encoding="utf-8"))
    kind = document["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    events: list[dict[str, Any]] = [
        e["params"] for e in document["events"] if e["type"] == kind and "url" in e.get("params", {})
    ]
    return [(e.get("initiator", ""), e["url"]) for e in events]


def test_no_request_goes_to_another_origin(built: Path, tmp_path: Path) -> None:
    """The browser's own network log contains every request, including requests from workers and the service
    worker."""
    server = Host(built)
    page = Page(tmp_path / "profile", f"--log-net-log={tmp_path / 'net.json'}")
    try:
        page.open(server.address)
        page.ready()
        page.paste(
            (ROOT / "doctor/site/web/examples/hidden.txt").read_text(encoding="utf-8")
            + "\nhttps://example.org/x.png"
        )
        page.ask("plan", {"gpu": "RTX 3080"})
        page.until("caches.keys().then(names => names.length)")
        for where in ("tables/index.html", "tables/gpu.html", "findings/index.html"):
            page.open(server.address + where)
    finally:
        page.driver.quit()
        server.stop()
    asked = requested(tmp_path / "net.json")
    origin = server.address.rstrip("/")
    by_page = {url for who, url in asked if who == origin}
    assert any(url.endswith("pyodide.asm.wasm") for url in by_page)
    assert any(url.endswith("judge.zip") for url in by_page)
    assert {url for url in by_page if not url.startswith(server.address)} == set()
    assert not [url for _, url in asked if "example.org" in url]


def test_the_page_works_offline(built: Path, tmp_path: Path) -> None:
    server = Host(built)
    page = Page(tmp_path / "profile")
    try:
        page.open(server.address)
        page.ready()
        page.until("navigator.serviceWorker.ready.then(() => true)")
        page.complaints()
        server.stop()
        for where in ("", "index.html"):
            page.open(server.address + where)
            page.ready()
            assert page.paste(OOM) == "cudnn-init-oom"
        page.open(f"{server.address}tables/tensorflow.html?from=elsewhere")
        assert search(page, "2.15.1 linux-x86") == ["tensorflow 2.15.1"]
        page.open(f"{server.address}findings/cudnn-init-oom.html")
        assert page.js("document.querySelector('h1').textContent") == "cudnn-init-oom"
        assert page.complaints() == []
    finally:
        page.driver.quit()


def test_the_content_security_policy_applies_to_the_worker_too(page: Page) -> None:
    """A worker that is loaded from an address has its own policy, which a static host does not send. So the
    page's policy must apply to it."""
    refused = page.driver.execute_async_script(
        "const done = arguments[0];const source = `fetch('https://example.org/').then(() =>"
        " postMessage('went'), () => postMessage('refused'))`;const worker = new"
        " Worker(URL.createObjectURL(new Blob([source], {type:"
        " 'text/javascript'})));addEventListener('securitypolicyviolation', (e) => {}); worker.onmessage ="
        " ({data}) => done(data);"
    )
    assert refused == "refused"
    said = page.complaints()
    assert any("Content Security Policy" in line and "example.org" in line for line in said)
    assert page.js(READY)


# --- on one's own machine ----------------------------------------------------------------------------


def test_serve_checks_this_machine(browser: Page) -> None:
    command = [sys.executable, "-m", "doctor", "serve", "--no-browser"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            browser.complaints()
            browser.open(f"{address}#machines")
            browser.until("document.querySelector('#compared article')")
            assert browser.js("document.querySelector('#compared article p').textContent") == "this machine"
            browser.open(address)
            assert browser.paste(OOM) == "cudnn-init-oom"
            assert browser.complaints() == []
        finally:
            server.terminate()
