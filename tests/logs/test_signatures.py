"""Tests each signature with its own example."""

from __future__ import annotations

import re

from doctor.facts import Fact
from doctor.logs.cleaning import split
from doctor.logs.parse import parse
from doctor.logs.signatures import catalogue
from doctor.logs.text import Text


def test_example_makes_a_fact() -> None:
    for number, signature in enumerate(catalogue()):
        facts = parse(Text.of("example", split(signature.example), 1), [signature])
        why = "its example makes no fact: its pattern must match, and a literal (in lower case) must be in it"
        assert facts, (number, signature.kind, signature.example, why)
        assert all(isinstance(f, Fact) and f.source.where == "example" and f.source.line for f in facts), (
            number,
            signature.kind,
        )


def test_pattern_spans_no_more_lines_than_it_says() -> None:
    for signature in catalogue():
        match = re.search(signature.pattern, signature.example, re.I)
        assert match is not None, signature
        assert match[0].count("\n") < max(signature.lines, 1) or signature.lines == 1, signature
