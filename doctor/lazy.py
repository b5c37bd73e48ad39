"""Regular expressions that are compiled, and modules that are imported, when they are first used.

Compiling a pattern takes up to ten milliseconds, as long as Python takes to start, and most runs use few of
them. At module level, `lazy.compile` replaces `re.compile`. Most runs also need few of the remedies, and
importing all of them would take longer than the diagnosis: `lazy.module` stands for a module in its
package, and `lazy.names` finds a package's names in its modules.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
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


class _Module:
    """Stands for a module and imports it at the first use; each name is then looked up once."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


def module(name: str) -> Any:
    """An object that stands for the module of that full name. Raises ImportError at its first use if there is
    none."""
    return _Module(name)


def names(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: imports the module that defines a name when the name is first used.

    places: for each name its module, relative to the package. The function raises AttributeError for others.
    """

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{places[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
