"""Regular expressions that are compiled when they are first used.

Compiling one takes up to ten milliseconds, which is as long as Python takes to start; most runs use few of a
module's. `lazy.compile` stands where `re.compile` would outside of functions.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Pattern:
    """What a compiled pattern is, once somebody asks; each of its methods is looked up there once."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name == "_compiled":
            value: Any = re.compile(self.pattern, self._flags)
        else:
            value = getattr(self._compiled, name)
        setattr(self, name, value)
        return value


def compile(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:  # noqa: A001 (as in `re`)
    """The pattern that `re.compile` would give. Raises re.error at its first use where it is wrong."""
    return cast("re.Pattern[AnyStr]", _Pattern(pattern, flags))
