"""Reads the text files in a wheel: METADATA (dependencies, extras) and TensorFlow's
python/platform/build_info.py.

tensorflow/tools/build_info/gen_build_info.py generates build_info.py (since 1.4.0), whose keys have changed
often.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from doctor import lazy
from doctor.values import dataclass


@dataclass(frozen=True)
class Metadata:
    """The dependencies of a wheel. `requires`: the requirements that belong to no extra, sorted. `extras`:
    extra -> distribution -> version specifier, followed by "; marker" if the requirement also has another
    condition."""

    summary: str | None
    requires_python: str | None
    requires: tuple[str, ...]
    extras: dict[str, dict[str, str]]


@dataclass(frozen=True)
class Stated:
    """A Requires-Dist line that packaging can read. extra: the extra to which it belongs, "" for none."""

    requirement: Requirement
    extra: str


_EXTRA = lazy.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_EXTRA_CLAUSE = lazy.compile(r"""(\sand\s)?\(?extra\s?==\s?["'][^"']+["']\)?(\sand\s)?""")


def stated_requirements(text: str) -> tuple[str | None, list[Stated]]:
    """Return Requires-Python and the requirements in a METADATA file. Requirements that packaging cannot read
    are left out."""
    headers = HeaderParser().parsestr(text)
    return headers.get("Requires-Python"), [stated for _, stated in _stated(headers) if stated]


def _stated(headers: Message) -> Iterator[tuple[str, Stated | None]]:
    """Yield each Requires-Dist line with its requirement, None if packaging cannot read it."""
    for line in headers.get_all("Requires-Dist", []):
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            yield line, None
            continue
        extra = _EXTRA.search(str(requirement.marker or ""))
        yield line, Stated(requirement, extra[1] if extra else "")


def parse_metadata(text: str) -> Metadata:
    """Read a METADATA or PKG-INFO file. A requirement that packaging cannot parse is kept unchanged."""
    headers = HeaderParser().parsestr(text)
    requires: set[str] = set()
    extras: dict[str, dict[str, str]] = {}
    for line, stated in _stated(headers):
        if stated is None:
            requires.add(" ".join(line.split()))
        elif not stated.extra:
            requires.add(str(stated.requirement))
        else:
            marker = str(stated.requirement.marker)
            condition = _EXTRA_CLAUSE.sub("", marker).strip()
            pin = str(stated.requirement.specifier) + (f"; {condition}" if condition else "")
            extras.setdefault(stated.extra, {})[canonicalize_name(stated.requirement.name)] = pin
    return Metadata(
        headers.get("Summary"),
        headers.get("Requires-Python"),
        tuple(sorted(requires)),
        {extra: dict(sorted(pins.items())) for extra, pins in sorted(extras.items())},
    )


def parse_build_info(text: str) -> dict[str, Any]:
    """Return the values that build_info.py sets, read without running it: the dict `build_info` if there is
    one (2.3 on), otherwise the variables of the module (1.4 to 2.2). Raises ValueError if the text is not
    Python."""
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        raise ValueError(f"build_info.py cannot be parsed: {error}") from error
    values: dict[str, Any] = {}
    for statement in module.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        value = statement.value
        if isinstance(value, ast.Call) and value.args:  # collections.OrderedDict([...])
            value = value.args[0]
        try:
            literal = ast.literal_eval(value)
        except ValueError:
            continue
        if statement.targets[0].id == "build_info":
            return dict(literal)
        values[statement.targets[0].id] = literal
    return values
