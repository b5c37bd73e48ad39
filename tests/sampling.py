"""Selects a few evenly spread cases for the quick tests from many similar cases. All other cases are marked
as slow."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import settings


def sampled(values: Iterable[Any], quick: int) -> list[Any]:
    """Return the values as parameters for a test. All but `quick` of them are marked as slow."""
    every = list(values)
    kept = {i * len(every) // quick for i in range(quick)}
    return [
        (
            value
            if i in kept
            else pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
        )
        for i, value in enumerate(every)
    ]


def examples(full: int) -> int:
    """Return the number of examples that a test draws: `full`, or a quarter of it with
    --hypothesis-profile=quick."""
    return max(1, full * settings().max_examples // 100)


def each(
    names: str, values: Iterable[Any], ids: Callable[[Any], str] = repr
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Do the same as pytest.mark.parametrize, but in a single test for all values, which names each value
    that fails. Use it for many values that take a few milliseconds each, because separate tests would take
    longer to start than to run. All values share the fixtures of the test.
    """
    several = [name.strip() for name in names.split(",")]
    every = list(values)
    assert every, "a test over nothing cannot fail"

    def made(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def over_all(**fixtures: Any) -> None:
            wrong = []
            for value in every:
                given = dict(zip(several, value)) if len(several) > 1 else {names: value}
                try:
                    test(**given, **fixtures)
                except AssertionError as problem:
                    wrong.append(f"{ids(value)}: {problem}")
                except (Exception, pytest.skip.Exception) as problem:  # a skip would hide the other cases
                    raise AssertionError(f"the case {ids(value)}") from problem
            assert not wrong, f"{len(wrong)} cases:\n" + "\n".join(wrong)

        asked = inspect.signature(test)
        rest = [value for name, value in asked.parameters.items() if name not in several]
        over_all.__signature__ = asked.replace(parameters=rest)  # type: ignore[attr-defined]
        return over_all

    return made
