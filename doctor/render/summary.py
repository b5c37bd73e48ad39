"""Summarizes many reports in one table: which causes occur, and how often."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from doctor import __version__

if TYPE_CHECKING:
    from doctor.render.options import Options

EXAMPLES = 3


class Row(NamedTuple):
    """One cause: how many reports have it as their verdict, and some of their names."""

    code: str
    severity: str
    title: str
    number: int
    reports: tuple[str, ...]


class Summary:
    """Counts the verdicts of reports, one by one."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.about: dict[str, tuple[str, str]] = {}
        self.reports: dict[str, list[str]] = {}
        self.unreadable = 0

    def add(self, code: str, severity: str, title: str, report: str) -> None:
        """Count one report's verdict."""
        self.counts[code] += 1
        self.about.setdefault(code, (severity, title))
        named = self.reports.setdefault(code, [])
        if len(named) < EXAMPLES:
            named.append(report)

    @property
    def total(self) -> int:
        """The number of reports that were read."""
        return sum(self.counts.values())

    def rows(self) -> list[Row]:
        """The causes, with the most frequent first."""
        ordered = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        return [Row(code, *self.about[code], count, tuple(self.reports[code])) for code, count in ordered]

    def document(self) -> dict[str, Any]:
        """The summary as plain data."""
        from doctor.tables import Tables

        return {
            "schema": 1,
            "tool": {"name": "tfgpu-doctor", "version": __version__, "tables": Tables.bundled().date},
            "reports": self.total,
            "unreadable": self.unreadable,
            "causes": [
                {
                    "code": row.code,
                    "severity": row.severity,
                    "title": row.title,
                    "count": row.number,
                    "share": round(row.number / self.total, 4),
                    "reports": list(row.reports),
                }
                for row in self.rows()
            ],
        }


def show(summary: Summary, options: Options) -> str:
    """The table in the requested format."""
    if options.format == "json":
        from doctor.printable import as_json

        return as_json(summary.document(), ascii_only=not options.symbols) + "\n"
    head = f"{summary.total} report{'s' if summary.total != 1 else ''}"
    if summary.unreadable:
        head += f", {summary.unreadable} more could not be read"
    if options.format == "markdown":
        from doctor.render.markdown import escaped

        lines = [f"**{head}**", "", "| reports | share | cause | |", "|--:|--:|---|---|"]
        lines += [
            f"| {r.number} | {_share(r, summary)} | `{r.code}` | {escaped(r.title)} |" for r in summary.rows()
        ]
        return "\n".join(lines) + "\n"
    if options.format == "html":
        from html import escape

        cells = "".join(
            f"<tr><td>{r.number}</td><td>{_share(r, summary)}</td><td><code>{escape(r.code)}</code></td>"
            f"<td>{escape(r.title)}</td></tr>"
            for r in summary.rows()
        )
        titles = "<tr><th>reports</th><th>share</th><th>cause</th><th></th></tr>"
        return f"<h1>{head}</h1>\n<table>{titles}{cells}</table>\n"
    return _table(summary, head, options)


def _share(row: Row, summary: Summary) -> str:
    return f"{100 * row.number / summary.total:.1f} %"


def _table(summary: Summary, head: str, options: Options) -> str:
    """The table for a terminal. It has the titles of the causes only if they fit."""
    from doctor.printable import line

    rows = summary.rows()
    width = max((len(row.code) for row in rows), default=4)
    digits = max(len(str(rows[0].number)) if rows else 1, len("reports"))
    lines = [head, ""]
    if rows:
        lines.append(f"{'reports':>{digits}}  {'share':>7}  cause")
    for row in rows:
        title = line(row.title)
        room = options.width - digits - width - 13
        if len(title) > room:
            title = title[: max(0, room - 1)].rstrip() + ("…" if options.symbols else "") if room > 15 else ""
        lines.append(
            f"{row.number:>{digits}}  {_share(row, summary):>7}  {row.code:<{width}}  {title}".rstrip()
        )
        if options.verbose:
            lines += [f"{'':>{digits + 11}}{line(name)}" for name in row.reports]
    return "\n".join(lines) + "\n"
