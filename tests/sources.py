"""The package's own source, parsed once in a process for all tests that look into it."""

from __future__ import annotations

import ast
import gc
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=None)
def parsed(path: Path) -> ast.Module:
    """A module's tree. Parsing the package takes a second; nobody changes what is given."""
    gc.disable()  # trees stay to the end: the collector took longer to look through them than the parser
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.freeze()
        gc.enable()


@lru_cache(maxsize=None)
def imports_and_calls(path: Path) -> tuple[ast.AST, ...]:
    """The Import, ImportFrom and Call nodes of a module, in the order of ast.walk."""
    return tuple(
        node for node in ast.walk(parsed(path)) if isinstance(node, (ast.Import, ast.ImportFrom, ast.Call))
    )
