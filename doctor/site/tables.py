"""Creates the pages of the tables: every row, with the source of each cell, and a matrix that shows which
TensorFlow runs on which GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from string import Template
from typing import Any, NamedTuple

from doctor import resources
from doctor.compat.choose import judge
from doctor.compat.situation import Situation
from doctor.tables import Tables, TensorFlowRelease, dotted


class Cell(NamedTuple):
    """The text of a cell, and the source of its value ("" if no source is shown)."""

    text: str
    source: str = ""


class Page(NamedTuple):
    """The page of a table.

    name: the file's name without its extension. about: the introduction. choose: the columns that the page
    can filter by a value from a list. rows: for each row, its anchor in the page, and one cell per column.
    """

    name: str
    title: str
    about: str
    columns: Sequence[str]
    choose: Sequence[str]
    rows: Iterable[tuple[str, Sequence[Cell]]]


UNKNOWN = "not known"


def filled(name: str, **values: str) -> str:
    """Return a template from web/ with the values filled in."""
    return Template(resources.text("doctor.site", f"web/{name}")).substitute(values)


def every(tables: Tables) -> Iterator[tuple[str, str, str]]:
    """Yield the name, title and main content of every page."""
    listed = _pages(tables)
    links = "\n".join(
        f'<li><a href="{page.name}.html">{escape(page.title)}</a><br><span'
        f' class="dim">{escape(page.about)}</span></li>'
        for page in listed
    )
    yield "index", "Tables", _index(tables, links)
    for page in listed:
        yield page.name, page.title, _html(page)


def _pages(tables: Tables) -> list[Page]:
    return [
        Page(
            "tensorflow",
            "TensorFlow releases",
            "What every release of tensorflow and tensorflow-gpu was built for and needs, read from its"
            " wheels.",
            (
                "Release",
                "Platform",
                "GPU",
                "CUDA",
                "cuDNN",
                "Python",
                "Machine code for",
                "PTX for",
                "Minimum driver",
                "glibc",
            ),
            ("Platform", "GPU", "CUDA"),
            (_release(tables, row) for row in _newest_first(tables)),
        ),
        Page(
            "gpu",
            "GPUs",
            "The compute capability and the PCI id of every card, by its name.",
            ("Name", "Compute capability", "Chip", "Kind", "Memory", "PCI id"),
            ("Compute capability", "Kind"),
            (_gpu(row) for table in ("gpu_names", "gpus") for row in tables.store.all(table)),
        ),
        Page(
            "driver",
            "NVIDIA drivers",
            "The highest CUDA version that each driver branch supports.",
            ("Branch", "Supports CUDA", "First on Linux", "First on Windows", "Note"),
            (),
            _plain(reversed(tables.driver_branches()), "branch", "cuda", "linux", "windows", "note"),
        ),
        Page(
            "cuda",
            "CUDA toolkits",
            "The driver that each toolkit was released with, and the oldest driver that runs its programs.",
            (
                "Toolkit",
                "Driver, Linux",
                "Driver, Windows",
                "Minimum driver, Linux",
                "Minimum driver, Windows",
                "Note",
            ),
            (),
            (_toolkit(tables, row.data, row.cuda) for row in reversed(tables.toolkits())),
        ),
        Page(
            "cudnn",
            "cuDNN releases",
            "The CUDA version that each cuDNN release is for, and the GPUs that it has code for.",
            ("cuDNN", "CUDA", "Lowest capability", "Machine code for", "PTX for", "Package", "Note"),
            ("CUDA", "Package"),
            _plain(
                reversed(tables.cudnns()),
                "version",
                "cuda",
                "lowest",
                "capabilities",
                "ptx",
                "package",
                "note",
            ),
        ),
        Page(
            "library",
            "Libraries",
            "The product that each library belongs to. Look up a library here if it cannot be loaded.",
            ("File", "Component", "Product", "First in", "Last in", "Platform", "Note"),
            ("Component", "Platform"),
            _plain(tables.libraries(), "soname", "component", "product", "first", "last", "platform", "note"),
        ),
        Page(
            "trap",
            "Known traps",
            "Releases and combinations that do not work as their version numbers suggest.",
            ("Trap", "What", "Why", "Fix"),
            (),
            _plain(tables.traps(), "name", "title", "reason", "cure"),
        ),
    ]


def _said(value: Any) -> str:
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _plain(rows: Iterable[Any], *keys: str) -> Iterator[tuple[str, Sequence[Cell]]]:
    """Yield the anchor and the cells of rows that have one source for all their cells. keys: those of the
    columns."""
    for data in (row.data for row in rows):
        named_by = [key for key in ("version", "package") if key in data] or keys[:1]
        anchor = _anchor(" ".join(str(data[key]) for key in named_by))
        yield anchor, [Cell(_said(data.get(key)), data["source"]) for key in keys]


def _anchor(text: str) -> str:
    """Return the text in the form of an anchor: lower case, with hyphens."""
    return "-".join("".join(c if c.isalnum() or c == "." else " " for c in text.lower()).split())


def _gpu(row: Mapping[str, Any]) -> tuple[str, Sequence[Cell]]:
    source = row["source"]
    memory = ", ".join(f"{mib / 1024:g} GiB" for mib in row.get("memory_mib") or ())
    cells = [Cell(_said(row.get(key)), source) for key in ("name", "capability", "chip", "kind")]
    other = "; other names: " + _said(row["aliases"]) if row.get("aliases") else ""
    cells[0] = Cell(row["name"], source + other)
    return _anchor(row.get("pci_id") or row["name"]), [
        *cells, Cell(memory, row.get("memory_source", "")), Cell(row.get("pci_id", ""), source),
    ]  # fmt: skip


def _toolkit(tables: Tables, row: Mapping[str, Any], cuda: str) -> tuple[str, Sequence[Cell]]:
    floors = [tables.driver_floor(cuda, side) for side in ("linux", "windows")]
    cells = [Cell(_said(row.get(key)), row["source"]) for key in ("version", "linux", "windows")]
    cells += [Cell(floor.driver, floor.source) if floor else Cell(UNKNOWN) for floor in floors]
    return _anchor(row["version"]), [*cells, Cell(_said(row.get("note")), row["source"])]


# --- TensorFlow --------------------------------------------------------------------------------------


def _newest_first(tables: Tables) -> list[TensorFlowRelease]:
    return sorted(tables.releases(None), key=lambda row: (dotted(row.version), row.version), reverse=True)


def _release(tables: Tables, row: TensorFlowRelease) -> tuple[str, Sequence[Cell]]:
    data = row.data
    evidence: Mapping[str, str] = data.get("evidence") or {}
    wheels: Mapping[str, Mapping[str, str]] = data.get("wheels") or {}
    code = row.compute_capabilities
    none = "" if row.gpu is False else UNKNOWN
    file = f"{data['source']['file']} (sha256 {data['source']['sha256']})"
    floor = (
        tables.driver_floor(row.cuda, "windows" if row.platform.startswith("windows") else "linux")
        if row.cuda
        else None
    )
    glibc = row.glibc or ("" if not row.platform.startswith("linux") else UNKNOWN)
    seen = evidence.get("compute_capabilities", "")
    cells = [
        Cell(f"{row.package} {row.version}" + (" (yanked)" if row.yanked else ""), file),
        Cell(row.platform, "the name of the wheel"),
        Cell({True: "yes", False: "no", None: UNKNOWN}[row.gpu], evidence.get("gpu", "")),
        Cell(row.cuda or none, evidence.get("cuda", "")),
        Cell(row.cudnn or none, evidence.get("cudnn", "")),
        Cell(
            ", ".join(row.pythons) or UNKNOWN,
            "the names of the release's wheels: " + ", ".join(w["file"] for w in wheels.values()),
        ),
        Cell(", ".join(code.compiled) or "none" if code else none, seen),
        Cell(", ".join(code.ptx) or "none" if code else none, seen),
        Cell(floor.driver if floor else none, floor.source if floor else ""),
        Cell(glibc, evidence.get("glibc", "") if row.glibc else ""),
    ]
    return _anchor(f"{row.package} {row.version} {row.platform}"), cells


# --- as HTML -----------------------------------------------------------------------------------------


def _html(page: Page) -> str:
    rows = list(page.rows)
    choices = []
    for name in page.choose:
        at = page.columns.index(name)
        values = sorted({cells[at].text for _, cells in rows if cells[at].text}, key=_order)
        options = "".join(f"<option>{escape(value)}</option>" for value in values)
        choices.append(
            f'<label>{escape(name)} <select data-column="{at}"><option'
            f' value="">all</option>{options}</select></label>'
        )
    head = "".join(
        f'<th scope="col"><button type="button">{escape(name)}</button></th>' for name in page.columns
    )
    return f"""<h1>{escape(page.title)}</h1>
