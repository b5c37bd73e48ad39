"""No signature can be made slow: each is run on repetitions of its own example, which is what blows expressions up."""

from __future__ import annotations

import re
import time

import pytest

from doctor.logs import read
from doctor.logs.signatures import Signature, catalogue
from doctor.logs.windows import WINDOW

LIMIT = 0.25
"""Seconds of processor time for one search in the largest window; a healthy pattern takes well under a millisecond a try."""


def attacks(signature: Signature) -> list[str]:
    """Texts of the size of a window made of the signature's own pieces."""
    size = WINDOW * max(2, signature.lines * 2)
    example = signature.example
    literal = signature.literals[0]
    pieces = [example, literal, literal + " ", example[: len(example) // 2], example + "\n", literal + "\n"]
    pieces += [literal + fill for fill in ("9", "a", " ", "/", ".", "'", "1.", "a b ", "\t", "|", "- ")]
    texts = [(piece * (size // max(1, len(piece)) + 1))[:size] for piece in pieces]
    texts += [(literal + fill * size)[:size] for fill in ("9", "a", " ", "/", ".", "1.", "a ", "a.", ", ", "=")]
    return texts


@pytest.mark.parametrize("signature", catalogue(), ids=lambda s: s.kind)
def test_pattern_is_quick_on_repetitions_of_its_own_words(signature: Signature) -> None:
    pattern = re.compile(signature.pattern, re.IGNORECASE)
    for text in attacks(signature):
        started = time.process_time()
        for _ in zip(pattern.finditer(text), range(50), strict=False):
            pass
        assert time.process_time() - started < LIMIT, text[:80]


@pytest.mark.slow
def test_text_of_nothing_but_literals_is_read_in_seconds() -> None:
    words = [literal for signature in catalogue() for literal in signature.literals]
    text = (" ".join(words) * 40)[:1_000_000]
    started = time.process_time()
    read(text.encode(), "x")
    read(text.replace(" ", "\n").encode(), "x")
    assert time.process_time() - started < 60
