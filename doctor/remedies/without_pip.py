"""Commands for an environment that has no pip, as uv makes them: `python -m pip` fails there."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from doctor.facts import Package
from doctor.findings import Finding, Step
from doctor.remedies.commands import python_command

if TYPE_CHECKING:
    from doctor.picture import Picture

_PIP = re.compile(r"""(?P<python>"[^"]+"|'[^']+'|\S+) -m pip (?P<what>install|uninstall|list)\b(?P<rest>.*)""")


def lacks_pip(picture: Picture) -> bool:
    """Whether the case is a virtual environment that was read and holds no pip."""
    facts = picture.facts
    if facts.kind != "machine" or "venv" not in picture.environments:
        return False
    packages = facts.of(Package)
    return bool(packages) and not any(package.name == "pip" for package in packages)


def reworded(finding: Finding, picture: Picture) -> Finding:
    """The finding with `uv pip` in place of that environment's `python -m pip`; as it is where pip is there."""
    if not lacks_pip(picture):
        return finding
    python = python_command(picture)
    note = f" (this environment has no pip; without uv: `{python} -m ensurepip`, then `{python} -m pip` in place of `uv pip`)"
    steps: list[Step] = []
    for step in finding.prescription:
        text = _text(step.text, python) if step.kind == "shell" else ""
        steps.append(replace(step, text=text, why=step.why + note) if text else step)
        note = "" if text else note
    return replace(finding, prescription=tuple(steps), verify=_text(finding.verify, python) or finding.verify)


def _text(command: str, python: str) -> str:
    """The command for uv; "" where it is none of that environment's pip."""
    match = _PIP.fullmatch(command)
    if match is None or match["python"] != python:
        return ""
    rest = match["rest"].replace(" -y ", " ").replace(" --force-reinstall", " --reinstall").replace(" --no-cache-dir", " --no-cache")
    return f"uv pip {match['what']} --python {python}{rest}"
