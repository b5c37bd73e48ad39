"""Tests `diagnose`: all rules run, one cause gives one finding, the verdict comes first, and no rule can
suppress the other rules."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from doctor.case import Case
from doctor.diagnose import CALM, diagnose, fitting, merged
from doctor.errors import DefectError
from doctor.facts import Facts, Source, Symptom
from doctor.findings import CONFIDENCES, SEVERITIES, Finding, Step, manual, shell
from doctor.logs import read
from doctor.rules import ORDER, Rule, all_rules
from doctor.shell import Literal
from doctor.tables import Tables
from doctor.tables.store import TableError
from tests.rules.cases import FIRES
from tests.rules.situation import Fires, diagnosed
from tests.rules.spelling import created, cudnn_failed, form, log, refused, skipped
from tests.sampling import each, sampled

RULES = {rule.code: rule for rule in all_rules()}
HERE = Source("report", 1, "a line")


def finding(
    code: str,
    severity: str = "error",
    confidence: str = "certain",
    line: int = 1,
    steps: tuple[Step, ...] = (),
) -> Finding:
    return Finding(
        code,
        severity,
        code,
        "because",
        (Source("report", line, f"line {line}"),),
        (),
        steps,
        "nvidia-smi",
        confidence,
    )


def codes(findings: list[Finding]) -> list[str]:
    return [f.code for f in findings]


@each("case", FIRES, ids=lambda case: f"{case.code}: {case.situation}")
def test_the_order_of_facts_does_not_change_the_codes(case: Fires, tables: Tables) -> None:
    expected = diagnosed(case.text)
    facts = expected.facts
    shuffler = random.Random(case.text)
    for _ in range(3):
        items = list(facts.items)
        shuffler.shuffle(items)
        shuffled = diagnose(Facts(tuple(items), facts.kind, facts.name, facts.lines), tables)
        assert shuffled.verdict.code == expected.verdict.code
        assert {f.code for f in shuffled.findings} == {f.code for f in expected.findings}


@pytest.mark.parametrize("part", sampled(range(8), 1))
def test_findings_are_in_the_order_in_which_to_act(part: int) -> None:
    for case in FIRES[part::8]:
        findings = diagnosed(case.text).findings
        ranks = [
            (SEVERITIES.index(f.severity), CONFIDENCES.index(f.confidence), ORDER.index(f.code))
            for f in findings
        ]
        assert ranks[1:] == sorted(ranks[1:]), case  # the first cause is the likeliest
        assert len(set(codes(list(findings)))) == len(findings), case
        assert all(f.evidence for f in findings), case


@pytest.mark.parametrize(
    "text", ["x\n", "hello, nothing is wrong here\n", "Epoch 1/10\n", "{}\n", "🙂\n", "nvidia-smi\n"]
)
def test_there_is_always_a_verdict(text: str) -> None:
    diagnosis = diagnosed(text)
    assert diagnosis.findings
    assert diagnosis.verdict.code in (*CALM, "undetermined")


def test_no_facts_are_undetermined_with_a_command_to_run(tables: Tables) -> None:
    diagnosis = diagnose(Facts((), "report", "-", 0), tables)
    assert [f.code for f in diagnosis.findings] == ["undetermined"]
    assert diagnosis.verdict.prescription
    assert diagnosis.verdict.evidence


FAULTS = [ZeroDivisionError("two"), OSError(5, "no disk"), TableError("a table is missing"), KeyError("x")]


@pytest.mark.parametrize("problem", FAULTS, ids=repr)
def test_there_is_no_verdict_if_a_rule_failed(tables: Tables, problem: Exception) -> None:
    def broken(picture: Case) -> Iterator[Finding]:
        raise problem
        yield

    text = log(
        "2.4.0", form(system="Ubuntu 20.04", tensorflow="2.4.0"), refused("libcudart.so.11.0"), skipped
    )
    rules = [
        replace(RULES["gpu-absent"], judge=broken, needs=()),
        *(r for r in all_rules() if r.code != "gpu-absent"),
    ]
    with pytest.raises(
        DefectError, match=f"the rule gpu-absent failed: {type(problem).__name__}: .*"
    ) as caught:
        diagnose(read(text.encode(), "report"), tables, rules)
    assert caught.value.__cause__ is problem


def test_a_rule_without_its_needs_is_listed_as_skipped(tables: Tables) -> None:
    diagnosis = diagnose(Facts((Symptom(HERE, "nan-results"),), "report", "-", 1), tables)
    assert "nccl-failure" in {s.code for s in diagnosis.skipped}
    assert all(s.reason for s in diagnosis.skipped)


def test_two_findings_with_one_code_are_merged_with_their_evidence() -> None:
    result = merged([finding("cuda-missing", line=3), finding("cuda-missing", line=9)], RULES)
    assert codes(result) == ["cuda-missing"]
    assert [s.line for s in result[0].evidence] == [3, 9]


def test_a_consequence_is_folded_into_its_cause() -> None:
    assert "device-not-found" in RULES["cuda-missing"].explains
    result = merged([finding("device-not-found"), finding("cuda-missing")], RULES)
    assert codes(result) == ["cuda-missing"]
    assert result[0].consequences == ("device-not-found: device-not-found",)


def test_of_two_causes_that_explain_each_other_one_stays() -> None:
    assert "gpu-absent" in RULES["driver-not-loaded"].explains
    assert "driver-not-loaded" in RULES["gpu-absent"].explains
    both = [finding("gpu-absent"), finding("driver-not-loaded"), finding("model-oom")]
    assert codes(merged(both, RULES)) == ["driver-not-loaded", "model-oom"]
    hidden = [*both, finding("container-no-gpu")]
    assert codes(merged(hidden, RULES)) == ["container-no-gpu", "model-oom"]


def test_a_possible_cause_explains_no_certain_finding() -> None:
    result = merged([finding("device-not-found"), finding("cuda-missing", confidence="possible")], RULES)
    assert codes(result) == ["device-not-found", "cuda-missing"]


def test_errors_come_before_warnings_and_likely_before_possible() -> None:
    result = merged(
        [
            finding("host-oom", "warning"),
            finding("nccl-failure", confidence="possible"),
            finding("tf-api-version", confidence="likely"),
        ],
        RULES,
    )
    assert codes(result) == ["tf-api-version", "nccl-failure", "host-oom"]


def test_merging_any_two_codes_leaves_a_finding(tables: Tables) -> None:
    for first in ORDER:
        for second in ORDER:
            result = merged([finding(first), finding(second)], RULES)
            assert result, (first, second)
            assert codes(result) == codes(merged([finding(second), finding(first)], RULES))


def test_an_unrelated_second_fault_is_a_separate_finding() -> None:
    text = (
        log("2.3.0", created("GeForce RTX 2060", "7.5", 4900), cudnn_failed("CUDNN_STATUS_INTERNAL_ERROR"))
        + "ModuleNotFoundError: No module named 'tensorflow.contrib'\n"
    )
    assert {"cudnn-init-oom", "tf-api-version"} <= {f.code for f in diagnosed(text).findings}


def test_steps_for_another_platform_are_left_out_if_others_remain() -> None:
    steps = (shell(Literal("sudo reboot"), platform="linux"), manual("Restart the machine"))
    on_windows = fitting(finding("gpu-bad-state", steps=steps), "windows")
    assert [s.text for s in on_windows.prescription] == ["Restart the machine"]
    assert len(fitting(finding("gpu-bad-state", steps=steps), "linux").prescription) == 2
    assert len(fitting(finding("gpu-bad-state", steps=steps), None).prescription) == 2
    assert (
        fitting(finding("gpu-bad-state", steps=steps[:1]), "windows").prescription == steps[:1]
    )  # the platform is in doubt


def test_all_rules_are_registered() -> None:
    assert {rule.code for rule in all_rules()} == set(ORDER)
    assert all(isinstance(rule, Rule) for rule in all_rules())


def test_a_message_counts_more_than_a_suspicion() -> None:
    suspicion = "The CUDA version does not go with TensorFlow, I think.\n"
    failure = (
        "Could not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object"
        " file\n"
    )
    beside = [f.code for f in diagnosed("TensorFlow 2.9.1\n" + suspicion + failure).findings]
    assert beside == ["cudnn-missing"]
