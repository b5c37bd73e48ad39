"""Tests the sentences that explain a cause which only a report's sentences suggest."""

from __future__ import annotations

from doctor import api
from doctor.rules import ORDER, rule_of


def test_every_code_says_what_it_means_in_whole_sentences() -> None:
    for code in ORDER:
        meaning = rule_of(code).meaning
        assert meaning.endswith("."), code
        assert len(meaning) < 420, code


def test_a_suggested_cause_is_explained() -> None:
    text = "TensorFlow runs only on the CPU, my GPU is not used. What is wrong with my installation of it?"
    verdict = api.explain(text).verdict
    assert verdict.code not in ("healthy", "undetermined")
    assert rule_of(verdict.code).meaning in verdict.explanation
    assert "No program's message proves this" in verdict.explanation


def test_nothing_is_claimed_about_a_gpu_that_no_program_shows() -> None:
    verdict = api.explain("How do I choose between TensorFlow and PyTorch for a course on GPUs?").verdict
    assert "created the device" not in verdict.explanation
