"""Calls the command in this process, for tests of its output that do not depend on how Python starts."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from doctor.cli import main

ROOT = Path(__file__).resolve().parents[1]


def called(
    *words: str,
    input: bytes = b"",
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] = ROOT,
    program: Callable[[tuple[str, ...]], int] = main,
) -> subprocess.CompletedProcess[bytes]:
    """Call `tfgpu-doctor`. Returns its exit code and output, as bytes, in the form that subprocess.run
    returns. env: all environment variables of the call. program: the main function of another program to call
    instead.
    """
    streams = [
        io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="surrogateescape")
        for data in (input, b"", b"")
    ]
    before = (sys.stdin, sys.stdout, sys.stderr), Path.cwd(), dict(os.environ)
    try:
        sys.stdin, sys.stdout, sys.stderr = streams
        os.chdir(cwd)
        if env is not None:
            os.environ.clear()
            os.environ.update(env)
        try:
            code = program(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        said = []
        for stream in streams[1:]:
            stream.flush()
            said.append(stream.buffer.getvalue())  # type: ignore[attr-defined]
    finally:
        (sys.stdin, sys.stdout, sys.stderr), place, environment = before
        os.chdir(place)
        os.environ.clear()
        os.environ.update(environment)
    return subprocess.CompletedProcess(words, code, *said)


def called_as_text(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Do the same as `called`, but return the output as text."""
    done = called(*words, **more)
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())
