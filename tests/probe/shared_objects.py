"""Makes shared objects for the tests: real ones with the C compiler, or skeletons byte by byte where a real
one is not needed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def compile_library(
    path: Path,
    *,
    soname: str | None = None,
    needs: tuple[Path, ...] = (),
    flags: tuple[str, ...] = (),
    code: str = "",
) -> Path:
    """Compile a real shared object. The SONAMEs of `needs` become its DT_NEEDED entries."""
    assert COMPILER is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_name(path.name + ".c")
    source.write_text(code or "int mark(void) { return 1; }\n")
    argv = [COMPILER, "-shared", "-fPIC", "-o", str(path), str(source), "-Wl,--no-as-needed"]
    argv += [f"-Wl,-soname,{soname}"] if soname else []
    subprocess.run([*argv, *map(str, needs), *flags], check=True, timeout=60)
    source.unlink()
    return path


def compile_program(
    path: Path, code: str, *, needs: tuple[Path, ...] = (), flags: tuple[str, ...] = ()
) -> Path:
    """Compile a real program."""
    assert COMPILER is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_name(path.name + ".c")
    source.write_text(code)
    argv = [COMPILER, "-o", str(path), str(source), "-Wl,--no-as-needed", *map(str, needs), *flags, "-ldl"]
    subprocess.run(argv, check=True, timeout=60)
    source.unlink()
    return path
