"""Parses the source code of the package once per process, for all tests that examine it."""

from __future__ import annotations

import ast
import gc
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=None)
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a module. It is shared, so do not change it. Parsing the whole package takes
    a second."""
    gc.disable()  # the trees stay; the collector would take longer than the parser
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.freeze()
        gc.enable()


@lru_cache(maxsize=None)
def imports_and_calls(path: Path) -> tuple[ast.AST, ...]:
    """Return the Import, ImportFrom and Call nodes of a module, in the order of ast.walk."""
    return tuple(
        node for node in ast.walk(parsed(path)) if isinstance(node, (ast.Import, ast.ImportFrom, ast.Call))
    )
