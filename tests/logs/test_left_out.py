"""Tests that when lines in the middle of a long log are left out, the lines before and after the gap are
never joined."""

from __future__ import annotations

from doctor.logs.prose.segment import sentences
from doctor.logs.reader import _rejoined
from doctor.logs.text import Text, unwrap

RECORD = (
    "2024-01-01 10:00:00.000000: W tensorflow/stream_executor/platform/default/dso_loader.cc:60]"
    " Could not load"
)
REST = "dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file"
SAID = (
    "I have been trying for a week to make my training see the card in this",
    "machine and nothing that I read about it so far has helped me at all",
)


def _text(*numbers: int, lines: tuple[str, ...]) -> Text:
    return Text.of("log", zip(numbers, lines), numbers[-1])


def test_a_record_ends_where_lines_are_left_out() -> None:
    whole, apart = (_text(1, last, lines=(RECORD, REST)) for last in (2, 9))
    assert unwrap(whole) is not None
    assert unwrap(apart) is None
    lines = (*SAID, *SAID)
    assert _rejoined(_text(1, 2, 3, 4, lines=lines)).text != "\n".join(lines)
    assert _rejoined(_text(1, 5, 9, 13, lines=lines)).text == "\n".join(lines)


def test_a_sentence_ends_where_lines_are_left_out() -> None:
    assert [s.text for s in sentences(_text(1, 2, lines=SAID))] == [" ".join(SAID)]
    assert [s.text for s in sentences(_text(1, 7, lines=SAID))] == list(SAID)
