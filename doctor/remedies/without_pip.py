"""Commands for an environment without pip, in which `python -m pip` fails; uv creates such environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.facts import Package
from doctor.findings import Finding, Step, shell
from doctor.remedies.commands import python_command
from doctor.shell import Line, Word, argv, run
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.case import Case

_OPTIONS = {"--force-reinstall": "--reinstall", "--no-cache-dir": "--no-cache", "-y": None}
"""A mapping from pip's options to their names in uv, if these differ; to None if uv has no such option."""


def lacks_pip(case: Case) -> bool:
    """Whether the case is about a virtual environment that was examined and contains no pip."""
    facts = case.facts
    if facts.kind != "machine" or "venv" not in case.environments:
        return False
    packages = facts.of(Package)
    return bool(packages) and not any(package.name == "pip" for package in packages)


def reworded(finding: Finding, case: Case) -> Finding:
    """The finding with `uv pip` in place of the environment's `python -m pip`; unchanged unless the
    environment lacks pip."""
    if not lacks_pip(case):
        return finding
    python = python_command(case)
    ensure = shell(run(*python, "-m", "ensurepip")).on(case.platform)
    own = shell(run(*python, "-m", "pip")).on(case.platform)
    note = " (this environment has no pip"
    if own.kind == "shell":
        note += f"; without uv, run `{ensure.text}`, then use `{own.text}` in place of `uv pip`"
    note += ")"
    steps: list[Step] = []
    for step in finding.prescription:
        changed = _with_uv(step, python)
        steps.append(replace(changed, why=step.why + note) if changed else step)
        note = "" if changed else note
    proof = _with_uv(finding.proof, python) if finding.proof else None
    return replace(finding, prescription=tuple(steps), proof=proof or finding.proof)


def _with_uv(step: Step, python: Sequence[Word]) -> Step | None:
    """The step with uv; None if the step does not use the environment's pip."""
    command = _uv(step.command, python)
    return shell(command, step.why, platform=step.platform, root=step.needs_root) if command else None


def _uv(line: Line | None, python: Sequence[Word]) -> Line | None:
    words = argv(line)
    start = (*python, "-m", "pip")
    if words[: len(start)] != start:
        return None
    what, *rest = words[len(start) :]
    if what not in ("install", "uninstall", "list"):
        return None
    kept = [_OPTIONS.get(word, word) if isinstance(word, str) else word for word in rest]
    return run("uv", "pip", what, "--python", *python, *(word for word in kept if word is not None))
