"""Writes diagnoses for people and programs, as text, JSON, Markdown or HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.render.options import Options

if TYPE_CHECKING:
    import argparse

    from doctor.findings import Diagnosis
    from doctor.tables import Tables

__all__ = ["Options", "around", "emit", "rendered"]


def emit(diagnosis: Diagnosis, args: argparse.Namespace) -> int:
    """Print a diagnosis in the requested format. Returns 1 if it contains an error, otherwise 0.

    Raises UnableError if --output cannot be written.
    """
    from doctor.render.output import destination

    with destination(args.output) as stream:
        options = Options.of(args, stream)
        before, _, after = around(options)
        stream.write(before + rendered(diagnosis, options) + after)
    return int(diagnosis.worst == "error")


def rendered(diagnosis: Diagnosis, options: Options) -> str:
    """Return a diagnosis in the requested format, with a newline at the end. Secrets are always redacted.
    Names are redacted too, except in text for a terminal or a pipe (Options.shared)."""
    from doctor.render.sharing import shared
    from doctor.tables import Tables

    tables = Tables.bundled()
    diagnosis = shared(diagnosis, names=options.shared or options.format != "text")
    if options.format == "json":
        from doctor.printable import as_json
        from doctor.render.document import document

        whole = document(diagnosis, tables)
        if options.trace:
            from doctor.trace import trace

            whole["trace"] = [row.as_dict() for row in trace(diagnosis.facts, tables)]
        if options.node:
            whole["node"] = options.node
        return as_json(whole, ascii_only=not options.symbols) + "\n"
    if options.format == "markdown":
        from doctor.render import markdown

        return markdown.show(diagnosis, tables) + (
            f"\n```text\n{_traced(diagnosis, tables, IN_MARKDOWN)}```\n" if options.trace else ""
        )
    if options.format == "html":
        from doctor.render.html import show as page

        return page(diagnosis, tables)
    from doctor.render import terminal

    return terminal.show(diagnosis, tables, options) + (
        f"\n{_traced(diagnosis, tables, options.width)}" if options.trace else ""
    )


LEGEND = (
    "  (the weight of a sign is added to the natural logarithm of the cause's odds: +0.69 doubles the odds,"
    " -0.69 halves them; likelihoods are between 0 and 1, and add up to 1 over all listed causes)"
)
"""The units of the trace."""


IN_MARKDOWN = 100
"""The width of the trace in Markdown, where lines in a block of code are not wrapped."""


def _traced(diagnosis: Diagnosis, tables: Tables, width: int) -> str:
    """Return the trace of the verdict, one decision after the other. All rules that had no fact to read come
    together at the end."""
    from doctor.printable import line
    from doctor.render.fold import fold
    from doctor.trace import NOT_CONSIDERED, trace

    rows, idle = ["How the verdict came about", LEGEND], []
    for row in trace(diagnosis.facts, tables):
        if row.outcome == NOT_CONSIDERED:
            idle.append(row.code)
            continue
        where = f" ({', '.join(row.lines)})" if row.lines else ""
        rows.append(line(f"  {row.stage} {row.code}: {row.outcome}{where}"))
    if idle:
        rows.append(f"  rules {NOT_CONSIDERED}: {', '.join(idle)}")
    return fold("\n".join(rows) + "\n", width)


def around(options: Options) -> tuple[str, str, str]:
    """Return what to write before, between and after the diagnoses in one answer."""
    if options.format == "html":
        from doctor.render.html import HEAD, TAIL

        return HEAD, "", TAIL
    if options.format == "markdown":
        return "", "\n---\n\n", ""
    if options.format == "json":
        return "", "", ""
    return "", "\n" + ("─" if options.symbols else "-") * options.width + "\n\n", ""
