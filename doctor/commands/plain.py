"""Reads the simple command lines that most people write, without argparse.

argparse and what it imports (gettext, locale) take as long to import and to use as Python takes to start.
`Plain` accepts the calls with which a command describes its options to a parser. It reads only exact option
names and plain values; whatever else a command line contains (`--help`, an abbreviation, a mistake, a number
to check) is left to argparse.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple


class _Option(NamedTuple):
    """One option. place: the name of its value among the arguments. action: store, store_true or count; ""
    for an option that only argparse can read."""

    place: str
    action: str
    choices: Container[str] | None


class Plain:
    """Stands in for an `argparse.ArgumentParser`, and for its groups of options."""

    def __init__(self) -> None:
        self._options: dict[str, _Option] = {}
        self._values: dict[str, Any] = {}
        self._several = ""
        """The name of the positional argument with any number of words, if there is one."""
        self._beyond = False
        """Whether the command has an argument that only argparse can read."""

    def add_argument_group(self, *_: str) -> Plain:
        """Return this parser, because groups matter only for --help."""
        return self

    def add_argument(self, *names: str, **given: Any) -> None:
        """Add an option or an argument, as described for argparse. Its help is ignored."""
        more = set(given) - {"action", "choices", "default", "dest", "help", "metavar", "nargs", "type"}
        action, default = given.get("action", "store"), given.get("default")
        if names[0][:1] != "-":
            self._beyond = self._beyond or bool(self._several) or set(given) > {"nargs", "metavar", "help"}
            self._beyond = self._beyond or given.get("nargs") != "*"
            self._several, self._values[names[0]] = names[0], []
            return
        # argparse would pass a default that is a string through the type
        self._beyond = self._beyond or ("type" in given and isinstance(default, str))
        known = action in ("store", "store_true", "count") and not more and not {"nargs", "type"} & set(given)
        long = next((name for name in names if name.startswith("--")), names[0])
        place = given.get("dest") or long.lstrip("-").replace("-", "_")
        self._values[place] = False if action == "store_true" and default is None else default
        for name in names:
            self._options[name] = _Option(place, action if known else "", given.get("choices"))

    def read(self, words: Sequence[str]) -> SimpleNamespace | None:
        """Return the arguments that argparse would return, or None if only argparse can read the words."""
        values = dict(self._values)
        several: list[str] = []
        last = -1  # the position of the last positional word
        left = enumerate(words)
        for at, word in left:
            if word[:1] != "-" or word == "-":
                if several and last != at - 1:  # argparse refuses words on both sides of an option
                    return None
                several.append(word)
                last = at
                continue
            name, equals, value = word.partition("=")
            option = self._options.get(name)
            if option is None or (equals and (option.action != "store" or not name.startswith("--"))):
                return None
            if option.action == "store":
                value = value if equals else next(left, (0, "-"))[1]
                wrong = option.choices is not None and value not in option.choices
                if wrong or (not equals and value[:1] == "-"):
                    return None
                values[option.place] = value
            elif option.action == "store_true":
                values[option.place] = True
            elif option.action == "count":
                values[option.place] = (values[option.place] or 0) + 1
            else:
                return None
        if self._beyond or (several and not self._several):
            return None
        if self._several:
            values[self._several] = several
        return SimpleNamespace(**values)
