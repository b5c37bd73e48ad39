"""Makes the program that is sent to a node: a shell line that finds a Python interpreter, and the tool
itself, which the interpreter reads from standard input and runs from memory.

A node needs a POSIX shell and Python 3.8 or later, or a later Python if the package `packaging` installed
here requires it (`least`). The single-file tool contains a version of `packaging` for 3.8. Nothing is written
on the node. ssh, Slurm, Ray and pods all use this program.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from doctor import resources
from doctor.errors import DefectError, UsageError
from doctor.shell import RefusedError, sh_argument

NO_PYTHON = 97
"""The exit status of the shell line if there is no suitable Python interpreter."""
LEFT_OUT = (
    "doctor/simulate/",
    "doctor/reproduce/",
    "doctor/bench/",
    "doctor/site/",
    "doctor/shell_files/",
    "doctor/logs/prose/weights.bin",
    "doctor/judge/resemblance.bin",
    "compat_tables/licenses/",
)
"""Parts of the tool that are not sent, because `check` never uses them."""
_PACKAGES = ("doctor", "compat_tables", "packaging")
_PYTHONS = (
    "python3",
    "python3.12",
    "python3.11",
    "python3.13",
    "python3.10",
    "python3.14",
    "python3.9",
    "python3.8",
    "python",
    "/usr/libexec/platform-python",
)
_START = "import sys; f = sys.stdin.buffer; exec(f.read(int(f.readline())))"
_OLD = (1980, 1, 1, 0, 0, 0)


def script(python: str | None) -> str:
    """Return a line for sh that finds the first suitable Python interpreter and runs the program from
    standard input with it.

    python: the value of --python, an interpreter or an environment's folder; it runs the tool only if no
    other interpreter can. Raises UsageError if a shell line cannot contain the value.
    """
    try:
        own = [sh_argument(python), sh_argument(f"{python.rstrip('/')}/bin/python")] if python else []
    except RefusedError as error:
        raise UsageError(f"--python: {error}") from error
    found = " ".join([*_PYTHONS, *own])
    check = f"import sys; sys.exit(sys.version_info < (3, {least()}))"
    return (
        f'for p in {found}; do if "$p" -c "{check}" </dev/null >/dev/null 2>&1; then exec "$p" -I -B -c'
        f' "{_START}"; fi; done; echo "there is no Python 3.{least()} or later on its PATH" >&2; exit'
        f" {NO_PYTHON}"
    )


@lru_cache(maxsize=1)
def least() -> int:
    """Return the minor version of the lowest Python 3 that runs the program: the minimum of this project, or
    of the `packaging` that is sent with it."""
    from importlib import metadata

    try:
        asked = re.search(
            r">=\s*3\.(\d{1,2})", (metadata.metadata("packaging").get_all("Requires-Python") or [""])[0]
        )
    except metadata.PackageNotFoundError:  # the single-file tool, which supports the lowest version
        asked = None
    return max(8, int(asked[1])) if asked else 8


def payload(
    argv: list[str],
    *,
    mark: str = "",
    limit: float = 60.0,
    watch: bool = True,
    peers: dict[str, Any] | None = None,
) -> bytes:
    """Return the bytes for the standard input of the shell line that `script` returns.

    argv: the arguments of the command to run there. mark: a line that is printed before and after each
    answer. limit: seconds after which the program ends itself. watch: end it also when standard input
    closes. peers: the order for `doctor.fleet.peers`, if that should run too.
    """
    boot = resources.read("doctor.fleet", "_boot.py")
    modules = archive()
    order = {"argv": argv, "mark": mark, "limit": limit, "watch": watch, "peers": peers, "size": len(modules)}
    return b"%d\n%b%b\n%b" % (len(boot), boot, json.dumps(order).encode(), modules)


@lru_cache(maxsize=1)
def archive() -> bytes:
    """Return the modules and tables that `check` needs, as a zip archive. The same sources produce the same
    bytes.

    Raises DefectError if a part is missing.
    """
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, data in sorted(_members()):
            about = zipfile.ZipInfo(name, _OLD)
            about.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(about, data)
        if len(file.namelist()) < 100:
            raise DefectError("the modules to send to a node were not found")
    return whole.getvalue()


def _members() -> Iterator[tuple[str, bytes]]:
    """Yield every file of the packages, whether they are in folders or in the single-file tool."""
    import importlib

    for package in _PACKAGES:
        module: Any = importlib.import_module(package)
        folder = Path(module.__file__).parent
        if folder.is_dir():
            for path in folder.rglob("*"):
                name = f"{package}/{path.relative_to(folder).as_posix()}"
                if path.is_file() and _wanted(name):
                    yield name, path.read_bytes()
        else:  # the single-file tool: its loader is a zipimporter
            with zipfile.ZipFile(module.__spec__.loader.archive) as own:
                for name in own.namelist():
                    if name.startswith(f"{package}/") and _wanted(name):
                        yield name, own.read(name)


def _wanted(name: str) -> bool:
    return (
        not name.startswith(LEFT_OUT)
        and "__pycache__" not in name
        and not name.endswith((".pyc", ".so", ".md", "/"))
    )
