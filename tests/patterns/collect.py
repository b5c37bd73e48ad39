"""Collects every regular expression in the package, and how it is used.

The patterns of signatures come from the catalogue, as they are compiled. All other patterns are read from the
source: from calls of functions in `re`, and from calls of methods of compiled patterns (from `re.compile` or
`lazy.compile`). In a pattern, module-level names are replaced with their values, and a function's variables
with a plain word.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from doctor.logs.parse import bounded
from doctor.logs.signatures import catalogue
from tests.conftest import ROOT
from tests.sources import parsed

SEARCHING = {"search", "sub", "subn", "findall", "finditer", "split"}
ANCHORED = {"match", "fullmatch"}


class Pattern(NamedTuple):
    """One regular expression. anchored: whether it is tried at only one place. whole: whether it must match
    to the end of the text. without: characters that the searched text never contains."""

    where: str
    pattern: str | bytes
    flags: int
    anchored: bool = False
    whole: bool = False
    without: str = ""


@lru_cache(maxsize=None)
def signatures() -> list[Pattern]:
    """Return the patterns of the catalogue."""
    flags = re.IGNORECASE | re.MULTILINE | re.ASCII
    return [
        Pattern(
            f"signature {number} ({s.kind})", bounded(s.pattern), flags, without="\n" if s.lines == 1 else ""
        )
        for number, s in enumerate(catalogue())
    ]


@lru_cache(maxsize=None)
def others() -> list[Pattern]:
    """Return the patterns in the source of the package."""
    return [found for path in sorted((ROOT / "doctor").rglob("*.py")) for found in _of_module(path)]


def _of_module(path: Path) -> Iterator[Pattern]:
    text = path.read_text(encoding="utf-8")
    if "re." not in text and "lazy." not in text:
        return
    nodes = list(ast.walk(parsed(path)))
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    bases = [(call, call.func.value) for call in calls]  # type: ignore[attr-defined]
    ours = [call for call, base in bases if isinstance(base, ast.Name) and base.id in ("re", "lazy")]
    if not ours:
        return
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    names = vars(importlib.import_module(name))
    used: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in SEARCHING | ANCHORED:
            used.setdefault(_name(node.value), set()).add(node.attr)
    assigned = {
        id(node.value): _name(target)
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
    }
    for call in ours:
        method = call.func.attr  # type: ignore[attr-defined]
        if method not in SEARCHING | ANCHORED | {"compile"} or not call.args:
            continue
        text = _value(call.args[0], names)
        if text is None:
            continue
        given = next((k.value for k in call.keywords if k.arg == "flags"), None)
        place = {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2}.get(
            method
        )
        if given is None and place is not None and len(call.args) > place:
            given = call.args[place]
        flags = (
            int(eval(compile(ast.Expression(given), "flags", "eval"), {**names, "re": re}))
            if given is not None
            else 0
        )
        ways = used.get(assigned.get(id(call), ""), set()) if method == "compile" else {method}
        yield Pattern(
            f"{path.relative_to(ROOT)}:{call.lineno}",
            text,
            flags,
            bool(ways) and ways <= ANCHORED,
            "fullmatch" in ways,
        )


def _name(node: ast.expr) -> str:
    """Return the last name in a variable or attribute, or "" for any other expression."""
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _value(node: ast.expr, names: dict[str, Any]) -> str | bytes | None:
    """Return the text of a pattern, or None if the pattern is in a function's variable that is set
    elsewhere."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(_value(part, names)) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        try:
            return str(eval(compile(ast.Expression(node.value), "part", "eval"), dict(names)))
        except NameError:
            return "name"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _value(node.left, names), _value(node.right, names)
        if isinstance(left, bytes) and isinstance(right, bytes):
            return left + right
        return f"{left if left is not None else 'name'}{right if right is not None else 'name'}"
    try:
        found = eval(compile(ast.Expression(node), "pattern", "eval"), dict(names))
    except NameError:
        return None
    return found if isinstance(found, (str, bytes)) else None
