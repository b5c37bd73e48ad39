"""The names of TensorFlow's packages, as patterns and literals for signatures."""

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
"""Literals: the endings of TensorFlow's package names, each with the text that follows the name in a package
list."""
LISTING = (*BLANK, "==", "|")
