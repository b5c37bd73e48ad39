"""Tests that the trace says for every code why it was or was not chosen, and that it agrees with the
verdict."""

from __future__ import annotations

import json
import re

import pytest

from doctor.judge.weights import WEIGHTS
from doctor.logs import read
from doctor.rules import all_rules
from doctor.tables import Tables
from doctor.trace import trace
from tests.conftest import ROOT
from tests.in_process import called_as_text
from tests.rules.cases import FIRES
from tests.rules.situation import Fires

LOG = """\
2024-05-01 10:00:00.000001: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load \
dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open \
shared object file: No such file or directory
2024-05-01 10:00:00.000002: I tensorflow/stream_executor/platform/default/dso_loader.cc:49] Successfully \
opened dynamic library libcudart.so.11.0
"""


@pytest.mark.parametrize("case", FIRES[::29], ids=lambda case: f"{case.code}: {case.situation}")
def test_every_code_has_a_row_and_one_cause_is_the_verdict(tables: Tables, case: Fires) -> None:
    rows = trace(read(case.text.encode(), "-"), tables)
    rules = [row for row in rows if row.stage == "rule"]
    assert {row.code for row in rules} == {rule.code for rule in all_rules()}
    assert len([row for row in rows if row.stage == "rank" and row.outcome.endswith("the verdict")]) <= 1


def test_a_rule_that_found_something_names_the_lines(tables: Tables) -> None:
    rows = trace(read(LOG.encode(), "a.log"), tables)
    fired = next(row for row in rows if row.stage == "rule" and row.code == "cudnn-missing")
    assert fired.outcome.startswith("found, error")
    assert "; in doctor/rules/libraries/cudnn_missing.py; tables: libcudnn.so.8: " in fired.outcome
    assert fired.lines[0] == "a.log:1"
    silent = next(row for row in rows if row.stage == "rule" and row.code == "gpu-renumbered")
    assert "not considered" in silent.outcome or "found nothing" in silent.outcome


def test_a_part_names_its_lines_its_table_row_and_its_module(tables: Tables) -> None:
    text = "cudatoolkit 11.8.0 h6a678d5_0\ntensorflow 2.15.0 pypi_0 pypi\nthe GPU is not used\n"
    rows = trace(read(text.encode(), "a.log"), tables)
    (cuda,) = [row for row in rows if (row.stage, row.code) == ("part", "cuda")]
    assert cuda.outcome.startswith("has 11.8.0; needs CUDA 12.2: does not fit, because ")
    assert "tensorflow 2.15.0 linux-x86_64: " in cuda.outcome
    assert cuda.outcome.endswith("; in doctor/judge/libraries.py)")
    assert cuda.lines == ("a.log:1",)


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_explain_shows_it(form: str) -> None:
    done = called_as_text("explain", "-", "--trace", "--format", form, input=LOG.encode())
    assert done.returncode == 1
    if form == "json":
        assert {row["stage"] for row in json.loads(done.stdout)["trace"]} >= {"rule", "rank"}
    else:
        assert "rule cudnn-missing: found, error" in done.stdout
        shown = done.stdout.partition("How the verdict came about")[2]
        assert max(map(len, shown.splitlines())) <= 100, "wrapped"
        assert "natural logarithm" in done.stdout, "the unit of the weights must be explained"


def test_every_sign_is_in_the_table_of_signs() -> None:
    """The names in the table have placeholders: X, CODE, K and three dots."""
    page = (ROOT / "docs" / "how-it-judges.md").read_text(encoding="utf-8")
    table = page.partition("| sign | meaning |")[2].partition("\n\n")[0]
    named = re.findall(r"`([^`]+)`", table)
    forms = [re.sub(r"X|CODE|K|\\\.\\\.\\\.", ".+", re.escape(name)) for name in named]
    whole = re.compile(f"(?:{'|'.join(forms)})(?:(?:,| in| inferred) ?.*)?")
    assert [name for name in WEIGHTS if not whole.fullmatch(name)] == []
