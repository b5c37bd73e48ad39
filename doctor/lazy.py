"""Regular expressions that are compiled, and modules that are imported, when they are first used.

Compiling a pattern takes up to ten milliseconds, as long as Python takes to start, and most runs use few
patterns. At module level, `lazy.compile` replaces `re.compile`. Most runs also need few of the remedies, and
importing all of them would take longer than the diagnosis. So `lazy.module` makes an object that stands for a
module, and `lazy.names` finds the names of a package in its modules.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, AnyStr, cast


class _Pattern:
    """A pattern that is compiled at the first use. Each method is looked up only once after that."""

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
    """Return the pattern that `re.compile` would return. An invalid pattern raises re.error at its first
    use."""
    return cast("re.Pattern[AnyStr]", _Pattern(pattern, flags))


class _Module:
    """Stands for a module, and imports it at the first use. Each name is looked up only once after that."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


def module(name: str) -> Any:
    """Return an object that stands for the module `name` (a full name). Its first use raises ImportError if
    there is no such module."""
    return _Module(name)


def function(module: str, name: str) -> Callable[..., Any]:
    """Return a function that calls the function `name` of a module (a full name), which it imports when it is
    called."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(module), name)(*arguments)

    return call


def names(package: str, places: Mapping[str, str] | str) -> Callable[[str], Any]:
    """Return a `__getattr__` function for a package or module. It imports the module that defines a name when
    the name is first used.

    places: the module of each name, or of all names, relative to the package; with a dot before it, beside
    the module. For other names, the function raises AttributeError.
    """

    def find(name: str) -> Any:
        place = places.get(name) if not isinstance(places, str) else None if name[:1] == "_" else places
        if place is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{place}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
