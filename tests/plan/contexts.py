"""Provides shorthands for the tests: a described machine, a version request, and the outcome."""

from __future__ import annotations

from typing import Any

from doctor.plan import Outcome, Plan, PlanContext, VersionRequest, make_plans
from doctor.plan.described import described
from doctor.plan.files import judged_files
from doctor.tables import Tables


def outcome(tables: Tables, tensorflow: str = "", **machine: Any) -> Outcome:
    """Return the plans for a described machine. python, cuda and cudnn are requirements, as on the command
    line."""
    gpu = machine.pop("gpu", None)
    names = [gpu] if isinstance(gpu, str) else gpu
    version_request = VersionRequest(
        tensorflow, machine.get("python"), machine.get("cuda"), machine.get("cudnn")
    )
    system, driver = machine.get("os"), machine.get("driver")
    return make_plans(
        PlanContext(described(tables, gpu=names, os=system, driver=driver), tables, version_request)
    )


def first(found: Outcome) -> Plan:
    """Return the recommended plan."""
    return found.plans[0]


def codes(found: Outcome) -> list[str]:
    """Return the codes of the errors."""
    return [f.code for f in found.findings if f.severity == "error"]


def commands(plan: Plan) -> str:
    """Return all commands of a plan."""
    return "\n".join(step.text for step in plan.commands)


def judged(
    tables: Tables, name: str, text: str, included: dict[str, str | None] | None = None, **machine: str
) -> Outcome:
    """Judge a requirements file. included: the files that it includes. A file with "constraints" in its name
    only constrains."""
    options = {"os": "Ubuntu 22.04", "driver": "535.183.01", **machine}
    facts = described(tables, gpu=["RTX 3080"], **options)  # type: ignore[arg-type]
    version_request = VersionRequest(
        cuda=machine.get("cuda"), cudnn=machine.get("cudnn"), python=machine.get("python")
    )
    more = [(file, words, "constraints" in file) for file, words in (included or {}).items()]
    return judged_files(PlanContext(facts, tables, version_request), {name: text}, {name: more})


def errors(found: Outcome) -> dict[str, int | None]:
    """Return the code and line of each error."""
    return {f.code: f.evidence[0].line for f in found.findings if f.severity == "error"}


def left_out(found: Outcome) -> list[int | None]:
    """Return the lines that the outcome lists as not examined."""
    return [f.evidence[0].line for f in found.unexamined]
