"""Finds add-ons that were compiled against a TensorFlow release other than the installed one.

An add-on declares in its METADATA (Requires-Dist) which releases it was made for. tensorflow-text has the
same minor version as the TensorFlow release that it works with (its README, "A Note about Compatibility with
TensorFlow").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from doctor.facts import Fact, Source, Symptom, normalised
from doctor.tables.ranges import satisfies

if TYPE_CHECKING:
    from doctor.probe.distribution import Distribution
    from doctor.probe.machine import Machine

COMPILED = (
    "tensorflow-text",
    "tensorflow-io",
    "tensorflow-decision-forests",
    "tensorflow-recommenders-addons",
    "tensorflow-recommenders-addons-gpu",
)
"""Add-ons whose wheels contain ops linked to libtensorflow_framework."""
SAME_MINOR = ("tensorflow-text",)
"""Add-ons with the minor version of their TensorFlow, whatever their metadata says."""
METADATA_LIMIT = 1 << 16


def mismatched(machine: Machine, installed: Iterable[Distribution], tensorflow: str) -> Iterator[Fact]:
    """A symptom for each installed add-on that was made for releases other than `tensorflow`, the version in
    use."""
    for entry in installed:
        if entry.name not in COMPILED:
            continue
        stated: list[tuple[int, str, str]] = []
        text = machine.text(f"{entry.info}/METADATA", METADATA_LIMIT) or ""
        for number, line in enumerate(text.split("\n\n", 1)[0].splitlines(), 1):
            match = re.match(r"Requires-Dist:\s*([\w.-]+)\s*\(?([^;()]*)\)?\s*(;.*)?", line)
            if (
                match
                and normalised(match[1]) == "tensorflow"
                and "extra" not in (match[3] or "")
                and match[2].strip()
            ):
                stated.append((number, line, match[2].strip()))
        if not stated and entry.name in SAME_MINOR and entry.version:
            minor = ".".join(entry.version.split(".")[:2])
            stated.append((0, f"{entry.name} {entry.version}", f"=={minor}.*"))
        try:
            fits = [satisfies(tensorflow, wanted) for _, _, wanted in stated]
        except ValueError:  # the requirement is not a valid range
            continue
        if fits and not any(fits):
            number, line, wanted = stated[0]
            detail = (
                ("addon", entry.name),
                ("version", entry.version or ""),
                ("wants", wanted),
                ("there", tensorflow),
            )
            yield Symptom(Source(f"{entry.info}/METADATA", number or None, line), "addon-mismatch", detail)
