"""Diagnoses for people and programs: text, JSON, Markdown, HTML."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TextIO

from doctor.errors import UnableError, UsageError
from doctor.findings import Diagnosis


def emit(diagnoses: Iterable[Diagnosis], args: argparse.Namespace) -> int:
    """Print diagnoses in the format that was asked for; returns 1 where one holds an error, else 0.

    Raises UnableError where --output cannot be written.
    """
    output = getattr(args, "output", None)
    if not output:
        return _emit(diagnoses, args, sys.stdout)
    import os
    import tempfile
    from pathlib import Path

    folder = Path(output).resolve().parent
    try:
        handle, name = tempfile.mkstemp(prefix=".tfgpu-doctor-", dir=folder)
    except OSError as error:
        raise UnableError(f"cannot write `{output}`: {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            code = _emit(diagnoses, args, stream)
        Path(name).replace(output)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return code


def _emit(diagnoses: Iterable[Diagnosis], args: argparse.Namespace, stream: TextIO) -> int:
    from doctor.tables import Tables

    form = getattr(args, "format", "text")
    tables = Tables.bundled()
    named = len(getattr(args, "inputs", ())) > 1
    worst = 0
    screen = None
    for diagnosis in diagnoses:
        worst = max(worst, int(diagnosis.worst == "error"))
        if form == "json":
            import json

            from doctor.render.document import document

            stream.write(json.dumps(document(diagnosis, tables), ensure_ascii=not _speaks_unicode(stream)) + "\n")
        elif form == "markdown":
            from doctor.render import markdown

            stream.write(markdown.render(diagnosis, tables))
        elif form == "text":
            from doctor.render import terminal

            screen = screen or terminal.console(stream, args)
            terminal.render(diagnosis, screen, verbose=getattr(args, "verbose", 0), named=named)
        else:
            raise UsageError(f"there is no format `{form}` here")
    return worst


def _speaks_unicode(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "").startswith("utf")
