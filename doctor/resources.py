"""Reads files that ship with the project, whether its modules come from a folder or from the single file that
scripts/build_pyz makes.

The loader of the package reads them (PEP 302, `get_data`), as it does for `importlib.resources`. This module
does not use importlib.resources: importing it takes as long as reading a short report, and its functions have
other names in Python 3.8.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any


def read(package: str, name: str) -> bytes:
    """Return the content of a file in or below the folder of a package. `name` may contain slashes. Raises
    OSError if there is no such file."""
    module: Any = import_module(package)
    # a key for the loader, not a path of the file system:
    path = os.path.join(os.path.dirname(module.__file__), *name.split("/"))  # noqa: PTH118, PTH120
    data: bytes = module.__spec__.loader.get_data(path)
    return data


def text(package: str, name: str) -> str:
    """Return the content of a file as text, decoded from UTF-8. The parameters are those of `read`."""
    return read(package, name).decode("utf-8")
