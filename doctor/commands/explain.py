"""`tfgpu-doctor explain`: pasted reports in, a diagnosis of each out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from doctor.errors import InputError
from doctor.findings import Diagnosis


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("inputs", nargs="*", metavar="FILE", help="file, folder, address, or - for standard input")
    parser.add_argument("--summary", action="store_true", help="one table of causes over all reports")
    parser.add_argument(
        "--comments", action="store_true", help="with an address of an issue: read its comments as well"
    )


def run(args: argparse.Namespace) -> int:
    """Diagnose each input; returns the exit code. Raises InputError where nothing could be read."""
    from doctor import render

    return render.emit(diagnoses(args.inputs or ["-"], args), args)


def diagnoses(inputs: list[str], args: argparse.Namespace) -> Iterator[Diagnosis]:
    """One diagnosis for each report."""
    from doctor.diagnose import diagnose
    from doctor.logs import NotText, read
    from doctor.tables import Tables

    tables = Tables.bundled()
    for name in inputs:
        if name == "-":
            if sys.stdin is None or sys.stdin.isatty() and not getattr(args, "quiet", False):
                print("Paste the report, then Ctrl-D (Ctrl-Z and Enter on Windows).", file=sys.stderr)
            data = sys.stdin.buffer.read()
        else:
            try:
                data = Path(name).read_bytes()
            except OSError as error:
                raise InputError(f"cannot read `{name}`: {error.strerror or error}") from error
        try:
            yield diagnose(read(data, name), tables)
        except NotText as error:
            raise InputError(f"cannot read `{name}`: {error}") from error
