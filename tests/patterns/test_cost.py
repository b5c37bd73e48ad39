"""Tests that the time for every regular expression grows no faster than the text. The time is computed from
the pattern and also measured."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable

import pytest

from doctor.logs.parse import bounded
from doctor.logs.signatures import catalogue
from tests.patterns.collect import Pattern, others, signatures
from tests.patterns.cost import cost
from tests.patterns.pumps import beginnings, pumped, pumps, words
from tests.sampling import each, sampled

MOST = 10_000
"""The largest number of paths that may be tried for each character. The bound is loose: a pattern near it
takes a microsecond for each character."""
SIZES = (1_000, 2_000, 4_000)
QUICK = 0.06
"""A pattern that reads the largest text in at most this many seconds of processor time is not examined
further."""
SLOW = 0.5
GROWTH = 3.0
"""The limit of the factor by which a text of twice the length takes longer. It is 2 if the time grows with
the text, and 4 if it grows with the square."""


@each(
    "pattern, paths",
    [
        (r"foo\s*bar", 1),
        (r"\b\w+foo", 1),
        (r"(?<![\w.])\d+\.\d+x", 1),
        (r"\s+", 1),
        (r"\d+(?:\.\d+)?", 1),
        (r"foo.{0,24}bar", 24),
        (r"x(?:\w+ ){0,4}y", 60),
        (r"foo.*bar", math.inf),
        (r"\s*foo", math.inf),
        (r"foo\s*\s*bar", math.inf),
        (r"foo\s*(?:On)?\s*bar", math.inf),
        (r"foo\w+\d+bar", math.inf),
        (r"foo(?:\w+ ?)*bar", math.inf),
        (r"foo(?:a|a)*bar", math.inf),
        (r"foo(?:a*)*bar", math.inf),
        (r"foo(?=.*bar)", math.inf),
    ],
)
def test_cost_is_infinite_if_two_repeats_can_read_the_same_text(pattern: str, paths: float) -> None:
    found = cost(pattern if paths == math.inf else bounded(pattern) if "{0,4}" in pattern else pattern).steps
    assert found == paths if paths in (1, math.inf) else 1 < found <= paths


def test_every_repeat_without_a_limit_gets_one() -> None:
    assert (
        bounded(r"a\d+b\s*\w+?[*+]+\*+ *(?:x)*y{2,}z{3}")
        == r"a\d{1,24}b\s{0,80}\w{1,60}?[*+]{1,200}\*{1,200} {0,80}(?:x){0,16}y{2,200}z{3}"
    )


@pytest.mark.parametrize("several", [signatures, others], ids=["signatures", "others"])
@pytest.mark.parametrize("part", sampled(range(20), 1))
def test_no_pattern_tries_too_many_paths_for_each_character(
    part: int, several: Callable[[], list[Pattern]]
) -> None:
    patterns = several()
    assert len(patterns) > 300
    costs = [
        (p, cost(p.pattern, p.flags, anchored=p.anchored, whole=p.whole, without=p.without))
        for p in patterns[part::20]
    ]
    dear = [
        f"{p.where}: {found.steps:.3g} {found.why}\n  {p.pattern!r}"
        for p, found in costs
        if found.steps > MOST
    ]
    assert not dear, "\n".join(dear)


def _seconds(pattern: Pattern, compiled: re.Pattern[str], text: str, times: int) -> float:
    """Return the lowest processor time of several searches for all occurrences."""
    found = []
    for _ in range(times):
        started = time.process_time()
        if pattern.anchored:
            compiled.match(text)
        else:
            for _ in compiled.finditer(text):
                pass
        found.append(time.process_time() - started)
    return min(found)


def _grows(pattern: Pattern, compiled: re.Pattern[str], start: str, piece: str) -> str:
    """Return a message if the time that a pattern takes grows too fast for longer and longer repetitions,
    otherwise ""."""
    if _seconds(pattern, compiled, pumped(start, piece, SIZES[-1]), 1) < QUICK:
        return ""
    taken = [_seconds(pattern, compiled, pumped(start, piece, size), 3) for size in SIZES]
    if taken[-1] < QUICK or (taken[-1] < SLOW and taken[-1] < GROWTH * taken[-2]):
        return ""
    shown = ", ".join(f"{1000 * t:.1f} ms" for t in taken)
    return f"{pattern.where}: {start[-40:]!r} + {piece!r} repeated: {shown}\n  {str(pattern.pattern)[:200]}"


@pytest.mark.parametrize("part", sampled(range(16), 1))
def test_measured_time_grows_no_faster_than_the_text(part: int) -> None:
    examples = [signature.example for signature in catalogue()]
    given = [*zip(signatures(), examples), *((p, "") for p in others())]
    wrong: list[str] = []
    for pattern, example in given[part::16]:
        text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        compiled = re.compile(text, pattern.flags)
        for start, piece in pumps(words(text, pattern.flags), beginnings(example)):
            if problem := _grows(pattern, compiled, start, piece):
                wrong.append(problem)
                break
    assert not wrong, "\n".join(wrong)
