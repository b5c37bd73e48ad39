"""Writes plans for people and programs, as text, JSON, Markdown or HTML."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from typing import Any

from doctor import __version__
from doctor.findings import Finding, Step
from doctor.install.space import needed_mib
from doctor.plan import Outcome, Plan
from doctor.printable import as_json, block, line
from doctor.redact import Redactor, without_doors
from doctor.render.document import finding_document, step_document
from doctor.render.known import facts_document
from doctor.render.symbols import painted
from doctor.render.wrap import hanging
from doctor.shell import comment, one_line

ROUTE_NAMES = {
    "pip-and-cuda": "with pip, including CUDA and cuDNN",
    "pip-system-cuda": "with pip, using the installed CUDA",
    "conda": "in a conda environment",
    "docker": "in the official image",
    "wsl2": "under WSL2",
    "cpu": "on the CPU only",
    "nvidia-container": "in NVIDIA's container",
    "jetson-wheel": "from NVIDIA's wheels for Jetson",
}


def document(outcome: Outcome) -> dict[str, Any]:
    """The outcome of `plan` as JSON of schema 1."""
    context = outcome.context
    asked = {
        name: getattr(context.version_request, name) for name in ("tensorflow", "python", "cuda", "cudnn")
    }
    return {
        "schema": 1,
        "tool": {"name": "tfgpu-doctor", "version": __version__, "tables": context.tables.date},
        "wish": {key: value for key, value in asked.items() if value},
        "machine": facts_document(context.case),
        "findings": [finding_document(finding) for finding in outcome.findings],
        "plans": [_plan_document(plan) for plan in outcome.plans],
    }


def _plan_document(plan: Plan) -> dict[str, Any]:
    return {
        "tensorflow": plan.tensorflow,
        "package": plan.package,
        "python": plan.python,
        "cuda": plan.cuda,
        "cudnn": plan.cudnn,
        "driver_minimum": plan.driver_minimum,
        "route": plan.route,
        "changes": list(plan.changes),
        "commands": [step_document(step) for step in plan.commands],
        "why": list(plan.why),
    }


def shared_document(outcome: Outcome) -> dict[str, Any]:
    """Return the JSON of the outcome, redacted."""
    tree: dict[str, Any] = Redactor.of(os.environ).tree(document(outcome))
    return tree


def hidden(words: str, shared: bool) -> str:
    """Return a text without secrets; if it will be shared, also without user names, host names and
    addresses."""
    return Redactor.of(os.environ)(words) if shared else without_doors(words)


def rendered(
    outcome: Outcome,
    form: str,
    *,
    width: int = 80,
    colour: bool = False,
    verbose: bool = False,
    shared: bool = True,
) -> str:
    """Return the plans in the format `form`: text, json, markdown or html. shared: redact names in text too.
    The other formats are always redacted."""
    if form == "json":
        return as_json(shared_document(outcome)) + "\n"
    if form == "markdown":
        return hidden(markdown(outcome), shared=True)
    if form == "html":
        words = html.escape(hidden(text(outcome), shared=True))
        return f'<!doctype html><meta charset="utf-8"><title>plan</title><pre>{words}</pre>\n'
    return hidden(text(outcome, width=width, colour=colour, verbose=verbose), shared)


def gate_line(outcome: Outcome, *, image: bool = False) -> str:
    """Return one line for CI: ok, not ok or not examined, and why. image: whether the file builds on an
    image. The plan's own CUDA and Python are then not those that the file uses."""
    wanted = [p for p in outcome.plans if (p.route == "cpu") is outcome.context.for_cpu]
    best = wanted[0] if wanted else None
    errors = [f for f in outcome.findings if f.severity == "error"]
    if outcome.works and outcome.unexamined:
        reason = outcome.unexamined[0].explanation.partition(". ")[0].rstrip(".")
        return line(f"could not examine: {_first(outcome.unexamined)}: {reason}")
    if outcome.works and best is not None:
        doubt = [f for f in outcome.findings if f.severity == "warning" and f.code != "gpu-absent"]
        left = [f.title for f in outcome.findings if f.severity == "info" and f.code == "undetermined"]
        # a plan that brings CUDA is not what a file without CUDA installs
        lacks = image or any(f.code == "cuda-missing" for f in doubt)
        words = f"ok: {best.package} {best.tensorflow}" if lacks else f"ok: {_in_short(best)}"
        words += f", Python {best.python}" if best.python and outcome.context.python and not image else ""
        if outcome.context.for_cpu and not outcome.context.version_request.cpu:
            words += " (no NVIDIA GPU was found here; --gpu NAME plans for that GPU)"
        return line("; ".join((words, *([f"warning: {_first(doubt)}"] if doubt else []), *left[:1])))
    why = _first(errors) if errors else "no plan lets TensorFlow use a GPU"
    why += f"; {outcome.unexamined[0].title}" if outcome.unexamined else ""
    if any(step.edit for finding in errors for step in finding.prescription):
        return line(f"not ok: {why}; --fix shows the correction")
    return line(f"not ok: {why}" + (f"; nearest plan: {_in_short(best)}" if best else ""))


