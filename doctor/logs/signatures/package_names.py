"""The names of TensorFlow's packages, as patterns and literals of signatures."""

from __future__ import annotations

from doctor.logs.signatures.signature import BLANK, glued

TF = (
    r"tensorflow(?:[-_](?:gpu|cpu|macos|intel|directml|rocm|aarch64|cpu-aws))?"
    r"|tf[-_]nightly(?:[-_]gpu|[-_]cpu)?"
)


LISTED = (
    "tensorflow",
    "nightly",
    "-aws",
    *glued("-_", ("gpu", "cpu", "macos", "intel", "directml", "rocm", "aarch64")),
)
"""Endings of TensorFlow's names, each with what follows a name in a list of packages; they are literals."""
LISTING = (*BLANK, "==", "|")
