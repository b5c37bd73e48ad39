"""Regular expressions that are compiled when they are first used.

Compiling one takes up to ten milliseconds, as long as Python takes to start, and most runs use few of them.
At module level, `lazy.compile` replaces `re.compile`.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Pattern:
    """Compiles its pattern at the first use; each method is then looked up once."""

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
    """The pattern that `re.compile` would give. Raises re.error at its first use if it is invalid."""
    return cast("re.Pattern[AnyStr]", _Pattern(pattern, flags))