def _in_short(plan: Plan) -> str:
    """Return a plan's release, and where it comes from."""
    return f"{plan.package} {plan.tensorflow} {ROUTE_NAMES[plan.route]}"


def cures(finding: Finding, outcome: Outcome, *, shown: bool = True) -> list[str]:
    """Return the manual steps for a finding. If some steps are commands, return a reference to the plan that
    contains all of them instead. shown: whether the answer also shows the plans."""
    by_hand = [step for step in finding.prescription if step.kind == "manual"]
    if len(by_hand) < len(finding.prescription):
        for number, plan in enumerate(outcome.plans, 1):
            if all(step in plan.commands for step in finding.prescription):
                return [f"the steps of plan {number}" if shown else "See the steps of `tfgpu-doctor plan`"]
    return [step.text + (f" ({step.why})" if step.why and shown else "") for step in by_hand]


def _first(findings: Sequence[Finding]) -> str:
    """Return text for the first finding, with its line, and the number of further findings."""
    first = findings[0]
    where = f" ({first.evidence[0]})" if first.evidence[0].line else ""
    return f"{first.code}: {first.title}{where}" + (
        f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    )


def text(outcome: Outcome, *, width: int = 80, colour: bool = False, verbose: bool = False) -> str:
    """Return the plans for a terminal. verbose: show the commands of each plan, and the table rows for each
    reason."""
    lines: list[str] = []
    shown: set[str] = set()
    for finding in outcome.findings:
        title = f"{finding.severity}: {finding.title} [{finding.code}]"
        rows = _wrapped(title, width, "")
        lines += [painted(row, finding.severity) for row in rows] if colour else rows
        lines += _wrapped(finding.explanation, width, "  ")
        lines += [line(f"  seen: {seen}") for seen in _seen(finding)]
        for ref in finding.tables[: None if verbose else 2]:
            lines += _wrapped(f"table: {ref}", width, "  ")
        wanted = cures(finding, outcome)
        if len(wanted) > 1 and shown.issuperset(wanted):
            lines.append(f"  cure: the same {len(wanted)} changes as above")
            wanted = []
        shown.update(wanted)
        for cure in wanted:
            head, *more = block(cure).split("\n")
            lines += _wrapped(f"cure: {head}", width, "  ")
            lines += [f"      {row}" for row in more]
        lines.append("")
    if not outcome.plans:
        lines.append("There is no plan for this platform and request.")
    for number, plan in enumerate(outcome.plans, 1):
        for_cpu = outcome.context.for_cpu
        lines += _plan_text(plan, number, width, for_cpu=for_cpu, colour=colour, verbose=verbose)
        lines.append("")
    if len(outcome.plans) > 1 and not verbose:
        lines.append("-v shows the commands of every plan, and the table rows behind each reason.")
    return "\n".join(lines).rstrip() + "\n"


def _seen(finding: Finding) -> list[str]:
    """Return the evidence for a finding as text, each piece once."""
    texts = (f"{source}{source.text and f': {source.text}'}" for source in finding.evidence)
    return list(dict.fromkeys(texts))


