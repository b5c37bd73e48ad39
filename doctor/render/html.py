"""A diagnosis as one self-contained HTML page. It uses no network and no script, has a dark and a light
theme, and is readable on a phone.

This module escapes every string. It redacts nothing: pass it a diagnosis that is safe to share.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from doctor import __version__
from doctor.facts import Unreadable
from doctor.printable import block, line
from doctor.render import content

if TYPE_CHECKING:
    from doctor.findings import Diagnosis, Finding, Step
    from doctor.tables import Tables

STYLE = """
:root{color-scheme:light dark;--ink:#1c1e21;--page:#fff;--soft:#f3f4f6;--line:#d5d9df;--dim:#5b6470;
--error:#b3261e;--warning:#8a5a00;--info:#1a5fb4;--good:#1b6e32;--unknown:#6b3fa0}
@media(prefers-color-scheme:dark){
:root{--ink:#e6e8eb;--page:#15181c;--soft:#20252b;--line:#39414b;--dim:#9aa5b1;
--error:#ff8a80;--warning:#f5c04c;--info:#8ab4f8;--good:#7bd88f;--unknown:#c7a6f5}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif;
overflow-wrap:anywhere}
main{max-width:50rem;margin:0 auto;padding:1rem}
h1,h2,h3{line-height:1.25}h1{font-size:1.35rem;margin:.2rem 0}h2{font-size:1.05rem;margin:1.4rem 0 .4rem}
h3{font-size:1rem;margin:.8rem 0 .4rem}
article{border-left:.4rem solid var(--tone);padding-left:1rem;margin-bottom:2rem}
.error{--tone:var(--error)}.warning{--tone:var(--warning)}.info{--tone:var(--info)}
.good{--tone:var(--good)}.unknown{--tone:var(--unknown)}
.tone{color:var(--tone)}.dim{color:var(--dim)}
pre{background:var(--soft);border:1px solid var(--line);border-radius:.4rem;
padding:.6rem .8rem;margin:.4rem 0;overflow-x:auto;white-space:pre;user-select:all;-webkit-user-select:all}
code{font:.875rem/1.45 ui-monospace,monospace}
blockquote{margin:.4rem 0;padding:.3rem .8rem;background:var(--soft);border-radius:.4rem}
blockquote code{white-space:pre-wrap}
cite{display:block;font:.8rem ui-monospace,monospace;color:var(--dim)}
dl{display:grid;grid-template-columns:minmax(6rem,14rem) 1fr;gap:.2rem 1rem;margin:0}
dt{color:var(--dim)}dd{margin:0}
details{border:1px solid var(--line);border-radius:.4rem;padding:.4rem .8rem;margin:.6rem 0}
summary{cursor:pointer;font-weight:600}
ol,ul{padding-left:1.4rem}
@media(max-width:36rem){dl{grid-template-columns:1fr}dd{margin-bottom:.4rem}}
@media print{details{display:block}}
"""
HEAD = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>tfgpu-doctor</title>
<style>{STYLE}</style>
</head>
<body>
<main>
"""
TAIL = f"""<footer class="dim"><small>Made by tfgpu-doctor {__version__}</small></footer>
</main>
</body>
</html>
"""


def show(diagnosis: Diagnosis, tables: Tables) -> str:
    """One diagnosis as an HTML article. HEAD, one or several articles, and TAIL make a page."""
    return _Page(diagnosis, tables).article()


class _Page:
    def __init__(self, diagnosis: Diagnosis, tables: Tables) -> None:
        self.diagnosis = diagnosis
        self.tables = tables

    def article(self) -> str:
        from doctor.render.terminal import tone

        verdict, *others = self.diagnosis.findings
        subject = _text(content.subject(self.diagnosis.facts))
        parts = [
            f'<article class="{tone(verdict)}">',
            f'<h1 class="tone">{_text(verdict.title)}</h1>',
            f'<p class="dim">{self._meta(verdict)} · {subject}</p>',
            self._finding(verdict),
        ]
        if others:
            parts.append("<h2>Also found</h2>")
        for other in others:
            title = f'<span class="{tone(other)}"><span class="tone">{_text(other.title)}</span></span>'
            parts.append(_details(title, f'<p class="dim">{self._meta(other)}</p>' + self._finding(other)))
        parts += [self._compatibility(), self._noise(), self._facts(), "</article>", ""]
        return "\n".join(part for part in parts if part) + "\n"

    def _meta(self, finding: Finding) -> str:
        return (
            f"{finding.severity} · {content.SURENESS[finding.confidence]} ·"
            f" <code>{escape(finding.code)}</code>"
        )

    def _finding(self, finding: Finding) -> str:
        parts = [
            f"<p>{_text(paragraph)}</p>"
            for paragraph in block(finding.explanation).split("\n")
            if paragraph.strip()
        ]
        parts.append("<h2>Evidence</h2>")
        for source in finding.evidence:
            text = f"<code>{_text(source.text)}</code>" if source.text.strip() else ""
            parts.append(f"<blockquote><cite>{_text(content.place(source))}</cite>{text}</blockquote>")
        if finding.consequences:
            parts.append(f"<h2>{content.explained(finding)}</h2><ul>")
            parts += [f"<li>{_text(text)}</li>" for text in finding.consequences] + ["</ul>"]
        ways = content.ways(finding.prescription, self.diagnosis.facts)
        if finding.prescription:
            parts.append(f"<h2>{content.what_to_do(ways)}</h2>")
            for way in ways:
                parts.append(f"<h3>{way.heading}</h3><ol>" if way.heading else "<ol>")
                parts += [*map(self._step, way.steps), "</ol>"]
        if finding.verify:
            heading = f"How to check{content.checked_way(finding, ways)}"
            parts.append(f"<h2>{heading}</h2>{_code(finding.verify)}")
        if finding.tables:
            parts.append("<h2>What the tables say</h2><ul>")
            parts += [f"<li>{_text(row)}</li>" for row in finding.tables] + ["</ul>"]
        return "\n".join(parts)

    def _step(self, step: Step) -> str:
        code = "" if step.kind == "manual" else _code(step.text)
        return f"<li>{_text(content.instruction(step))}{code}</li>"

    def _compatibility(self) -> str:
        parts = []
        rows = content.goes_together(self.diagnosis)
        if rows:
            cells = "".join(
                "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows
            )
            head = "<tr><th>part</th><th>has</th><th>needs</th><th>fits</th></tr>"
            parts.append(f"<h2>What goes together</h2><table>{head}{cells}</table>")
        others = content.other_causes(self.diagnosis)
        if others:
            items = "".join(f"<li>{_text(other)}</li>" for other in others)
            parts.append(
                _details("Other possible causes, and the command that checks each", f"<ul>{items}</ul>")
            )
        return "\n".join(parts)

    def _noise(self) -> str:
        groups = content.harmless(self.diagnosis)
        rows = "".join(f"<li>{_text(g.places)}: {_text(g.meaning)}</li>" for g in groups)
        return _details(content.noise_heading(groups), f"<ul>{rows}</ul>") if groups else ""

    def _facts(self) -> str:
        rows = []
        for fact in content.known_facts(self.diagnosis, self.tables):
            where = content.line_list(fact.sources, 3) if self.diagnosis.facts.kind == "report" else ""
            note = f' <span class="dim">({where})</span>' if where else ""
            rows.append(f"<dt>{escape(fact.label)}</dt><dd>{_text(fact.value)}{note}</dd>")
        for unread in self.diagnosis.facts.of(Unreadable):
            rows.append(
                f"<dt>{_text(unread.what)}</dt><dd>could not be examined: {_text(unread.reason)}</dd>"
            )
        if not rows:
            return ""
        heading = "What was seen" if self.diagnosis.facts.kind == "machine" else "What was read"
        return f"<h2>{heading}</h2><dl>{''.join(rows)}</dl>"


def _details(summary: str, inner: str) -> str:
    return f"<details><summary>{summary}</summary>{inner}</details>"


def _code(text: str) -> str:
    return f"<pre><code>{escape(block(text).rstrip())}</code></pre>"


def _text(text: str) -> str:
    return escape(line(text))
