"""Diagnoses for people and programs: text, JSON, Markdown, HTML."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TextIO

from doctor.findings import Diagnosis


def emit(diagnoses: Iterable[Diagnosis], args: argparse.Namespace) -> int:
    """Print diagnoses in the format that was asked for; returns 1 where one holds an error, else 0."""
    output = getattr(args, "output", None)
    if output:
        with open(output, "w", encoding="utf-8") as stream:
            return _emit(diagnoses, args, stream)
    return _emit(diagnoses, args, sys.stdout)


def _emit(diagnoses: Iterable[Diagnosis], args: argparse.Namespace, stream: TextIO) -> int:
    import json

    from doctor.render.document import document
    from doctor.tables import Tables

    worst = 0
    for diagnosis in diagnoses:
        if diagnosis.worst == "error":
            worst = 1
        stream.write(json.dumps(document(diagnosis, Tables.bundled()), ensure_ascii=False) + "\n")
    return worst
