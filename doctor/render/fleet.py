"""Writes the result of `fleet` for people and programs: as text for a terminal, Markdown, HTML or JSON.

The reports contain neither user names nor home folders, because `check --format json` has redacted them. The
names of the nodes stay, because they are the answer.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from doctor import __version__
from doctor.fleet.compare import Comparison, Group
from doctor.fleet.cures import Cure
from doctor.fleet.nodelist import folded
from doctor.printable import block, line
from doctor.redact import Redactor, without_doors
from doctor.render.content import LABELS, ways
from doctor.render.fleet_document import Result, document, fixes
from doctor.render.symbols import painted
from doctor.render.wrap import hanging

if TYPE_CHECKING:
    from doctor.findings import Step
    from doctor.render.options import Options

Key = TypeVar("Key")
SHOWN = 12
"""Without --verbose, at most this many values, reasons or changes of each kind are shown."""
FEW = 6
"""At most this many differences are shown for a group."""
NAMES = 300
"""Without --verbose, a list of node names is cut after this many characters."""


def rendered(result: Result, options: Options) -> Iterator[str]:
    """Yield the answer in parts, in the requested format."""
    if options.format == "json":
        return document(result)
    hide = Redactor.of(os.environ) if options.shared or options.format != "text" else without_doors
    sections = _sections(result, hide, verbose=bool(options.verbose))
    if options.format == "markdown":
        return _markdown(sections)
    if options.format == "html":
        return _html(sections)
    return _text(sections, options)


# --- the content of the formats for people


class _Line(NamedTuple):
    """One line of a section. kind: text, nodes, command or note."""

    kind: str
    text: str


class _Section(NamedTuple):
    """A heading with lines. tone: error, warning, good or unknown."""

    heading: str
    tone: str
    lines: list[_Line]


def _sections(result: Result, hide: Callable[[str], str], *, verbose: bool) -> list[_Section]:
    comparison = result.comparison
    counts = Counter(answer.status for answer in comparison.answers)
    total = len(comparison.answers)
    words = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    errors = sum(answer.error for answer in comparison.answers)
    summary = f"{total} node{'s' if total != 1 else ''}: {words}; {errors} with an error"
    tone = "error" if errors else "unknown" if comparison.incomplete else "good"
    note = _Line("note", "Interrupted: nodes without an answer are listed as failed.")
    sections = [_Section(summary, tone, [note] if result.interrupted else [])]
    for number, (group, cured) in enumerate(fixes(comparison), 1):
        sections.append(_group(number, group, cured, comparison, verbose=verbose))
    sections += _agreement(result)
    sections += _silent(comparison, hide, verbose=verbose)
    sections += _unexamined(comparison, verbose=verbose)
    sections += _differences(comparison, verbose=verbose)
    sections += _changes(result, verbose=verbose)
    return [
        _Section(
            hide(section.heading),
            section.tone,
            [_Line(row.kind, row.text if row.kind == "nodes" else hide(row.text)) for row in section.lines],
        )
        for section in sections
    ]


def _group(number: int, group: Group, cured: Cure, comparison: Comparison, *, verbose: bool) -> _Section:
    finding = cured.finding
    count = len(group.members)
    title = f": {finding.title}" if finding else ""
    heading = f"Group {number}: {count} node{'s' if count != 1 else ''}, {group.verdict}{title}"
    rows = [_Line("nodes", _names(group.nodes, verbose=verbose))]
    first = set(group.nodes[:1])
    for difference in comparison.differences:
        if difference.matters and first & difference.others.keys():
            value = difference.others[group.nodes[0]]
            rows.append(
                _Line(
                    "text", f"{_label(difference.fact)}: {_value(value)} (mostly {_value(difference.most)})"
                )
            )
    if len(rows) > FEW + 1 and not verbose:
        left = len(rows) - FEW
        rows[FEW:] = [_Line("note", f"and {left} more differences that matter (--verbose shows them)")]
    if finding is not None:
        for way in ways(finding.prescription):
            rows += [_Line("text", f"{way.heading}:")] if way.heading else []
            rows += [row for step in way.steps for row in _step(step)]
    elif cured.note:
        rows.append(_Line("note", cured.note))
    tone = "error" if group.error else "warning" if group.members[0].codes else "good"
    return _Section(heading, tone, rows)


def _step(step: Step) -> list[_Line]:
    if step.kind == "manual":
        return [_Line("text", f"do: {step.text}" + (f" ({step.why})" if step.why else ""))]
    why = f"do: {step.why or 'run'}" + (" (as administrator)" if step.needs_root else "")
    return [_Line("text", why), _Line("command", step.text)]


def _agreement(result: Result) -> Iterator[_Section]:
    if result.agreement is None:
        return
    words = {True: "yes", False: "NO", None: "not known"}
    rows = []
    for one in result.agreement:
        rows.append(
            _Line(
                "text",
                f"{words[one.agrees]}: {one.question}: {one.why}"
                + (f". Do: {one.do}" if one.do and one.agrees is False else ""),
            )
        )
        by_value = _grouped((value, name) for name, value in one.nodes.items())
        rows += [
            _Line("nodes", f"  {_names(names, verbose=False)}: {value}")
            for value, names in list(by_value.items())[:SHOWN]
        ]
    states = [one.agrees for one in result.agreement]
    tone = "error" if False in states else "unknown" if None in states else "good"
    yield _Section("Distributed training: do the nodes agree?", tone, rows)


def _silent(comparison: Comparison, hide: Callable[[str], str], *, verbose: bool) -> list[_Section]:
    reasons = _grouped(  # the reason without the node's name, so that nodes with the same reason share a row
        (f"{answer.status}: {hide(answer.reason).replace(answer.name, 'NODE')}", answer.name)
        for answer in comparison.silent
    )
    if not reasons:
        return []
    rows = []
    for reason, names in _first(_largest_first(reasons), verbose):
        rows += [_Line("nodes", _names(names, verbose=verbose)), _Line("text", reason)]
    heading = f"Nodes that could not be asked: {len(comparison.silent)}"
    return [_Section(heading, "unknown", rows + _more(reasons, verbose))]


def _unexamined(comparison: Comparison, *, verbose: bool) -> list[_Section]:
    found = _grouped((answer.unexamined, answer.name) for answer in comparison.answers if answer.unexamined)
    rows = []
    for what, names in _first(list(found.items()), verbose):
        rows += [
            _Line("nodes", _names(names, verbose=verbose)),
            _Line("text", f"could not be examined: {', '.join(what)}"),
        ]
    heading = "Verdicts that are incomplete because something could not be examined"
    return [_Section(heading, "unknown", rows)] if rows else []


def _differences(comparison: Comparison, *, verbose: bool) -> list[_Section]:
    sections = []
    for matters, heading in (
        (True, "Differences that matter to TensorFlow"),
        (False, "Differences that do not matter"),
    ):
        chosen = [difference for difference in comparison.differences if difference.matters is matters]
        if not chosen:
            continue
        if not matters and not verbose:
            names = ", ".join(_label(difference.fact) for difference in chosen[:SHOWN])
            more = f" and {len(chosen) - SHOWN} more" if chosen[SHOWN:] else ""
            sections.append(_Section(heading, "good", [_Line("text", f"{names}{more} (--verbose says why)")]))
            continue
        rows: list[_Line] = []
        for difference in _first(chosen, verbose):
            rows.append(
                _Line(
                    "text", f"{_label(difference.fact)}: mostly {_value(difference.most)}; {difference.why}"
                )
            )
            by_value = _grouped((value, name) for name, value in difference.others.items())
            for value, names in _first(_largest_first(by_value), verbose):
                rows.append(_Line("nodes", f"{_value(value)}: {_names(names, verbose=verbose)}"))
        sections.append(_Section(heading, "warning" if matters else "good", rows + _more(chosen, verbose)))
    return sections


def _changes(result: Result, *, verbose: bool) -> list[_Section]:
    if result.changes is None:
        return []
    rows = []
    for change in _first(result.changes, verbose):
        words = (
            f"{_label(change.what)}: {_value(change.before)}, now {_value(change.now)}:"
            f" {_names(change.nodes, verbose=verbose)}"
        )
        rows.append(_Line("nodes", words))
    heading = "Changed since the earlier run" if rows else "Nothing has changed since the earlier run"
    return [_Section(heading, "warning" if rows else "good", rows + _more(result.changes, verbose))]


def _grouped(pairs: Iterable[tuple[Key, str]]) -> dict[Key, list[str]]:
    """Return the names of nodes, grouped by the first element of each pair."""
    found: dict[Key, list[str]] = {}
    for key, name in pairs:
        found.setdefault(key, []).append(name)
    return found


def _largest_first(groups: dict[Key, list[str]]) -> list[tuple[Key, list[str]]]:
    return sorted(groups.items(), key=lambda item: -len(item[1]))


def _first(items: Sequence[Any], verbose: bool) -> Sequence[Any]:
    return items if verbose else items[:SHOWN]


def _more(items: Any, verbose: bool) -> list[_Line]:
    left = len(items) - SHOWN
    note = _Line("note", f"and {left} more (--verbose or --format json shows them)")
    return [note] if left > 0 and not verbose else []


def _names(names: Sequence[str], *, verbose: bool) -> str:
    words = ", ".join(folded(names))
    if verbose or len(words) <= NAMES:
        return words
    return f"{words[:NAMES].rpartition(',')[0] or words[:NAMES]} ... ({len(names)} nodes)"


def _label(fact: str) -> str:
    return LABELS.get(fact, fact)


def _value(value: str | None) -> str:
    return "none seen" if value is None else value or "empty"


# --- the formats


def _text(sections: Sequence[_Section], options: Options) -> Iterator[str]:
    for number, section in enumerate(sections):
        if number:
            yield "\n"
        for row in _wrapped(section.heading, options.width, "", "  "):
            yield f"{painted(row, section.tone) if options.colour else row}\n"
        for kind, text in section.lines:
            if kind == "command":
                yield "".join(f"      {row}\n" for row in block(text).split("\n"))
            elif kind == "nodes":  # a list of nodes breaks after its commas
                rows = _wrapped(text.replace(",", ", "), options.width, "  ", "    ")
                yield from (row.replace(", ", ",") + "\n" for row in rows)
            else:
                yield from (f"{row}\n" for row in _wrapped(text, options.width, "  ", "    "))


def _wrapped(words: str, width: int, indent: str, further: str) -> list[str]:
    return hanging(line(words), max(20, width), indent, further)


def _markdown(sections: Sequence[_Section]) -> Iterator[str]:
    from doctor.render.markdown import escaped, fence

    for number, section in enumerate(sections):
        yield f"{'#' if not number else '##'} {escaped(section.heading)}\n\n"
        for kind, text in section.lines:
            if kind == "command":
                yield "\n" + "\n".join(fence(block(text).split("\n"), "sh")) + "\n\n"
            else:
                yield f"- {escaped(text)}\n"
        yield "\n" if section.lines else ""
    yield f"<sub>tfgpu-doctor {__version__}</sub>\n"


def _html(sections: Sequence[_Section]) -> Iterator[str]:
    from doctor.render.html import HEAD, TAIL

    yield HEAD
    for number, section in enumerate(sections):
        level = "h1" if not number else "h2"
        yield (
            f'<article class="{section.tone}">\n<{level}'
            f' class="tone">{escape(line(section.heading))}</{level}>\n'
        )
        for kind, text in section.lines:
            if kind == "command":
                yield f"<pre><code>{escape(block(text))}</code></pre>\n"
            else:
                yield f"<p{' class=dim' if kind == 'note' else ''}>{escape(line(text))}</p>\n"
        yield "</article>\n"
    yield TAIL
