"""Plans for people and programs: JSON, text, Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from doctor import __version__
from doctor.findings import Step
from doctor.install.space import needed_mib
from doctor.plan import Outcome, Plan
from doctor.render.document import facts_document, finding_document, step_document

ROUTE_NAMES = {
    "pip-and-cuda": "by pip, with CUDA and cuDNN from pip",
    "pip-system-cuda": "by pip, with the CUDA that is installed",
    "conda": "in a conda environment",
    "docker": "in the official image",
    "wsl2": "under WSL2",
    "cpu": "on the CPU only",
}


def document(outcome: Outcome) -> dict[str, Any]:
    """The promised JSON (schema 1)."""
    ground = outcome.ground
    wish = ground.wish
    asked = {"tensorflow": wish.tensorflow, "python": wish.python, "cuda": wish.cuda, "cudnn": wish.cudnn}
    return {
        "schema": 1,
        "tool": {"name": "tfgpu-doctor", "version": __version__, "tables": ground.tables.date},
        "wish": {key: value for key, value in asked.items() if value},
        "machine": facts_document(ground.picture),
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


def gate_line(outcome: Outcome) -> str:
    """One line for CI: ok or not, and why."""
    best = next((p for p in outcome.plans if p.route != "cpu"), None)
    if outcome.works and best is not None:
        doubt = next((f for f in outcome.findings if f.severity == "warning" and f.code != "gpu-absent"), None)
        words = f"ok: tensorflow {best.tensorflow} by {best.route}" + (f", Python {best.python}" if best.python else "")
        return words + (f"; warning: {doubt.code}: {doubt.title}" if doubt else "")
    errors = [f for f in outcome.findings if f.severity == "error"]
    why = f"{errors[0].code}: {errors[0].title}" if errors else "no way to TensorFlow with a GPU"
    why += f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"not ok: {why}" + (f"; nearest: tensorflow {best.tensorflow} by {best.route}" if best else "")


def text(outcome: Outcome, *, width: int = 80, colour: bool = False, verbose: bool = False) -> str:
    """For a terminal. verbose: the commands of every plan, and the rows behind each reason."""
    paint = _Paint(colour)
    lines: list[str] = []
    for finding in outcome.findings:
        mark = {"error": "31;1", "warning": "33;1", "info": "36"}[finding.severity]
        title = f"{finding.severity}: {finding.title} [{finding.code}]"
        lines += [paint(line, mark) for line in _wrapped(title, width, "")]
        lines += _wrapped(finding.explanation, width, "  ")
        lines += [
            f"  seen: {source}: {source.text}" if source.text else f"  seen: {source}" for source in finding.evidence
        ]
        lines += [
            line for ref in finding.tables[: None if verbose else 2] for line in _wrapped(f"table: {ref}", width, "  ")
        ]
        lines.append("")
    if not outcome.plans:
        return "\n".join([*lines, "There is no plan for this platform."])
    for number, plan in enumerate(outcome.plans, 1):
        lines += _plan_text(plan, number, width, paint, verbose=verbose)
        lines.append("")
    if len(outcome.plans) > 1 and not verbose:
        lines.append("-v shows the commands of every plan, and the table rows behind each reason.")
    return "\n".join(lines).rstrip() + "\n"


def _plan_text(plan: Plan, number: int, width: int, paint: _Paint, *, verbose: bool) -> list[str]:
    driver = f"driver from {plan.driver_minimum}" if plan.driver_minimum else ""
    driver += f" to branch R{plan.driver_last}" if driver and plan.driver_last else ""
    versions = [f"Python {plan.python}" if plan.python else "", f"CUDA {plan.cuda}" if plan.cuda else "",
                f"cuDNN {plan.cudnn}" if plan.cudnn else "", driver]  # fmt: skip
    mark = "" if number > 1 else " (the last resort)" if plan.route == "cpu" else " (recommended)"
    head = f"Plan {number}{mark}: {plan.package} {plan.tensorflow} {ROUTE_NAMES[plan.route]}"
    lines = [paint(head, "1"), *_wrapped(", ".join(v for v in (*versions, _size(plan)) if v), width, "  ")]
    for at, change in enumerate(plan.changes):
        lines += _wrapped(f"- {change}", width, "           " if at else "  changes: ")
    if number > 1 and not verbose:
        return lines
    rows = {row: at for at, row in enumerate(dict.fromkeys(row for _, refs in plan.reasons for row in refs), 1)}
    for at, (reason, refs) in enumerate(plan.reasons):
        numbers = f" [{', '.join(str(rows[ref]) for ref in refs)}]" if refs and verbose else ""
        lines += _wrapped(f"- {reason}{numbers}", width, "       " if at else "  why: ")
    for row, at in rows.items() if verbose else ():
        lines += _wrapped(f"[{at}] {row}", width, "        " if at > 1 else "  rows: ")
    return lines + _commands(plan.commands, width, paint)


def _size(plan: Plan) -> str:
    """What pip brings down and what it takes on disk; "" for an image and conda's CUDA, whose sizes no table has."""
    if plan.route == "docker" or plan.candidate.recipe:
        return ""
    disk, wheels = needed_mib(plan)
    return f"about {wheels / 1024:.1f} GiB to download, {disk / 1024:.1f} GiB on disk"


def _commands(steps: Sequence[Step], width: int, paint: _Paint) -> list[str]:
    """To be pasted as they stand: all that is no command is a comment, on each of its lines."""
    lines = []
    for step in steps:
        by_hand = "" if step.kind == "shell" else f"by hand: {step.text}{': ' if step.why else ''}"
        note = f"{by_hand}{step.why}" + (" (needs an administrator)" if step.needs_root else "")
        lines += [paint(line, "2" if step.kind == "shell" else "") for line in _wrapped(note, width, "  # ", "  # ")] if note else []
        lines += [f"  {step.text}"] if step.kind == "shell" else []
    return lines


def markdown(outcome: Outcome) -> str:
    """For an issue or a note."""
    lines: list[str] = []
    for finding in outcome.findings:
        lines += [f"**{finding.severity}: {finding.title}** (`{finding.code}`)", "", finding.explanation, ""]
        lines += [f"- seen: {source}{f': `{source.text}`' if source.text else ''}" for source in finding.evidence] + [""]
    for number, plan in enumerate(outcome.plans, 1):
        lines += [f"## Plan {number}: {plan.package} {plan.tensorflow} {ROUTE_NAMES[plan.route]}", ""]
        lines += [f"- change: {change}" for change in plan.changes] + [f"- why: {reason}" for reason in plan.why] + [""]
        steps = [s.text if s.kind == "shell" else f"# by hand: {s.text}" for s in plan.commands]
        lines += ["```sh", *steps, "```", ""] if steps else []
    return "\n".join(lines).rstrip() + "\n"


def _wrapped(words: str, width: int, indent: str, further: str | None = None) -> list[str]:
    """Lines of a width. further: what each line after the first starts with, by default two columns more than the first."""
    return textwrap.wrap(
        words, max(40, width), initial_indent=indent,
        subsequent_indent=" " * (len(indent) + 2) if further is None else further,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


class _Paint:
    """Colour, or none."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, words: str, mark: str) -> str:
        return f"\x1b[{mark}m{words}\x1b[0m" if self.on and mark else words
