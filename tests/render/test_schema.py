"""Tests that every output conforms to the JSON Schema."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from doctor.diagnose import diagnose
from doctor.logs import read
from doctor.logs.signatures import catalogue
from doctor.render.document import document
from doctor.tables import Tables
from tests.sampling import sampled

ROOT = Path(__file__).resolve().parent.parent.parent
SCHEMA = json.loads((ROOT / "doctor/render/schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
LOGS = sorted({path.stem: path for path in sorted((ROOT / "tests/data/logs").rglob("*.log"))}.values())
"""One recorded log for each case."""


def test_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("log", sampled(LOGS, 18), ids=lambda p: "/".join(p.parts[-3:]))
def test_json_for_a_recorded_log_follows_the_schema(log: Path, tables: Tables) -> None:
    result = document(diagnose(read(log.read_bytes(), log.name), tables), tables)
    VALIDATOR.validate(json.loads(json.dumps(result)))


@pytest.mark.parametrize("part", sampled(range(8), 1))
def test_json_for_every_signatures_example_follows_the_schema(part: int, tables: Tables) -> None:
    for signature in catalogue()[part::8]:
        result = document(diagnose(read(signature.example.encode(), "example"), tables), tables)
        VALIDATOR.validate(json.loads(json.dumps(result)))


def test_json_of_check_follows_the_schema(cli: Callable[..., subprocess.CompletedProcess[bytes]]) -> None:
    run = cli("check", "--format", "json")
    assert run.returncode in (0, 1), run.stderr
    VALIDATOR.validate(json.loads(run.stdout))


def test_explain_prints_one_json_object_per_line_for_several_reports(
    cli: Callable[..., subprocess.CompletedProcess[bytes]], tmp_path: Path
) -> None:
    names = []
    for i in range(3):
        path = tmp_path / f"{i}.txt"
        path.write_text("nvidia-smi: command not found\n", encoding="utf-8")
        names.append(str(path))
    run = cli("explain", "--format", "json", *names)
    lines = run.stdout.decode().splitlines()
    assert [json.loads(line)["source"]["name"] for line in lines] == names
    for line in lines:
        VALIDATOR.validate(json.loads(line))