def _plan_text(
    plan: Plan, number: int, width: int, *, for_cpu: bool, colour: bool, verbose: bool
) -> list[str]:
    driver = f"driver from {plan.driver_minimum}" if plan.driver_minimum else ""
    driver += f" to branch R{plan.driver_last}" if driver and plan.driver_last else ""
    versions = [f"Python {plan.python}" if plan.python else "", f"CUDA {plan.cuda}" if plan.cuda else "",
                f"cuDNN {plan.cudnn}" if plan.cudnn else "", driver]  # fmt: skip
    mark = (
        ""
        if number > 1
        else " (the last resort)"
        if plan.route == "cpu" and not for_cpu
        else " (recommended)"
    )
    head = line(f"Plan {number}{mark}: {_in_short(plan)}")
    lines = [
        painted(head, "heading") if colour else head,
        *_wrapped(", ".join(v for v in (*versions, _size(plan)) if v), width, "  "),
    ]
    for at, change in enumerate(plan.changes):
        lines += _wrapped(f"- {change}", width, "           " if at else "  changes: ")
    if number > 1 and not verbose:
        return lines
    rows = {
        row: at for at, row in enumerate(dict.fromkeys(row for _, refs in plan.reasons for row in refs), 1)
    }
    for at, (reason, refs) in enumerate(plan.reasons):
        numbers = f" [{', '.join(str(rows[ref]) for ref in refs)}]" if refs and verbose else ""
        lines += _wrapped(f"- {reason}{numbers}", width, "       " if at else "  why: ")
    for row, at in rows.items() if verbose else ():
        lines += _wrapped(f"[{at}] {row}", width, "        " if at > 1 else "  rows: ")
    return lines + _commands(plan.commands, width, colour=colour)


def _size(plan: Plan) -> str:
    """Return the size of the download and the size on the disk; "" for images and conda's CUDA, because no
    table has their sizes."""
    if plan.candidate.image or plan.candidate.nvidia or plan.candidate.recipe:
        return ""
    disk, wheels = needed_mib(plan)
    return f"about {wheels / 1024:.1f} GiB to download, {disk / 1024:.1f} GiB on disk"


def _commands(steps: Sequence[Step], width: int, *, colour: bool) -> list[str]:
    """Return the steps in a form that can be pasted: each line is a command or a comment."""
    lines = []
    for step in steps:
        by_hand = "" if step.kind == "shell" else f"by hand: {step.text}{': ' if step.why else ''}"
        note = one_line(f"{by_hand}{step.why}") + (" (needs an administrator)" if step.needs_root else "")
        rows = _wrapped(note, width, "  # ", "  # ") if note else []
        lines += [painted(row, "dim") for row in rows] if colour and step.kind == "shell" else rows
        lines += [f"  {block(step.text)}"] if step.kind == "shell" else []
    return lines


def markdown(outcome: Outcome) -> str:
    """The plans for an issue or a note."""
    lines: list[str] = []
    for finding in outcome.findings:
        lines += [f"**{finding.severity}: {finding.title}** (`{finding.code}`)", "", finding.explanation, ""]
        lines += [
            f"- seen: {source}{f': `{source.text}`' if source.text else ''}" for source in finding.evidence
        ]
        fixes = [cure.replace("\n", "\n  - ") for cure in cures(finding, outcome)]
        lines += [f"- fix: {text}" for text in fixes] + [""]
    for number, plan in enumerate(outcome.plans, 1):
        lines += [f"## Plan {number}: {_in_short(plan)}", ""]
        lines += (
            [f"- change: {change}" for change in plan.changes]
            + [f"- why: {reason}" for reason in plan.why]
            + [""]
        )
        steps = [s.text if s.kind == "shell" else comment(f"by hand: {s.text}") for s in plan.commands]
        lines += ["```sh", *steps, "```", ""] if steps else []
    return block("\n".join(lines).rstrip() + "\n")


def _wrapped(words: str, width: int, indent: str, further: str | None = None) -> list[str]:
    """Return a string, wrapped into lines of at most this width. further: the indent of each line after the
    first; by default, two columns more than the first."""
    further = " " * (len(indent) + 2) if further is None else further
    return hanging(block(words), max(40, width), indent, further)
