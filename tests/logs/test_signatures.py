"""Each signature is held to its own example."""

from __future__ import annotations

import re

import pytest

from doctor.facts import Fact
from doctor.logs.parse import parse
from doctor.logs.signatures import Signature, catalogue
from doctor.logs.text import Text, split

CATALOGUE = catalogue()


def _id(signature: Signature) -> str:
    return f"{signature.kind}-{CATALOGUE.index(signature)}"


@pytest.mark.parametrize("signature", CATALOGUE, ids=_id)
def test_example_makes_a_fact(signature: Signature) -> None:
    facts = parse(Text.of("example", split(signature.example), 1), [signature])
    assert facts
    assert all(isinstance(f, Fact) and f.source.where == "example" and f.source.line for f in facts)


def test_pattern_spans_no_more_lines_than_it_says() -> None:
    for signature in CATALOGUE:
        match = re.search(signature.pattern, signature.example, re.I)
        assert match is not None, signature
        assert match[0].count("\n") < max(signature.lines, 1) or signature.lines == 1, signature
