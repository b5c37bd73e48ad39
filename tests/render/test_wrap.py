"""Tests that prose is wrapped as rich would wrap it, but without importing rich, which takes time."""

from __future__ import annotations

from hypothesis import given, strategies as st
from rich.console import Console
from rich.text import Text

from doctor.render.wrap import wrap

PROSE = st.text(st.sampled_from("aB.-` "), max_size=120).map(str.rstrip)
LATIN = st.text(st.sampled_from("aé·ß ˿"), max_size=60).map(str.strip)
WIDE = st.text(st.sampled_from("aB 驱动é"), max_size=60).map(str.strip)


@given(text=PROSE | LATIN | WIDE, width=st.integers(12, 40))
def test_rows_are_the_same_as_those_of_rich(text: str, width: int) -> None:
    theirs = [row.plain.rstrip() for row in Text(text).wrap(Console(width=width), width)]
    assert wrap(text, width) == theirs


@given(text=PROSE | LATIN | WIDE, width=st.integers(12, 40), rows=st.integers(1, 3))
def test_cut_text_ends_with_the_mark_and_fits(text: str, width: int, rows: int) -> None:
    whole, shown = wrap(text, width), wrap(text, width, rows)
    assert len(shown) == min(rows, len(whole))
    if len(whole) > rows:
        assert shown[-1].endswith("...")
        assert shown[:-1] == whole[: rows - 1]
    assert all(Text(row).cell_len <= width for row in shown)
