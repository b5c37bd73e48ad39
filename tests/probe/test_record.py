"""Tests saving a machine's facts to a file: reading the file gives the same facts, and nothing in the file is
trusted."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import doctor.facts as vocabulary
from doctor.diagnose import diagnose
from doctor.facts import Fact, Facts, Gpu, Source
from doctor.probe import record
from doctor.redact import Redactor
from doctor.tables import Tables
from tests.probe.machines import Folder
from tests.probe.test_verdicts import FAULTS
from tests.sampling import each, examples

TYPES = sorted(
    (
        kind
        for kind in vars(vocabulary).values()
        if isinstance(kind, type) and issubclass(kind, Fact) and kind is not Fact
    ),
    key=lambda kind: kind.__name__,
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@st.composite
def any_fact(draw: st.DrawFn) -> Fact:
    """A strategy for facts of any type, with values that have the types of their fields."""
    kind = draw(st.sampled_from(TYPES))
    values: dict[str, object] = {
        "source": Source(draw(TEXT), draw(st.none() | st.integers(1, 10**6)), draw(TEXT))
    }
    for field in dataclasses.fields(kind):
        if field.name == "source":
            continue
        hint = record._kinds(kind)[field.name]
        if "tuple[int" in hint:
            value: object = tuple(draw(st.lists(st.integers(1, 10**6), max_size=3)))
        elif "tuple" in hint:
            value = tuple(
                draw(st.lists(st.tuples(TEXT, TEXT) if "tuple[tuple" in hint else TEXT, max_size=3))
            )
        elif "bool" in hint:
            value = draw(st.booleans())
        elif "float" in hint:
            value = draw(st.floats(0, 1))
        elif "int" in hint:
            value = draw(st.integers(-1, 10**9))
        elif "float" in hint:
            value = draw(st.floats(0, 1))
        elif field.name == "compute_capability":
            value = f"{draw(st.integers(1, 12))}.{draw(st.integers(0, 9))}"
        else:
            value = ("1." if field.name == "version" else "") + draw(TEXT)
        if "None" in hint and draw(st.booleans()):
            value = None
        values[field.name] = value
    return kind(**values)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(any_fact(), max_size=8))
def test_a_record_is_read_back_unchanged(facts: list[Fact]) -> None:
    written = Facts(tuple(facts), "machine", "here")
    again = record.from_record(json.loads(json.dumps(record.to_record(written, "1", "2026-01-01"))))
    assert again == written


@pytest.mark.parametrize(
    "name", ["no_driver", "cudnn_truncated", "wheels_that_2_16_1_does_not_find", "numpy_2_with_2_15"]
)
def test_a_saved_machine_gets_the_same_findings_elsewhere(name: str, tmp_path: Path) -> None:
    facts = FAULTS[name][1](Folder(tmp_path / "machine")).facts()
    file = tmp_path / "machine.json"
    file.write_text(record.as_text(record.to_record(facts, "1", "2026-01-01")), encoding="utf-8")
    here = diagnose(facts, Tables.bundled())
    there = diagnose(record.load(str(file)), Tables.bundled())
    assert there.findings == here.findings


def test_redaction_keeps_the_verdict(tmp_path: Path) -> None:
    machine = (
        Folder(tmp_path / "machine").working_gpu().python(prefix="/home/alice/venv").tensorflow("2.16.1")
    )
    facts = machine.cuda_wheels("12.2").cudnn_wheel("8.9.7.29").facts()
    kept = Redactor("alice", "alice-laptop", "/home/alice").tree(record.to_record(facts, "1", "2026-01-01"))
    assert "alice" not in json.dumps(kept)
    again = diagnose(record.from_record(kept), Tables.bundled())
    assert again.verdict.code == diagnose(facts, Tables.bundled()).verdict.code == "library-path"


@each(
    "value",
    [
        None,
        [],
        {"kind": "something else"},
        {"kind": record.KIND, "schema": 99, "facts": []},
        {"kind": record.KIND, "schema": 1, "facts": "many"},
        {"kind": record.KIND, "schema": 1, "facts": [{"fact": "Gpu"}]},
        {"kind": record.KIND, "schema": 1, "facts": [{"fact": "LibraryNotLoaded", "source": {"where": "x"}}]},
        {
            "kind": record.KIND,
            "schema": 1,
            "facts": [{"fact": "Gpu", "source": {"where": "x"}, "name": {"a": 1}}],
        },
    ],
)
def test_a_file_that_is_not_a_record_is_refused(value: object) -> None:
    with pytest.raises(record.NotRecordError):
        record.from_record(value)


def test_a_fact_of_a_later_version_is_left_out() -> None:
    listed = [
        {"fact": "NotYetKnown", "source": {"where": "x"}},
        {"fact": "Gpu", "source": {"where": "y"}, "name": "GPU"},
    ]
    facts = record.from_record({"kind": record.KIND, "schema": 1, "facts": listed})
    assert [type(fact) for fact in facts] == [Gpu]


def test_names_that_are_not_fact_types_are_not_called() -> None:
    listed = [
        {"fact": name, "source": {"where": "x"}} for name in ("Facts", "dataclass", "__builtins__", "Source")
    ]
    assert record.from_record({"kind": record.KIND, "schema": 1, "facts": listed}).items == ()


# --- redaction


def test_names_hosts_tokens_and_uuids_are_removed_and_the_rest_stays() -> None:
    redact = Redactor("bob", "bobs-box.example.org", "/home/bob")
    text = (
        "/home/bob/venv /home/carol/x C:\\Users\\Dave\\y bob@bobs-box: ghp_0123456789abcdefghijABCDEFGHIJ "
        "password=hunter2 cuDNN 9.3.0.75 GPU-12345678-1234-1234-1234-123456789abc https://u:p@host/x"
    )
    assert redact(text) == (
        "~/venv /home/USER/x C:\\Users\\USER\\y USER@HOST: REDACTED "
        "password=REDACTED cuDNN 9.3.0.75 GPU-00000001-0000-0000-0000-000000000000 https://host/x"
    )


def test_equal_uuids_stay_equal_and_others_differ() -> None:
    redact = Redactor()
    one, two = "GPU-12345678-1234-1234-1234-123456789abc", "GPU-aaaaaaaa-1234-1234-1234-123456789abc"
    first = redact(f"{one} {two} {one}").split()
    assert first[0] == first[2] != first[1]


def test_keys_are_never_changed() -> None:
    assert Redactor("jane", "", "").tree({"jane": "jane"}) == {"jane": "USER"}
