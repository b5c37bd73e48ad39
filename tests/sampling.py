"""What of many like cases the quick tests take: a few, spread evenly; all the others are slow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], quick: int) -> list[Any]:
    """The values as parameters of a test, all but so many of them marked as slow."""
    every = list(values)
    kept = {i * len(every) // quick for i in range(quick)}
    return [value if i in kept else pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
            for i, value in enumerate(every)]  # fmt: skip
