"""Creates the files of the site: the main page, the tables, and a page for each finding code.

All content that is not in `web/` comes from the rules and the tables, so the site says the same as the tool.
All text is escaped here. The pages of tables and codes also work without scripts.
"""

from __future__ import annotations

import json
import re
from html import escape

from doctor import __version__, resources
from doctor.render import content
from doctor.render.plans import ROUTE_NAMES
from doctor.rules import PLACES, Rule, all_rules
from doctor.site import tables as tables_of_site
from doctor.site.tables import filled
from doctor.tables import Tables, dotted

SCRIPTS = ("app", "dom", "explain", "judge", "machines", "plan", "tables", "view", "worker")
AS_THEY_ARE = ("style.css", "icon.svg", *(f"{name}.js" for name in SCRIPTS))
EXAMPLES = {
    "gpu-not-used": "TensorFlow lists no GPU",
    "cudnn-handle": "cuDNN fails at the first convolution",
    "card-too-new": "A GPU that is too new for the build",
    "hidden": "nvidia-smi works, but TensorFlow sees nothing",
    "in-words": "A short description",
    "alarming": "Alarming but harmless messages",
}
"""Example reports: the file's name in web/examples, and its title on the page."""
NAV = {
    "index.html#explain": "Explain",
    "index.html#plan": "Plan",
    "tables/index.html": "Tables",
    "findings/index.html": "Findings",
    "index.html#machines": "Machines",
}
SCRIPT = {"tables": '<script defer src="../tables.js"></script>', "findings": ""}
"""The script element of the pages in each folder. The script of the tables is not a module, so browsers also
run it in a page that was opened as a file."""
SYSTEMS = ("Windows 11", "WSL", "macOS arm64", "macOS x86_64", "linux aarch64", "Docker")
"""Values of `plan --os` in addition to the distributions in the tables."""


def pages(judge: str) -> dict[str, bytes]:
    """Return the content of every file, by its path. judge: what answers the page's calls, "browser" or
    "server"."""
    tables = Tables.bundled()
    files = {name: _web(name) for name in AS_THEY_ARE}
    files.update((f"examples/{name}.txt", _web(f"examples/{name}.txt")) for name in EXAMPLES)
    files["words.js"] = _words()
    frame = _Frame(judge, tables.date)
    files["index.html"] = frame(
        "", "tfgpu-doctor: why TensorFlow does not use your GPU", "index.html#explain", _main(tables)
    )
    for name, title, main in tables_of_site.every(tables):
        files[f"tables/{name}.html"] = frame("../", f"{title} - tfgpu-doctor", "tables/index.html", main)
    rules = all_rules()
    files["findings/index.html"] = frame(
        "../", "Findings - tfgpu-doctor", "findings/index.html", _findings(rules)
    )
    for rule in rules:
        title = f"{rule.code}: {rule.title} - tfgpu-doctor"
        files[f"findings/{rule.code}.html"] = frame("../", title, "findings/index.html", _finding(rule))
    return files


def _web(name: str) -> bytes:
    return resources.read("doctor.site", f"web/{name}")


class _Frame:
    """Puts a page's content into the frame that all pages share."""

    def __init__(self, judge: str, date: str) -> None:
        self.judge = judge
        self.date = date

    def __call__(self, root: str, title: str, here: str, main: str) -> bytes:
        links = [
            f'<a href="{root}{path}"{" aria-current=page" if path == here else ""}>{name}</a>'
            for path, name in NAV.items()
        ]
        return filled(
            "frame.html", root=root, title=escape(title), nav="\n".join(links), main=main, judge=self.judge,
            version=escape(__version__), date=escape(self.date),
            script=SCRIPT.get(here.partition("/")[0], '<script type="module" src="app.js"></script>'),
        ).encode()  # fmt: skip


def _words() -> bytes:
    """Return a script with the page's labels for the values in the JSON. They are the same as in the tool's
    other formats."""
    words = {
        "LABELS": content.LABELS,
        "PARTS": content.PARTS,
        "SYSTEMS": content.SYSTEMS,
        "SURENESS": content.SURENESS,
        "ROUTES": ROUTE_NAMES,
        "TITLES": {rule.code: rule.title for rule in all_rules()},
    }
    return "".join(f"export const {name} = {json.dumps(value)};\n" for name, value in words.items()).encode()


def _main(tables: Tables) -> str:
    gpus = dict.fromkeys(row["name"] for table in ("gpu_names", "gpus") for row in tables.store.all(table))
    latest = [row.version for row in tables.releases("linux-x86_64", "tensorflow")]
    rows = tables.store.all("systems")
    names = list(dict.fromkeys(row["name"] for row in rows))
    newest_first = sorted(rows, key=lambda row: dotted(row["version"]), reverse=True)
    by_name = sorted(newest_first, key=lambda row: names.index(row["name"]))
    systems = [f"{row['name']} {row['version']}" for row in by_name]
    pythons = sorted(
        {p for row in tables.store.all("tensorflow") for p in row["pythons"] or ()}, key=lambda p: -int(p[2:])
    )
    return filled(
        "index.html",
        examples="\n".join(
            f'<button type="button" class="quiet" data-example="{name}" disabled>{escape(title)}</button>'
            for name, title in EXAMPLES.items()
        ),
        gpus=_options(gpus),
        releases=_options(reversed(latest)),
        systems=_options(("Linux", *systems, *SYSTEMS)),
        drivers=_options(b.first_linux or b.branch for b in reversed(tables.driver_branches())),
        pythons=_options(p for p in pythons if p.startswith("3.")),
    )


def _options(values: object) -> str:
    return "".join(f"<option>{escape(str(value))}</option>" for value in values)  # type: ignore[attr-defined]


# --- the pages of finding codes ----------------------------------------------------------------------


def _findings(rules: tuple[Rule, ...]) -> str:
    rows = "\n".join(
        f'<tr id="{r.code}"><th scope="row"><a href="{r.code}.html"><code>{r.code}</code></a></th>'
        f'<td><span class="tone {r.severity}">{r.severity}</span></td><td>{escape(r.title)}</td></tr>'
        for r in rules
    )
    return filled("findings.html", count=str(len(rules)), rows=rows)


def _finding(rule: Rule) -> str:
    return filled(
        "finding.html",
        code=rule.code,
        severity=rule.severity,
        page=as_html(rule.page),
    )


def as_html(page: str) -> str:
    """Return the page of a finding code as HTML. Such pages contain only headings, paragraphs and text in
    backticks. A finding code in backticks becomes a link to its page. The first paragraph, which repeats the
    title, is set as the lead."""
    parts = []
    for block in re.split(r"\n\n|\n(?=## )", page.strip()):
        head, _, rest = block.partition("\n")
        if head.startswith("## "):
            parts.append(f"<h2>{_inline(head[3:])}</h2>")
            block = rest
        if block.strip():
            parts.append(f"<p{'' if parts else ' class=lead'}>{_inline(' '.join(block.split()))}</p>")
    return "\n".join(parts)


def _inline(text: str) -> str:
    def code(found: re.Match[str]) -> str:
        inner = f"<code>{found[1]}</code>"
        return f'<a href="{found[1]}.html">{inner}</a>' if found[1] in PLACES else inner

    return re.sub(r"`([^`]+)`", code, escape(text, quote=False))