<p>{escape(page.about)}
<span class="dim">An empty cell: no value. &ldquo;{UNKNOWN}&rdquo;: the value could not be read.</span></p>
<form class="filters" role="search" aria-label="Filter the table">
<label>Search <input type="search" name="q" autocomplete="off"></label>
{"".join(choices)}
<output aria-live="polite">{len(rows)} rows</output></form>
<noscript><p class="dim">Sorting and filtering need JavaScript; the browser's own search works.</p></noscript>
<div class="scroll" tabindex="0" role="region" aria-label="{escape(page.title)}"><table class="data">
<thead><tr>{head}<th scope="col">Sources</th></tr></thead>
<tbody>
{chr(10).join(_row(page.columns, anchor, cells) for anchor, cells in rows)}
</tbody></table></div>"""


def _order(text: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in text.split(".")]


def _row(columns: Sequence[str], anchor: str, cells: Sequence[Cell]) -> str:
    by_source: dict[str, list[str]] = {}
    for column, cell in zip(columns, cells):
        if cell.text and cell.source:
            by_source.setdefault(cell.source, []).append(column)
    if len(by_source) == 1:
        sources = escape(next(iter(by_source)), quote=False)
    else:
        entries = "".join(
            f"<dt>{escape(', '.join(names), quote=False)}</dt><dd>{escape(source, quote=False)}</dd>"
            for source, names in by_source.items()
        )
        sources = f"<dl>{entries}</dl>"
    first = escape(cells[0].text, quote=False)
    tds = "".join(
        f"<td{' class=long' * (len(c.text) > 60)}>{escape(c.text, quote=False)}</td>" for c in cells[1:]
    )
    return (
        f'<tr id="{escape(anchor)}"><th scope="row"><a href="#{escape(anchor)}">{first}</a></th>{tds}'
        f"<td><details><summary>sources</summary>{sources}</details></td></tr>"
    )


# --- which TensorFlow for my GPU ---------------------------------------------------------------------

MARKS = {
    "yes": ("●", "runs"),
    "slow": ("◐", "runs, but at the first start the driver must compile its code, which takes minutes"),
    "no": ("·", "does not run"),
    "unknown": ("?", "not known"),
}


def _index(tables: Tables, links: str) -> str:
    legend = "".join(
        f'<li><span class="cell {kind}">{mark}</span> {meaning}</li>'
        for kind, (mark, meaning) in MARKS.items()
    )
    return filled(
        "tables.html",
        links=links,
        legend=legend,
        linux=_matrix(tables, "linux-x86_64"),
        windows=_matrix(tables, "windows-amd64"),
    )


def _capabilities(tables: Tables) -> list[tuple[str, str]]:
    """Return every compute capability that at least one card has, with the name of its architecture."""
    cards = {row["capability"] for row in tables.store.all("gpus")}
    every = [
        (c, a.name)
        for a in tables.architectures()
        for c in a.capabilities
        if c in cards and dotted(c) >= (3,)
    ]
    return sorted(every, key=lambda pair: dotted(pair[0]))


def _matrix(tables: Tables, platform: str) -> str:
    """Return a table with a row for the newest GPU build of each minor TensorFlow release, and a column for
    every compute capability."""
    newest: dict[str, TensorFlowRelease] = {}
    for row in _newest_first(tables):
        if row.platform == platform and row.gpu and not row.yanked:
            newest.setdefault(".".join(row.version.split(".")[:2]), row)
    capabilities = _capabilities(tables)
    groups: dict[str, int] = {}
    for _, name in capabilities:
        groups[name] = groups.get(name, 0) + 1
    above = "".join(
        f'<th scope="colgroup" colspan="{count}">{escape(name)}</th>' for name, count in groups.items()
    )
    head = "".join(f'<th scope="col"><a href="gpu.html#c1={c}">{c}</a></th>' for c, _ in capabilities)
    body = []
    for build in newest.values():
        cells = []
        for capability, _ in capabilities:
            found = judge(build, Situation(platform, capabilities=(capability,)), tables).overall
            mark, _ = MARKS[found.verdict]
            said = f"{build.requirement}, {capability}: {found.reason}"
            cells.append(f'<td class="cell {found.verdict}" title="{escape(said)}">{mark}</td>')
        anchor = _anchor(f"{build.package} {build.version} {build.platform}")
        label = f"{build.version}" + ("" if build.package == "tensorflow" else "*")
        body.append(
            f'<tr><th scope="row"><a href="tensorflow.html#{anchor}">{label}</a></th>{"".join(cells)}</tr>'
        )
    return (
        f'<table class="matrix"><thead><tr><td></td>{above}</tr><tr><th'
        f' scope="col">TensorFlow</th>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )
