"""Shorthand for the tests: a described machine, a wish, and the outcome."""

from __future__ import annotations

from typing import Any

from doctor.plan import Ground, Outcome, Plan, Wish, make_plans
from doctor.plan.described import described
from doctor.tables import Tables


def outcome(tables: Tables, tensorflow: str = "", **machine: Any) -> Outcome:
    """The plans for a described machine; python, cuda and cudnn are demands, as on the command line."""
    gpu = machine.pop("gpu", None)
    names = [gpu] if isinstance(gpu, str) else gpu
    wish = Wish(tensorflow, machine.get("python"), machine.get("cuda"), machine.get("cudnn"))
    system, driver = machine.get("os"), machine.get("driver")
    return make_plans(Ground(described(tables, gpu=names, os=system, driver=driver), tables, wish))


def first(found: Outcome) -> Plan:
    """The recommended plan."""
    return found.plans[0]


def codes(found: Outcome) -> list[str]:
    """The codes of the errors."""
    return [f.code for f in found.findings if f.severity == "error"]


def commands(plan: Plan) -> str:
    """All commands of a plan."""
    return "\n".join(step.text for step in plan.commands)
