"""Tests which Python version a plan uses: one that requires-python allows, and for which there are wheels."""

from __future__ import annotations

import pytest

from doctor.facts import Facts, OperatingSystem, PythonVersion, Source, Symptom
from doctor.plan.context import PlanContext
from doctor.plan.specifiers import together
from doctor.plan.version_request import VersionRequest
from doctor.tables import Tables
from tests.plan.contexts import errors, judged

PROJECT = '[project]\nrequires-python = "{pythons}"\ndependencies = ["tensorflow[and-cuda]{spec}"]\n'


@pytest.mark.parametrize(("pythons", "spec", "code"), [
    (">=3.12", "==2.15.*", {"tf-no-wheel": 3}),
    (">=3.9,<3.11", "", {}),
    (">=3.12", ">=2.16", {}),
    (">=3.8,<3.9", "==2.16.*", {"tf-no-wheel": 3}),
])  # fmt: skip
def test_plans_keep_within_requires_python(
    tables: Tables, pythons: str, spec: str, code: dict[str, int]
) -> None:
    found = judged(tables, "pyproject.toml", PROJECT.format(pythons=pythons, spec=spec))
    assert errors(found) == code
    assert found.plans
    for plan in found.plans:
        fit = [plan.python] if plan.python else plan.candidate.build.pythons
        assert all(together(pythons, f"=={python}.*") for python in fit), plan.changes


def test_python_that_no_release_supports_gets_no_plan(tables: Tables) -> None:
    found = judged(tables, "pyproject.toml", PROJECT.format(pythons=">=3.40", spec=""))
    assert errors(found) == {"tf-no-wheel": 3}
    assert found.plans == ()


def test_plans_do_not_use_a_python_without_wheels(tables: Tables) -> None:
    here = Source("/opt/venv/bin/python")
    seen = (
        OperatingSystem(here, "Ubuntu 24.04"),
        PythonVersion(here, "3.13.3"),
        Symptom(here, "python-without-wheels", (("build", "the free-threaded build of CPython"),)),
    )
    context = PlanContext(Facts(seen, "machine", "here"), tables, VersionRequest())
    assert context.python == context.own_python == "3.12"  # Ubuntu's own
