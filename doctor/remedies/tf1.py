"""Steps for an environment with TensorFlow 1, for code that TensorFlow 2 cannot run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doctor.facts import Package, Requirement
from doctor.findings import manual
from doctor.remedies import environments
from doctor.remedies.cure import Cure
from doctor.remedies.fitness import installation
from doctor.tables import dotted

if TYPE_CHECKING:
    from doctor.case import Case

LAST = "1.15.5"
ENV = "tf1"


def environment(case: Case, *more: str, words: str = "") -> Cure:
    """The cure that installs the last release of TensorFlow 1 into a new environment. more: further
    requirements for pip. words: text to put before the explanation."""
    platform = case.table_platform
    row = case.tables.tensorflow(LAST, "tensorflow", platform)
    if row is None or not row.pythons:
        return Cure(
            (
                manual(
                    f"{words}Use another computer: TensorFlow 1 has wheels only for x86-64 processors, and"
                    " for Python 3.7 and older"
                ),
            )
        )
    why = (
        f"{words}TensorFlow {LAST}, the last release of TensorFlow 1; it computes on the CPU. The package"
        f" tensorflow-gpu of the same release needs CUDA 10.0 and cuDNN 7 and cannot use cards from Ampere on"
    )
    requirements = [*installation(case, row, bare=True).requirements, *more]
    kind = case.platform or "linux"
    steps, python = environments.with_python(ENV, row.pythons[-1], kind, requirements, why)
    return Cure(tuple(steps), LAST, python)


def old_keras(case: Case) -> str | None:
    """The version of the separate package keras that the report installs, if it needs TensorFlow 1: Keras
    2.3.0 is the first release that supports TensorFlow 2 (its release notes)."""
    stated = [package.version or "" for package in case.facts.of(Package) if package.name == "keras"]
    stated += [asked.specifier for asked in case.facts.of(Requirement) if asked.name == "keras"]
    for symptom in case.facts.symptoms("no-matching-distribution"):  # pip names who asks for TensorFlow
        stated += re.findall(r"\(from keras(==[\d.]{3,12})\)", symptom.source.text)
    for text in stated:
        number = re.fullmatch(r"(?:==)?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)", text.strip(), re.ASCII)
        if number and (1,) <= dotted(number[1]) < (2, 3):
            return number[1]
    return None
