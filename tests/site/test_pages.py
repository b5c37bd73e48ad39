"""Tests that the static pages of the site are complete, linked and plain, and agree with the tables and the
rules."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

import pytest

from doctor.compat.gpu import code_for
from doctor.rules import PLACES, all_rules
from doctor.site.pages import EXAMPLES, SCRIPTS, as_html, pages
from doctor.site.tables import MARKS
from doctor.tables import Tables

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "doctor/site/web"
VOID = {"meta", "br", "img", "link", "input"}


class Read(HTMLParser):
    """The tags of a page, and the addresses and names in it. Fails if tags are not nested properly."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = dict(attrs)
        self.attributes |= set(given)
        self.links += [value for name in ("href", "src") if (value := given.get(name)) is not None]
        self.ids += [value for value in (given.get("id"),) if value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag


@pytest.fixture(scope="module")
def site() -> dict[str, bytes]:
    return pages("browser")


@pytest.fixture(scope="module")
def read(site: dict[str, bytes]) -> dict[str, Read]:
    return {name: Read(data.decode()) for name, data in site.items() if name.endswith(".html")}


def test_every_link_in_the_site_has_a_target(site: dict[str, bytes], read: dict[str, Read]) -> None:
    for name, page in read.items():
        for link in page.links:
            path, _, fragment = link.partition("#")
            target = normpath(str(PurePosixPath(name).parent / path)) if path else name
            assert target in site, f"{name}: {link}"
            if fragment and "=" not in fragment:
                assert fragment in read[target].ids or target == "index.html", f"{name}: {link}"


def test_no_page_contains_inline_code_or_styles(read: dict[str, Read]) -> None:
    """The content security policy would block inline code and styles. Also, no id may occur twice in a
    page."""
    for name, page in read.items():
        assert "style" not in page.tags | page.attributes, name
        assert not [a for a in page.attributes if a.startswith("on")], name
        assert len(page.ids) == len(set(page.ids)), name


def test_scripts_create_elements_without_markup() -> None:
    for name in SCRIPTS:
        text = (WEB / f"{name}.js").read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new"
            r" Function|localStorage|cookie",
            text,
        ), name
        assert not re.search(r"https?://", text), name


def test_every_code_has_a_page_with_everything_that_the_command_prints(site: dict[str, bytes]) -> None:
    for rule in all_rules():
        text = unescape(re.sub(r"<[^>]+>", "", site[f"findings/{rule.code}.html"].decode()))
        said = " ".join(text.split())
        for line in rule.page.split("\n"):
            assert " ".join(line.replace("## ", "").replace("`", "").split()) in said, rule.code
    assert {f"findings/{code}.html" for code in PLACES} < set(site)


def test_the_page_of_a_code_is_escaped_and_links_to_other_codes() -> None:
    found = as_html("A <b>.\n\n## What `it` means\nSee `gpu-hidden` & `<x>`.")
    assert found == (
        '<p class=lead>A &lt;b&gt;.</p>\n<h2>What <code>it</code> means</h2>\n'
        '<p>See <a href="gpu-hidden.html"><code>gpu-hidden</code></a> &amp; <code>&lt;x&gt;</code>.</p>'
    )  # fmt: skip


def rows(page: bytes) -> dict[str, list[str]]:
    """Return a dictionary from the id of each table row in a page to the row's cells."""
    found = re.findall(r'<tr id="([^"]+)">(.*?)</tr>', page.decode(), re.DOTALL)
    cells = {name: re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", inner, re.DOTALL) for name, inner in found}
    return {name: [unescape(re.sub(r"<[^>]+>", "", cell)) for cell in inner] for name, inner in cells.items()}


def test_the_table_of_releases_contains_every_row_and_cell(site: dict[str, bytes], tables: Tables) -> None:
    shown = rows(site["tables/tensorflow.html"])
    every = tables.releases(None)
    assert len(shown) == len(every)
    for row in every:
        cells = shown[f"{row.package}-{row.version}-{row.platform.replace('_', '-')}"]
        assert cells[0].startswith(f"{row.package} {row.version}")
        assert cells[3] == (row.cuda or ("" if row.gpu is False else "not known"))
        assert cells[5] == (", ".join(row.pythons) or "not known")
        assert row.data["source"]["file"] in cells[-1]
        for key in ("gpu", "cuda", "cudnn", "compute_capabilities", "glibc"):
            if row.data["evidence"].get(key) and (key in ("gpu",) or row.data.get(key)):
                assert row.data["evidence"][key] in cells[-1], (row.requirement, key)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("gpu", ("gpus", "gpu_names")),
        ("cudnn", ("cudnn",)),
        ("trap", ("traps",)),
        ("library", ("libraries",)),
    ],
)
def test_other_tables_contain_every_row_with_its_source(
    site: dict[str, bytes], tables: Tables, name: str, table: tuple[str, ...]
) -> None:
    shown = list(rows(site[f"tables/{name}.html"]).values())
    every: list[Any] = [row for one in table for row in tables.store.all(one)]
    assert len(shown) == len(every)
    assert all(cells[-1] for cells in shown)


@pytest.mark.parametrize("platform", ["linux-x86_64", "windows-amd64"])
def test_the_matrix_marks_no_release_that_has_no_code_for_the_gpu(
    site: dict[str, bytes], tables: Tables, platform: str
) -> None:
    text = site["tables/index.html"].decode()
    part = (
        text[text.index("<table") : text.rindex("<h3>")]
        if platform.startswith("linux")
        else text[text.rindex("<h3>") :]
    )
    cells = re.findall(r'class="cell (\w+)" title="(\S+?)==(\S+), ([\d.]+): ', part)
    assert len(cells) > 150
    assert {kind for kind, *_ in cells} <= set(MARKS)
    for kind, package, version, capability in cells:
        build = tables.tensorflow(version, package, platform)
        assert build is not None
        assert build.gpu
        kernels = build.compute_capabilities
        found = kernels and code_for(capability, kernels.compiled, kernels.ptx)
        if kind in ("yes", "slow"):  # a known trap may forbid what the code alone would allow
            assert found, (version, capability)
        if kernels and not found:
            assert kind == "no", (version, capability)


def test_no_page_contains_the_address_of_a_server(site: dict[str, bytes]) -> None:
    """The pages name documents as sources. They do not load anything from another host or link to one."""
    for name in (n for n in site if n.endswith(".html")):
        assert not re.search(r'(?:href|src)="?(?:https?:)?//', site[name].decode()), name


def test_every_example_is_in_the_site(site: dict[str, bytes]) -> None:
    assert all(site[f"examples/{name}.txt"] for name in EXAMPLES)
