"""Replaces a step that installs a release without a wheel for the case's Python version. The new steps also
install a Python version for which the release has a wheel."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.findings import Finding, Step
from doctor.values import replace

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.tables import TensorFlowRelease

_INSTALLS = lazy.compile(
    r"\bpip install\b[^\n]{0,80}?\btensorflow(?:-gpu)?(?:\[and-cuda\])?==(?P<version>\d+(?:\.\d+){1,2})"
    r"|^(?:Or i|I)nstall TensorFlow (?P<by_hand>\d+\.\d+\.\d+)"
)
_ELSEWHERE = lazy.compile(r"\bvenv\b|\bconda create\b|\bdocker run\b|\bsingularity\b|\bwsl --install\b")
"""Matches a step that does not use the case's Python interpreter."""


def with_its_python(finding: Finding, case: Case) -> Finding:
    """Return the finding. A step that installs a release without a wheel for the case's Python version is
    replaced by steps that create a new environment, unless another step already creates one."""
    steps = finding.prescription
    if case.python is None or any(_ELSEWHERE.search(step.text) for step in steps):
        return finding
    for i, step in enumerate(steps):
        release = _without_wheel(step, case)
        if release is None:
            continue
        from doctor.rules.tensorflow.available import environment

        cure = environment(case, release)
        made = [*cure.steps]
        if step.why:
            made[0] = replace(made[0], why=f"{step.why}; {made[0].why}")
        proof = finding.proof and replace(finding.proof, command=cure.lists_gpus(case))
        return replace(finding, prescription=(*steps[:i], *made, *steps[i + 1 :]), proof=proof)
    return finding


def _without_wheel(step: Step, case: Case) -> TensorFlowRelease | None:
    """Return the release that a step installs, if it has wheels but none for the case's Python version; else
    None."""
    named = _INSTALLS.search(step.text)
    if named is None or case.python is None:
        return None
    row = case.tables.tensorflow(named["version"] or named["by_hand"], None, case.table_platform)
    python = re.match(r"\d+\.\d+", case.python.version)
    return row if row is not None and row.pythons and python and python[0] not in row.pythons else None
